"""The shape of results.json: a decision as msgspec writes it, one line per case. ``gradegate schema results`` publishes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import astuple

from gradegate.core.policy import Note
from gradegate.core.usage import Usage
from gradegate.results.accounts import Made
from gradegate.results.gate_changes import GateChanges
from gradegate.results.rows import Row, runs_by_case
from gradegate.results.run_result import (
    Counts,
    Decision,
    GateOutcome,
    RuleResult,
    RunDetails,
    RunResult,
)
from gradegate.structs import Count, FrozenStruct, NamedTexts, field_names


class Summary(Counts, kw_only=True):
    """The run in numbers. The counts are those of assertions, and ``cases`` has those of cases."""

    cost_usd: Annotated[
        float | None,
        Meta(description="Target and grader together; null when any price is unknown."),
    ]
    tokens: int
    seconds: float
    cases: Counts
    target: Usage
    grader: Usage


class CaseRunsTally(FrozenStruct):
    """The cases with several runs that count together."""

    cases: Count  # how many such cases there are
    made: Count  # runs of these cases
    most: Count  # runs that they could have had

    @classmethod
    def from_rows(cls, rows: Iterable[Row]) -> CaseRunsTally | None:
        """Count the cases in these rows. None if no case has several runs."""
        cases = [case for case in runs_by_case(rows) if case[0].verdict]
        if not cases:
            return None
        return cls(len(cases), sum(map(len, cases)), sum(case[0].of for case in cases))


class Head(RunDetails):
    """Everything in results.json except the cases."""

    # Grows if a key changes its meaning or goes away. New keys do not change it.
    version: Literal[2]
    made: Made
    outcome: GateOutcome
    reason: str
    summary: Summary
    rules: tuple[RuleResult, ...]
    notes: tuple[Note, ...]
    setup: Annotated[bool, Meta(description="Inconclusive because of a wrong key or model.")]
    changes: GateChanges
    blocking: Annotated[
        frozenset[int], Meta(description="Places among the cases whose failures block the run.")
    ]
    runs: CaseRunsTally | None
    links: Annotated[
        Mapping[str, str], Meta(description="On GitHub: server, repository, commit and run.")
    ]

    @classmethod
    def from_decision(cls, decision: Decision, links: NamedTexts) -> Head:
        """The part of a decision that is about the whole run."""
        run = decision.run
        summary = Summary(
            *astuple(decision.grades),
            cost_usd=run.usage.known_cost,
            tokens=run.usage.tokens,
            seconds=run.seconds,
            cases=decision.cases,
            target=run.target_usage,
            grader=run.grader_usage,
        )
        return cls(
            version=2,
            made=run.made,
            outcome=decision.outcome,
            reason=decision.reason,
            summary=summary,
            rules=decision.rules,
            notes=tuple(dict.fromkeys(run.notes)),
            setup=decision.setup,
            changes=decision.changes,
            blocking=decision.blocking,
            runs=CaseRunsTally.from_rows(run.rows),
            links=links,
            **_details(run),
        )


class Results(Head):
    """The content of results.json."""

    cases: tuple[Row, ...]

    @property
    def decision(self) -> Decision:
        """The decision that the file was written from."""
        run = RunResult(
            self.cases,
            target_usage=self.summary.target,
            grader_usage=self.summary.grader,
            notes=self.notes,
            seconds=self.summary.seconds,
            made=self.made,
            **_details(self),
        )
        return Decision(
            self.outcome,
            self.reason,
            self.rules,
            run,
            Counts(self.summary.passed, self.summary.failed, self.summary.errored),
            self.summary.cases,
            self.setup,
            self.changes,
            self.blocking,
        )


def _details(run: RunDetails) -> dict[str, Any]:
    """The fields that a run and the head of results.json have in common."""
    return {name: getattr(run, name) for name in field_names(RunDetails)}
