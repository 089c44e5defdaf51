"""Writes answers and grades as the lines of results.json, which ``reread`` reads back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradegate.conversation import Image, Turn, Usage
from gradegate.errors import Origin
from gradegate.reporting.plain import finite, plain
from gradegate.reporting.results import (
    BaseLine,
    CaseLine,
    GradeLine,
    ImageLine,
    SourceLine,
    Spent,
    TurnLine,
    VoteLine,
)
from gradegate.reporting.visible import encodable
from gradegate.result import Grade, Row, Vote


def case_line(row: Row, blocks: bool = False) -> CaseLine:
    """The line of an answer: what ``cases`` holds of it, and every part of a run in shards, which does not know what blocks."""
    return CaseLine(
        description=encodable(row.description),
        suite=encodable(row.suite),
        case=row.case,
        repeat=row.repeat,
        provider=encodable(row.provider),
        prompt=encodable(row.prompt),
        prompt_label=encodable(row.prompt_label),
        vars=as_object(row.vars),
        output=None if row.output is None else encodable(row.output),
        error=encodable(row.error),
        outcome=row.outcome.value,
        score=finite(row.score),
        threshold=finite(row.threshold),
        reason=encodable(row.reason),
        seconds=seconds(row.usage.seconds),
        cost_usd=finite(row.usage.known_cost),
        tokens=row.usage.tokens,
        usage=spent(row.usage),
        metadata=as_object(row.metadata),
        grades=[grade_line(grade) for grade in row.grades],
        turns=[turn_line(turn) for turn in row.turns],
        source=source(row.origin),
        key=row.key.hex(),
        definition=row.definition.hex(),
        base=row.base.value if row.base else None,
        hidden=row.hidden,
        undone=row.undone,
        blocks=blocks,
    )


def grade_line(grade: Grade) -> GradeLine:
    """A grade as results.json has it."""
    assertion = grade.assertion
    return GradeLine(
        assertion=encodable(assertion.type),
        metric=encodable(grade.metric),
        outcome=grade.outcome.value,
        score=finite(grade.score),
        threshold=finite(grade.threshold),
        reason=encodable(grade.reason),
        expected=plain(assertion.value),
        blocking=assertion.blocking,
        inner=grade.inner,
        set=assertion.is_set,
        weight=finite(assertion.weight),
        config=as_object(assertion.config),
        model_slug=encodable(assertion.model_slug),
        scale=grade.scale,
        unread=encodable(grade.unread),
        most=grade.most,
        setup=grade.setup,
        evidence=as_object(grade.evidence),
        usage=spent(grade.usage),
        source=source(assertion.origin),
        votes=[_vote(vote) for vote in grade.votes],
        confirmed=grade.confirmed,
        key=assertion.key.hex(),
        definition=assertion.definition.hex(),
        status=grade.status,
        base=BaseLine(outcome=grade.base.outcome.value, first=grade.base.first.value) if grade.base else None,
        undone=grade.undone,
        unheard=grade.unheard,
        turns=list(grade.turns),
    )


def _vote(vote: Vote) -> VoteLine:
    return VoteLine(
        outcome=vote.outcome.value,
        score=finite(vote.score),
        reason=encodable(vote.reason),
        model=encodable(vote.model),
    )


def turn_line(turn: Turn) -> TurnLine:
    """A message of a conversation."""
    documents: list[str | ImageLine] = [
        ImageLine(image=encodable(text)) if isinstance(text, Image) else encodable(text)
        for text in turn.retrieval_context
    ]
    return TurnLine(
        role=turn.role,
        content=encodable(turn.content),
        retrieval_context=documents,
        images=[encodable(image) for image in turn.images],
        metadata=as_object(turn.metadata),
    )


def spent(usage: Usage) -> Spent:
    """What calls of one kind took."""
    return Spent(
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost_usd=finite(usage.known_cost),
        known_usd=finite(usage.cost) or 0.0,
        unpriced=usage.unpriced,
        seconds=seconds(usage.seconds),
        reasks=usage.reasks,
        cached=usage.cached,
        saved_usd=finite(usage.saved) or 0.0,
    )


def source(origin: Origin | None) -> SourceLine | None:
    """A place in a config; None where there is none."""
    return SourceLine(file=encodable(origin.file), line=origin.line) if origin and origin.file else None


def as_object(values: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping as plain data."""
    return {encodable(str(key)): plain(value) for key, value in values.items()}


def seconds(seconds: float) -> float:
    """Seconds, 0 for what JSON cannot write."""
    return finite(seconds) or 0.0
