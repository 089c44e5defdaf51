"""Messages, turns and images, a request to a model with its reply, and the exchanges of a conversation. Frozen values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import force_setattr

from gradegate.core.usage import NO_USAGE, Usage
from gradegate.structs import FrozenStruct, JsonObject, PartlyEqual

Variables = Mapping[str, Any]  # of a test, by their names


class Image(str):
    """A picture among a turn's documents: a data URI or a URL."""

    __slots__ = ()


class Turn(PartlyEqual):
    """One message of a conversation; ``role`` is "user" or "assistant"."""

    not_compared = ("metadata",)
    role: str
    content: str
    retrieval_context: tuple[Any, ...] = ()  # each a text or an Image
    images: tuple[str, ...] = ()
    metadata: JsonObject = {}  # what the target returned beside the text

    def __post_init__(self) -> None:
        # A file has an image as an object, to tell it from a text.
        force_setattr(self, "retrieval_context", tuple(map(_document, self.retrieval_context)))


def _document(written: Any) -> str:
    match written:
        case str():
            return written
        case {"image": str(address)}:
            return Image(address)
    raise ValueError("is neither a text nor an image")


class Message(PartlyEqual):
    """One chat message."""

    not_compared = ("written",)
    role: str
    content: str
    images: tuple[str, ...] = ()  # data URIs or URLs that follow the text
    # Of a chat prompt all keys, for endpoints that take messages of that form; of a grading prompt those beside role and content.
    written: JsonObject | None = None


class Request(FrozenStruct):
    """One question to a chat model. ``schema`` asks for JSON of that shape where the provider can promise it."""

    messages: tuple[Message, ...]
    schema: JsonObject | None = None
    options: JsonObject = {}  # e.g. temperature, seed: win over the provider's config
    prompt: str = ""  # the filled-in prompt as text, where there is one
    vars: Variables = {}  # the test's, for a target whose request is a template
    max_tokens: int | None = None  # the most tokens of the reply; None: as the config says


class Reply(FrozenStruct):
    """A model's answer."""

    text: str
    usage: Usage = NO_USAGE
    finish_reason: str = ""
    refused: bool = False  # the model or a content filter declined; the text says so in its words
    metadata: JsonObject = {}
    constrained: bool = False  # the endpoint took the schema that was asked for, and enforces it
    model: str = ""  # who answered, as the response names it


IS_DATA = "output_is_data"  # in the metadata of an answer whose text is the JSON of data
RAW = "raw_output"  # there, the answer as the target gave it, where a transform made another of it


class Transcript(FrozenStruct):
    """What a grader sees: the conversation (a single answer is one exchange), and the variables of the test."""

    prompt: str  # rendered
    turns: tuple[Turn, ...]
    vars: Variables = {}
    usage: Usage = NO_USAGE  # what the target's answer costs whoever asks for it
    metadata: JsonObject = {}
    # What it cost now: less where it came from the cache. None: the same
    spent: Usage | None = None
    # Those of the target by name, with the JSON Schemas of their parameters
    tools: JsonObject | None = None
    target: str = ""  # who answered, by the name in reports
    # The last answer before the transforms of test and assertion, where there are any
    before: Any = None

    @property
    def source(self) -> Any:
        """The last answer as the target gave it, with its own transform: what ``contextTransform`` looks into."""
        return self.answer if self.before is None else self.before

    @property
    def answers(self) -> tuple[Turn, ...]:
        """The assistant's messages."""
        return tuple(turn for turn in self.turns if turn.role == "assistant")

    @property
    def output(self) -> str:
        """The last assistant message."""
        answers = self.answers
        return answers[-1].content if answers else ""

    @property
    def answer(self) -> Any:
        """The last assistant message as code sees it: as data if the target or a transform gave data or tool calls."""
        is_data = self.metadata.get(IS_DATA)
        tool_calls = self.metadata.get("tool_calls")
        if not (is_data or tool_calls):
            return self.output
        try:
            data = json.loads(self.output)
        except (ValueError, RecursionError):
            return self.output
        return data if is_data or data == tool_calls else self.output


CONVERSATION = "_conversation"  # the variable with what was said before, as promptfoo has it


def parse_conversation(items: Any) -> tuple[Turn, ...]:
    """Read the turns of ``_conversation``: a list of ``{input, output}``, oldest first. Raises ValueError for anything else."""
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise ValueError("it is a list of `{input, output}`")
    turns = []
    for number, item in enumerate(items, 1):
        # promptfoo takes `prompt` for `input`, too.
        has_input = isinstance(item, Mapping) and ("input" in item or "prompt" in item)
        if not has_input or "output" not in item:
            raise ValueError(f"item {number} has no `input` and `output`")
        question = item["input"] if "input" in item else item["prompt"]
        turns.append(_turn("user", question))
        turns.append(_turn("assistant", item["output"]))
    return tuple(turns)


def _turn(role: str, content: Any) -> Turn:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return Turn(role, text)


class Numbered(NamedTuple):
    """A turn with its number in the conversation, from 1."""

    number: int
    turn: Turn


# At least one message of the user, and it ends with the assistant's
Exchange = tuple[Numbered, ...]
Window = tuple[Exchange, ...]


def split_exchanges(turns: Sequence[Turn]) -> tuple[Exchange, ...]:
    """The complete exchanges, in order: DeepEval's unit interactions (deepeval, ``metrics/utils.py``).

    A new one begins at a user turn that follows an assistant turn, once the current one has a user turn: a greeting of
    the assistant belongs to the first exchange. Turns at the end without an answer belong to no exchange.
    """
    complete: list[Exchange] = []
    current: list[Numbered] = []
    has_question = False
    for number, turn in enumerate(turns, 1):
        if turn.role == "user":
            if has_question and current[-1].turn.role == "assistant":
                complete.append(tuple(current))
                current = []
            has_question = True
        current.append(Numbered(number, turn))
    if has_question and current[-1].turn.role == "assistant":
        complete.append(tuple(current))
    return tuple(complete)


def unanswered_turns(turns: Sequence[Turn]) -> tuple[int, ...]:
    """Numbers of the turns that belong to no exchange."""
    complete = split_exchanges(turns)
    return tuple(range(complete[-1][-1].number + 1 if complete else 1, len(turns) + 1))


def split_windows(exchanges: Sequence[Exchange], size: int) -> tuple[Window, ...]:
    """One window for each exchange: it and up to ``size - 1`` before it. Raises ValueError for a size below 1."""
    if size < 1:
        raise ValueError(f"a window of {size} exchanges holds nothing")
    return tuple(tuple(exchanges[max(0, end - size) : end]) for end in range(1, len(exchanges) + 1))


def window_turns(window: Window) -> tuple[Numbered, ...]:
    """The turns of a window, in order."""
    return tuple(numbered for exchange in window for numbered in exchange)
