"""A whole run: its rows, what its rules came to, and the decision."""

import enum
from collections.abc import Mapping
from typing import Annotated

from msgspec import field

from gradegate.core.policy import Note, Rule
from gradegate.core.usage import NO_USAGE, BudgetReport, CacheReport, Increase, Usage
from gradegate.results import accounts as account
from gradegate.results.gate_changes import NO_CHANGES, GateChanges
from gradegate.results.grades import Outcome, WithOutcome
from gradegate.results.history import HistoryReport
from gradegate.results.rows import Row
from gradegate.structs import FrozenStruct, JsonObject


class GateOutcome(enum.Enum):
    """What the gate decided about the whole run."""

    PASS = "pass"
    ADVISORY = "advisory"  # passes, with something to read
    BLOCKED = "blocked"
    INCONCLUSIVE = "inconclusive"  # too many errors to decide
    NOT_RUN = "not-run"  # the keys are not there, and nobody here could have given them: nothing was asked


class RunResult(FrozenStruct):
    """Everything that was planned, in plan order; what was not run is there as ERROR."""

    rows: tuple[Row, ...]  # in plan order, repetitions of a case together
    target_usage: Usage = NO_USAGE
    grader_usage: Usage = NO_USAGE
    interrupted: str = ""  # why the run stopped early, empty when it did not
    incomplete: str = (
        ""  # what is wrong with the parts of a run in shards: such a run is never green
    )
    notes: tuple[Note, ...] = ()
    seconds: float = 0.0
    models: tuple[account.AskedModel, ...] = ()  # targets and graders
    keys: tuple[account.KeyUse, ...] = ()  # what left the environment, and where it went
    hidden: tuple[str, ...] = ()  # the variables whose values no report shows
    about: Mapping[str, JsonObject] = {}  # of suites, by file
    made: account.Made = field(default_factory=account.Made)
    budget: BudgetReport | None = None
    cache: CacheReport | None = None  # None where no cache was asked for
    reask: account.ReaskReport | None = None
    baseline: account.BaselineReport | None = None  # None where there is nothing to compare with
    on_default_branch: bool = False  # where a rule may wait for the first baseline or history
    derived: tuple[account.DerivedMetric, ...] = ()
    history: HistoryReport | None = None  # None where the run had none
    labels: account.LabelsReport | None = None  # None where none were asked
    powers: "tuple[Power, ...]" = ()  # of all rules of all policies, in order
    live_models: tuple[str, ...] = ()  # that answered a call, with their hosts

    @property
    def usage(self) -> Usage:
        """What targets and graders took together."""
        return self.target_usage + self.grader_usage

    @property
    def has_setup_error(self) -> bool:
        """Whether only the user can fix an error. What a model refuses that answers other calls is an error of its case."""
        return any(
            grade.has_error and grade.setup and grade.refused_by not in self.live_models
            for row in self.rows
            for grade in row.grades
        )


class Power(FrozenStruct, kw_only=True):
    """What a blocking rule cannot see, known before the run; chances that it blocks, from 0 to 1. None: nothing is said of it."""

    cases: Annotated[int | None, "The number of cases or assertions that it counts."] = None
    failing_before: Annotated[int | None, "Those that fail in the baseline."] = None
    slack: Annotated[
        int | None, "How many more may break before it blocks; below 0: it is missed already."
    ] = None
    unchanged: Annotated[
        float | None, "The chance that it blocks a pull request that changes nothing."
    ] = None
    one_broken: Annotated[float | None, "The chance that it blocks where 1 case is broken."] = None
    three_broken: float | None = None
    five_points: Annotated[
        float | None, "The chance that it blocks where 5 % of the cases are broken."
    ] = None

    by_runs: Annotated[bool, "Its cases pass by a number of runs."] = False

    @property
    def drop(self) -> int:
        """How many of its cases 5 % are."""
        return -(-(self.cases or 0) // 20)


NO_POWER = Power()


class RuleResult(WithOutcome, Power):
    """One rule applied. ``pass_rate`` and ``score`` are None when nothing that it selects was graded."""

    rule: Rule
    outcome: Annotated[
        Outcome | None, "null at the default branch, if nothing is there yet to compare with."
    ]
    reason: str
    passed: int = 0
    failed: int = 0
    errored: int = 0
    pass_rate: Annotated[float | None, "From 0 to 1; null when nothing was graded."] = None
    score: float | None = None
    base_rate: Annotated[
        float | None, "The pass rate on the base of what both have; null without a base."
    ] = None
    new_failures: Annotated[int | None, "Cases that fail here and not on the base."] = None
    worse: Annotated[int | None, "Cases that passed on the base and fail here."] = None
    better: Annotated[int | None, "Cases that failed on the base and pass here."] = None
    p: Annotated[
        float | None, "The chance of this many worse cases if worse and better were equally likely."
    ] = None
    cost: Annotated[
        Increase | None, "An answer in US dollars, if the rule limits it against the base."
    ] = None
    latency: Annotated[Increase | None, "An answer in seconds."] = None
    within_noise: Annotated[
        bool, "Met, since noise may explain that cost or latency are above the limit."
    ] = False
    bears: bool = (
        False  # met even if each answer on which the grader contradicts itself is a new failure
    )
    excused: bool = False  # known and unsteady failures are most of what it compares


class Counts(FrozenStruct):
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


class Decision(FrozenStruct):
    """The verdict on the run and all that the reports show."""

    outcome: GateOutcome
    reason: str  # one sentence
    rules: tuple[RuleResult, ...]
    run: RunResult
    grades: Counts  # assertions
    cases: Counts
    setup: bool = False  # inconclusive because of a wrong key or model: exit code 2
    changes: GateChanges = NO_CHANGES  # what the pull request does to its own gate
    blocking: frozenset[int] = (
        frozenset()
    )  # places among the rows of the run: their failures are why it is blocked
