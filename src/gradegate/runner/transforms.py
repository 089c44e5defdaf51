"""Whether a reply holds an answer, by one rule for live and recorded ones; and answers as transforms make them."""

import math
import re
from typing import Any

from gradegate.assertions.grading.code_result import told
from gradegate.assertions.judge.prose import is_reasoning
from gradegate.core.conversation import IS_DATA, RAW, Reply, Transcript, Turn
from gradegate.core.provider_spec import Code
from gradegate.errors import NoVerdict, ProviderError, Trouble
from gradegate.files.limits import MAX_BODY, MIB, READ, TooMuch
from gradegate.planning.plan import Job
from gradegate.providers.api.chat_api import WORDS, ended
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, replace
from gradegate.templating.printing import dump_json
from gradegate.templating.script import ScriptError, transform_script

# What Python calls printable and nobody sees: what Unicode says to ignore (joiners, fillers of Hangul, variation
# selectors), and empty shapes of Braille, hieroglyphs, Khitan and musical notation.
_UNSEEN = re.compile(
    "[ \u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
# What a terminal takes for commands: ECMA-48, control sequences, strings and single functions.
_COMMANDS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)


def check(reply: Reply, who: str) -> None:
    """Raises ProviderError for a reply that holds no answer: filtered, not known to have come to its end, or empty.

    A refusal in words is an answer, and so is one that was cut at its token limit.
    """
    end = ended(reply.finish_reason)
    if end == "content_filter":
        words = reply.text.strip()
        what = f"{who}: a content filter stopped the answer" + (f": {words}" if words else "")
        raise ProviderError(what, Trouble.REFUSED)
    if end and end not in WORDS:
        raise ProviderError(f"{who} did not finish its answer (finish reason {excerpt(end, 60)})")
    check_text(reply, who)


def check_text(reply: Reply, who: str) -> None:
    """Raises ProviderError for a text that is none: nothing of it is seen, it is reasoning alone, or it is too long."""
    if none := emptiness(reply.text, reply.metadata):
        limit = " at its token limit" if ended(reply.finish_reason) == "length" else ""
        raise ProviderError(f"{who} answered with {none}{limit}")
    if len(reply.text) > MAX_BODY:
        raise ProviderError(f"{who} answered more than {MAX_BODY // MIB} Mi characters")
    try:
        READ.add_answer(len(reply.text))
    except TooMuch as e:
        raise ProviderError(f"{e}: ask for shorter ones") from e


def emptiness(text: str, metadata: JsonObject) -> str:
    """What a text is that holds no answer, beside no call of a tool; empty where it holds one."""
    calls = metadata.get("tool_calls")
    if isinstance(calls, list | tuple) and any(calls):
        return ""
    return "an empty text" if is_blank(text) else "reasoning alone" if is_reasoning(text) else ""


def empty_answer(transcript: Transcript) -> str:
    """What a message of the assistant is that says nothing, shows nothing and calls no tool; empty where there is none."""
    answers = [turn for turn in transcript.turns if turn.role == "assistant"]
    for turn in answers:
        described = turn.metadata
        if turn is answers[-1] and not described.get("tool_calls"):
            described = transcript.metadata
        if not turn.images and (found := emptiness(turn.content, described)):
            return found
    return ""


def metadata(reply: Reply) -> dict[str, object]:
    """What graders know of a reply beside its text."""
    refused = {"refused": True} if reply.refused else {}
    return {"finish_reason": reply.finish_reason, **refused, **reply.metadata}


def is_blank(text: str) -> bool:
    """Whether nothing of the text is seen: blanks, signs that are never shown, and commands to a terminal."""
    if text[:1].isascii() and text[:1].isalnum():
        return False
    text = _COMMANDS.sub("", text)
    return not any(sign.isprintable() and not _UNSEEN.match(sign) for sign in dict.fromkeys(text))


_KEPT = 20_000  # characters of an answer as it was


class Untransformed(NoVerdict):
    """A transform gives nothing for an answer that is there: ``transcript``, as the target gave it."""

    def __init__(self, message: str, transcript: Transcript) -> None:
        super().__init__(message)
        self.transcript = transcript


def of_job(job: Job, transcript: Transcript) -> Transcript:
    """The answers as the target's and the test's transforms make them, data as compact JSON. Raises Untransformed."""
    spec = job.target.spec
    first: Code = spec.transform if spec else ""
    second = job.case.options.transform
    try:
        if not first and not second:
            # An answer that is data, with the text that `JSON.stringify` gives: what graders of a text see, as in promptfoo.
            if not transcript.metadata.get(IS_DATA):
                return transcript
            *before, last = transcript.turns
            value = transcript.answer
            if (value if isinstance(value, str) else dump_json(value)) == last.content:
                return transcript
            turn = _with_value(last, {**transcript.metadata, **last.metadata}, value)
            return replace(transcript, turns=(*before, turn), metadata=turn.metadata)
        made = _with(first, transcript, job)
        return replace(_with(second, made, job), before=made.answer) if second else made
    except NoVerdict as e:
        raise Untransformed(str(e), transcript) from e


def _with(code: Code, transcript: Transcript, job: Job) -> Transcript:
    if not code:
        return transcript
    turns = list(transcript.turns)
    for number, turn in enumerate(turns):
        if turn.role == "assistant":
            metadata = turn.metadata or (
                transcript.metadata if turn is transcript.turns[-1] else {}
            )
            value = replace(transcript, turns=(turn,), metadata=metadata).answer
            prompt = {"raw": job.text, "label": job.prompt.label}
            given = {"vars": transcript.vars, "prompt": prompt, "metadata": told(metadata)}
            turns[number] = _with_value(turn, metadata, _applied(code, value, given))
    last = next(
        (turn.metadata for turn in reversed(turns) if turn.role == "assistant"), transcript.metadata
    )
    return replace(transcript, turns=tuple(turns), metadata=last)


def of_assertion(code: Code, transcript: Transcript) -> Transcript:
    """The last answer as the transform of an assertion makes it. Raises NoVerdict."""
    if not code:
        return transcript
    given = {
        "vars": transcript.vars,
        "prompt": {"label": transcript.prompt},
        "metadata": told(transcript.metadata),
    }
    value = _applied(code, transcript.answer, given)
    place = max(number for number, turn in enumerate(transcript.turns) if turn.role == "assistant")
    turn = _with_value(transcript.turns[place], transcript.metadata, value)
    turns = (*transcript.turns[:place], turn, *transcript.turns[place + 1 :])
    return replace(transcript, turns=turns, metadata=turn.metadata, before=transcript.source)


def _applied(code: Code, value: Any, given: JsonObject) -> Any:
    try:
        made = transform_script(code).call(value, given).value
    except ScriptError as e:
        raise NoVerdict(f"`transform` fails: {e}") from e
    if made is None:
        raise NoVerdict(
            "`transform` returned nothing: to test for this, return a word such as NONE"
        )
    if isinstance(made, float) and not math.isfinite(made):
        raise NoVerdict(
            f"`transform` gives nothing: {'NaN' if math.isnan(made) else 'Infinity'} is no value"
        )
    return made


def _with_value(turn: Turn, metadata: JsonObject, value: Any) -> Turn:
    text = value if isinstance(value, str) else dump_json(value)
    if none := emptiness(text, metadata):
        raise NoVerdict(
            f"`transform` returned {none}: to test for this, return a word such as NONE"
        )
    try:
        READ.add_answer(len(text))
    except TooMuch as e:
        raise NoVerdict(f"{e}: let `transform` give less") from e
    kept = excerpt(metadata.get(RAW, turn.content), _KEPT)
    rest = {name: item for name, item in metadata.items() if name not in (IS_DATA, RAW)}
    data = {} if isinstance(value, str) else {IS_DATA: True}
    return replace(turn, content=text, metadata={**rest, **data, RAW: kept})
