"""Checks that a reply contains an answer, by one rule for live and recorded ones, and applies transforms to answers."""

import math
import re
from typing import Any

from gradegate.assertions.grading.code_result import target_metadata
from gradegate.assertions.judge.peeling import is_reasoning
from gradegate.core.conversation import IS_DATA, RAW, Reply, Transcript, Turn
from gradegate.core.provider_spec import Code
from gradegate.errors import NoVerdict, ProviderError, Trouble
from gradegate.files.limits import MAX_BODY, MIB, READ, TooMuch
from gradegate.planning.plan import Job
from gradegate.providers.api.chat_api import FINISH_WORDS, normalize_finish
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, replace
from gradegate.templating.printing import dump_json
from gradegate.templating.script import ScriptError, transform_script

# Characters that Python calls printable and nobody sees: what Unicode says to ignore (joiners, fillers of Hangul, variation
# selectors), and empty shapes of Braille, hieroglyphs, Khitan and musical notation.
_UNSEEN = re.compile(
    "[ \u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
# Commands to a terminal: ECMA-48, control sequences, strings and single functions.
_COMMANDS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)


def check_reply(reply: Reply, who: str) -> None:
    """Raise ProviderError if the reply contains no answer: it was filtered, did not finish, or is empty.

    A refusal in words is an answer. So is a text that was cut at its token limit.
    """
    end = normalize_finish(reply.finish_reason)
    if end == "content_filter":
        what = f"{who}: a content filter stopped the answer"
        words = reply.text.strip()
        if words:
            what += f": {words}"
        raise ProviderError(what, Trouble.REFUSED)
    if end and end not in FINISH_WORDS:
        raise ProviderError(f"{who} did not finish its answer (finish reason {excerpt(end, 60)})")
    check_text(reply, who)


def check_text(reply: Reply, who: str) -> None:
    """Raise ProviderError if the text is no answer: nothing of it is visible, it is only reasoning, or it is too long."""
    emptiness = describe_emptiness(reply.text, reply.metadata)
    if emptiness:
        what = f"{who} answered with {emptiness}"
        if normalize_finish(reply.finish_reason) == "length":
            what += " at its token limit"
        raise ProviderError(what)
    if len(reply.text) > MAX_BODY:
        raise ProviderError(f"{who} answered more than {MAX_BODY // MIB} Mi characters")
    try:
        READ.add_answer(len(reply.text))
    except TooMuch as e:
        raise ProviderError(f"{e}: ask for shorter ones") from e


def describe_emptiness(text: str, metadata: JsonObject) -> str:
    """Why a text is no answer, in words for a message. An empty string if it is one, or if tools are called."""
    calls = metadata.get("tool_calls")
    if isinstance(calls, list | tuple) and any(calls):
        return ""
    if is_blank(text):
        return "an empty text"
    return "reasoning alone" if is_reasoning(text) else ""


def find_empty_answer(transcript: Transcript) -> str:
    """Describe the first message of the assistant without text, image and tool call. An empty string if there is none."""
    answers = transcript.answers
    for turn in answers:
        metadata = turn.metadata
        if turn is answers[-1] and not metadata.get("tool_calls"):
            metadata = transcript.metadata
        emptiness = "" if turn.images else describe_emptiness(turn.content, metadata)
        if emptiness:
            return emptiness
    return ""


def reply_metadata(reply: Reply) -> dict[str, object]:
    """What graders know of a reply besides its text."""
    refused = {"refused": True} if reply.refused else {}
    return {"finish_reason": reply.finish_reason, **refused, **reply.metadata}


def is_blank(text: str) -> bool:
    """Whether nothing of the text is visible: only blanks, invisible characters and commands to a terminal."""
    if text[:1].isascii() and text[:1].isalnum():
        return False
    text = _COMMANDS.sub("", text)
    return not any(sign.isprintable() and not _UNSEEN.match(sign) for sign in dict.fromkeys(text))


# --- transforms -------------------------------------------------------------------------------------------------

_MAX_RAW = 20_000  # characters of an answer before its transform


class TransformError(NoVerdict):
    """A transform makes nothing of an answer. ``transcript`` has the answer as the target gave it."""

    def __init__(self, message: str, transcript: Transcript) -> None:
        super().__init__(message)
        self.transcript = transcript


def transform_answer(job: Job, transcript: Transcript) -> Transcript:
    """Apply the transforms of the target and of the test. Data becomes compact JSON. Raises TransformError."""
    spec = job.target.spec
    of_target: Code = spec.transform if spec else ""
    of_test = job.case.options.transform
    try:
        if not (of_target or of_test):
            return _with_compact_data(transcript)
        transformed = _transform_turns(of_target, transcript, job)
        if not of_test:
            return transformed
        return replace(_transform_turns(of_test, transformed, job), before=transformed.answer)
    except NoVerdict as e:
        raise TransformError(str(e), transcript) from e


def _with_compact_data(transcript: Transcript) -> Transcript:
    """An answer that is data gets the text that `JSON.stringify` gives: graders of a text see it, as in promptfoo."""
    if not transcript.metadata.get(IS_DATA):
        return transcript
    *earlier, last = transcript.turns
    value = transcript.answer
    if _as_text(value) == last.content:
        return transcript
    turn = _with_value(last, {**transcript.metadata, **last.metadata}, value)
    return replace(transcript, turns=(*earlier, turn), metadata=turn.metadata)


def _transform_turns(code: Code, transcript: Transcript, job: Job) -> Transcript:
    """Apply a transform to every message of the assistant."""
    if not code:
        return transcript
    turns = list(transcript.turns)
    last_metadata = transcript.metadata
    for number, turn in enumerate(turns):
        if turn.role == "assistant":
            metadata = turn.metadata
            if not metadata and number == len(turns) - 1:
                metadata = transcript.metadata
            value = replace(transcript, turns=(turn,), metadata=metadata).answer
            prompt = {"raw": job.text, "label": job.prompt.label}
            context = {
                "vars": transcript.vars,
                "prompt": prompt,
                "metadata": target_metadata(metadata),
            }
            turns[number] = _with_value(turn, metadata, _run_transform(code, value, context))
            last_metadata = turns[number].metadata
    return replace(transcript, turns=tuple(turns), metadata=last_metadata)


def transform_for_assertion(code: Code, transcript: Transcript) -> Transcript:
    """Apply the transform of an assertion to the last answer. Raises NoVerdict."""
    if not code:
        return transcript
    context = {
        "vars": transcript.vars,
        "prompt": {"label": transcript.prompt},
        "metadata": target_metadata(transcript.metadata),
    }
    value = _run_transform(code, transcript.answer, context)
    turns = list(transcript.turns)
    position = max(number for number, turn in enumerate(turns) if turn.role == "assistant")
    turns[position] = _with_value(turns[position], transcript.metadata, value)
    return replace(
        transcript,
        turns=tuple(turns),
        metadata=turns[position].metadata,
        before=transcript.source,
    )


def _run_transform(code: Code, value: Any, context: JsonObject) -> Any:
    try:
        result = transform_script(code).call(value, context).value
    except ScriptError as e:
        raise NoVerdict(f"`transform` fails: {e}") from e
    if result is None:
        raise NoVerdict(
            "`transform` returned nothing: to test for this, return a word such as NONE"
        )
    if isinstance(result, float) and not math.isfinite(result):
        number = "NaN" if math.isnan(result) else "Infinity"
        raise NoVerdict(f"`transform` gives nothing: {number} is no value")
    return result


def _with_value(turn: Turn, metadata: JsonObject, value: Any) -> Turn:
    """The turn with another value as its answer."""
    text = _as_text(value)
    emptiness = describe_emptiness(text, metadata)
    if emptiness:
        raise NoVerdict(
            f"`transform` returned {emptiness}: to test for this, return a word such as NONE"
        )
    try:
        READ.add_answer(len(text))
    except TooMuch as e:
        raise NoVerdict(f"{e}: let `transform` give less") from e
    changed = {name: item for name, item in metadata.items() if name not in (IS_DATA, RAW)}
    if not isinstance(value, str):
        changed[IS_DATA] = True
    changed[RAW] = excerpt(metadata.get(RAW, turn.content), _MAX_RAW)
    return replace(turn, content=text, metadata=changed)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else dump_json(value)
