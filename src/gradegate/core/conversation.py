"""Conversations: a request to a model and its reply, the turns between user and assistant, and what a grader sees of them."""

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
    """A document as a file has it: a text, or an image as ``{image: URL}``. Raises ValueError for anything else."""
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
    # The message as a prompt has it, for endpoints that take such messages. Of a grading prompt only the keys besides role and
    # content. None: it was not written as a message.
    written: JsonObject | None = None


class Request(FrozenStruct):
    """One question to a chat model."""

    messages: tuple[Message, ...]
    schema: JsonObject | None = (
        None  # the reply is JSON of this schema, if the provider can enforce it
    )
    options: JsonObject = {}  # e.g. temperature, seed: win over the provider's config
    prompt: str = ""  # the filled-in prompt as text; empty for the messages of a grader
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
    """What a grader sees: the conversation, and the variables of the test. A single answer is a conversation of one exchange."""

    prompt: str  # rendered
    turns: tuple[Turn, ...]
    vars: Variables = {}
    usage: Usage = NO_USAGE  # of the target's answer, as if nothing came from the cache
    metadata: JsonObject = {}
    # What the answer used in this run: less than ``usage`` if it came from the cache. None: the same
    spent: Usage | None = None
    # The tools of the target by name, with the JSON Schemas of their parameters
    tools: JsonObject | None = None
    target: str = ""  # the name of the target in reports
    # The last answer before the transforms of test and assertion. None: there are none
    before: Any = None

    @property
    def source(self) -> Any:
        """The last answer after the target's own transform only. ``contextTransform`` reads it."""
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
    """The numbers of the turns after the last exchange. They belong to no exchange, because nobody answered."""
    last_answered = 0
    exchanges = split_exchanges(turns)
    if exchanges:
        last_answered = exchanges[-1][-1].number
    return tuple(range(last_answered + 1, len(turns) + 1))


def split_windows(exchanges: Sequence[Exchange], size: int) -> tuple[Window, ...]:
    """One window for each exchange: the exchange, and up to ``size - 1`` before it. Raises ValueError for a size below 1."""
    if size < 1:
        raise ValueError(f"a window of {size} exchanges holds nothing")
    windows = []
    for end in range(1, len(exchanges) + 1):
        start = max(0, end - size)
        windows.append(tuple(exchanges[start:end]))
    return tuple(windows)


def window_turns(window: Window) -> tuple[Numbered, ...]:
    """The turns of a window, in order."""
    return tuple(numbered for exchange in window for numbered in exchange)
