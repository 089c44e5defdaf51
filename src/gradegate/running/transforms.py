"""Answers as transforms make them: of the target, then of the test, and of one assertion for itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.errors import NoVerdict
from gradegate.files.bounds import READ, TooMuch
from gradegate.grading.program_objects import told
from gradegate.planning.job import Job
from gradegate.running.replies import emptiness
from gradegate.texts.script import ScriptError, of_transform
from gradegate.texts.values import dump
from gradegate.values.conversation import IS_DATA, RAW, Transcript, Turn
from gradegate.values.suite import Code

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
            return _compact(transcript)
        made = _with(first, transcript, job)
        return replace(_with(second, made, job), before=made.answer) if second else made
    except NoVerdict as e:
        raise Untransformed(str(e), transcript) from e


def _compact(transcript: Transcript) -> Transcript:
    """An answer that is data, with the text that ``JSON.stringify`` gives: what graders of a text see, as in promptfoo."""
    if not transcript.metadata.get(IS_DATA):
        return transcript
    *before, last = transcript.turns
    value = transcript.answer
    if (value if isinstance(value, str) else dump(value)) == last.content:
        return transcript
    turn = _with_value(last, {**transcript.metadata, **last.metadata}, value)
    return replace(transcript, turns=(*before, turn), metadata=turn.metadata)


def _with(code: Code, transcript: Transcript, job: Job) -> Transcript:
    if not code:
        return transcript
    turns = tuple(_turn(turn, transcript, job, code) for turn in transcript.turns)
    last = next((turn.metadata for turn in reversed(turns) if turn.role == "assistant"), transcript.metadata)
    return replace(transcript, turns=turns, metadata=last)


def of_assertion(code: Code, transcript: Transcript) -> Transcript:
    """The last answer as the transform of an assertion makes it. Raises NoVerdict."""
    if not code:
        return transcript
    given = {"vars": transcript.vars, "prompt": {"label": transcript.prompt}, "metadata": told(transcript.metadata)}
    value = _applied(code, transcript.answer, given)
    place = max(number for number, turn in enumerate(transcript.turns) if turn.role == "assistant")
    turn = _with_value(transcript.turns[place], transcript.metadata, value)
    turns = (*transcript.turns[:place], turn, *transcript.turns[place + 1 :])
    return replace(transcript, turns=turns, metadata=turn.metadata, before=transcript.source)


def _turn(turn: Turn, transcript: Transcript, job: Job, code: Code) -> Turn:
    if turn.role != "assistant":
        return turn
    single = turn is transcript.turns[-1]
    metadata = turn.metadata or (transcript.metadata if single else {})
    value = replace(transcript, turns=(turn,), metadata=metadata).answer
    prompt = {"raw": job.text, "label": job.prompt.label}
    made = _applied(code, value, {"vars": transcript.vars, "prompt": prompt, "metadata": told(metadata)})
    return _with_value(turn, metadata, made)


def _applied(code: Code, value: Any, given: Mapping[str, Any]) -> Any:
    try:
        made = of_transform(code).call(value, given).value
    except ScriptError as e:
        raise NoVerdict(f"`transform` fails: {e}") from e
    if made is None:
        raise NoVerdict("`transform` returned nothing: to test for this, return a word such as NONE")
    if isinstance(made, float) and not math.isfinite(made):
        raise NoVerdict(f"`transform` gives nothing: {'NaN' if math.isnan(made) else 'Infinity'} is no value")
    return made


def _with_value(turn: Turn, metadata: Mapping[str, Any], value: Any) -> Turn:
    text = value if isinstance(value, str) else dump(value)
    if none := emptiness(text, metadata):
        raise NoVerdict(f"`transform` returned {none}: to test for this, return a word such as NONE")
    try:
        READ.add_answer(len(text))
    except TooMuch as e:
        raise NoVerdict(f"{e}: let `transform` give less") from e
    raw = metadata.get(RAW, turn.content)
    kept = excerpt(raw, _KEPT)
    rest = {name: item for name, item in metadata.items() if name not in (IS_DATA, RAW)}
    data = {} if isinstance(value, str) else {IS_DATA: True}
    return replace(turn, content=text, metadata={**rest, **data, RAW: kept})
