"""The values that cross from one room to another: frozen, without input or output."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradegate.conversation import NO_USAGE, Turn, Usage
from gradegate.errors import Origin
from gradegate.suite import NOWHERE, Assertion, Note, Rule


class Outcome(enum.Enum):
    """What a grade, a case or a rule came to."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"  # could not tell: never a pass, never a quality failure


class Result(enum.Enum):
    """What the gate decided about the whole run."""

    PASS = "pass"
    ADVISORY = "advisory"  # passes, with something to read
    BLOCKED = "blocked"
    INCONCLUSIVE = "inconclusive"  # too much could not be told


# --- what is graded -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a grader found, before thresholds, ``not-`` and weights.

    ``passed`` is the grader's own word, None where only the score decides. ``score`` is usually 0 to 1.
    """

    score: float
    passed: bool | None = None
    reason: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    reverse: Verdict | None = None  # what ``not-`` turns round, where it is another one than this


@dataclass(frozen=True, slots=True)
class Grade:
    """The final word on one assertion of one answer. An ERROR has no score."""

    assertion: Assertion
    outcome: Outcome
    score: float | None = None
    threshold: float | None = None  # the one that was applied, None when there was none
    reason: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage = NO_USAGE
    setup: bool = False  # an ERROR that only the user can mend: wrong key, wrong model
    metric: str = ""  # the assertion's metric with its variables filled in
    inner: bool = False  # of a member of an assert-set, whose own grade decides
    scale: int = 1  # people see the score times this

    @property
    def counts(self) -> bool:
        """Whether the grade takes part in deciding: it blocks, it has weight, and no set decides in its place."""
        return self.assertion.blocking and self.assertion.weight != 0 and not self.inner


@dataclass(frozen=True, slots=True)
class Row:
    """One answer and its grades: a case, asked of one target with one prompt, in one repetition."""

    suite: str
    description: str
    provider: str
    prompt_label: str
    prompt: str
    vars: Mapping[str, Any]
    outcome: Outcome
    output: str | None = None
    error: str = ""  # why there is no output
    grades: tuple[Grade, ...] = ()
    score: float | None = None  # weighted mean of the graded assertions
    usage: Usage = NO_USAGE  # the target's
    case: int = 0  # number of the case in its suite: rows of one case are compared by select-best
    repeat: int = 0
    turns: tuple[Turn, ...] = ()
    origin: Origin = NOWHERE


@dataclass(frozen=True, slots=True)
class RunResult:
    """Everything that was planned, in plan order; what was not run is there as ERROR."""

    rows: tuple[Row, ...]
    target_usage: Usage = NO_USAGE
    grader_usage: Usage = NO_USAGE
    interrupted: str = ""  # why the run stopped early, empty when it did not
    notes: tuple[Note, ...] = ()
    seconds: float = 0.0
    models: tuple[str, ...] = ()  # "openai:chat:gpt-5 at api.openai.com", targets and graders
    about: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of suites, by file


# --- what the gate says ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule applied. ``pass_rate`` and ``score`` are None when nothing that it selects was graded."""

    rule: Rule
    outcome: Outcome
    reason: str
    passed: int = 0
    failed: int = 0
    errored: int = 0
    pass_rate: float | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """planned = passed + failed + errored, always."""

    passed: int = 0
    failed: int = 0
    errored: int = 0

    @property
    def planned(self) -> int:
        """Everything that was to be done."""
        return self.passed + self.failed + self.errored

    @property
    def pass_rate(self) -> float | None:
        """Passed over graded, None when nothing was graded. Errors are counted apart."""
        graded = self.passed + self.failed
        return self.passed / graded if graded else None


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on the run and all that the reports show."""

    result: Result
    reason: str  # one sentence
    rules: tuple[RuleResult, ...]
    run: RunResult
    grades: Counts  # assertions
    cases: Counts
    notes: tuple[Note, ...] = ()
    setup: bool = False  # inconclusive because of a wrong key or model: exit code 2
