"""A whole run: its rows, what its rules came to, and the decision."""

import enum
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, field
from msgspec.structs import force_setattr

from gradegate.core.policy import Note, Rule
from gradegate.core.usage import NO_USAGE, BudgetReport, CacheReport, Increase, Usage
from gradegate.results import accounts as account
from gradegate.results.gate_changes import NO_CHANGES, GateChanges
from gradegate.results.grades import Outcome, WithOutcome
from gradegate.results.history import HistoryReport
from gradegate.results.rows import Row
from gradegate.structs import Count, FrozenStruct, JsonObject


class GateOutcome(enum.Enum):
    """What the gate decided about the whole run."""

    PASS = "pass"
    ADVISORY = "advisory"  # passes, with something to read
    BLOCKED = "blocked"
    INCONCLUSIVE = "inconclusive"  # too many errors to decide
    NOT_RUN = "not-run"  # the keys are not there, and nobody here could have given them: nothing was asked


class RunDetails(FrozenStruct, kw_only=True):
    """What is said of a run beside its answers and its verdict."""

    interrupted: Annotated[
        str, Meta(description="Why the run stopped early; empty when it did not.")
    ] = ""
    incomplete: Annotated[
        str,
        Meta(description="What is wrong with the parts of a run in shards: it is never green."),
    ] = ""
    models: tuple[account.AskedModel, ...] = ()  # targets and graders
    keys: Annotated[
        tuple[account.KeyUse, ...],
        Meta(description="What left the environment, and where it went."),
    ] = ()
    hidden: Annotated[
        tuple[str, ...], Meta(description="The variables with values that no report shows.")
    ] = ()
    about: Annotated[
        Mapping[str, JsonObject],
        Meta(description="What a dialect keeps of a config, by its file."),
    ] = {}
    budget: BudgetReport | None = None
    cache: CacheReport | None = None  # None where no cache was asked for
    reask: account.ReaskReport | None = None
    baseline: account.BaselineReport | None = None  # None where there is nothing to compare with
    on_default_branch: bool = False  # where a rule may wait for the first baseline or history
    derived: tuple[account.DerivedMetric, ...] = ()
    history: HistoryReport | None = None  # None where the run had none
    labels: account.LabelsReport | None = None  # None where none were asked


class RunResult(RunDetails):
    """Everything that was planned, in plan order; what was not run is there as ERROR."""

    rows: tuple[Row, ...]  # in plan order, repetitions of a case together
    target_usage: Usage = NO_USAGE
    grader_usage: Usage = NO_USAGE
    notes: tuple[Note, ...] = ()
    seconds: float = 0.0
    made: account.Made = field(default_factory=account.Made)
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

    cases: Annotated[
        int | None, Meta(description="The number of cases or assertions that it counts.")
    ] = None
    failing_before: Annotated[int | None, Meta(description="Those that fail in the baseline.")] = (
        None
    )
    slack: Annotated[
        int | None,
        Meta(
            description="How many more may break before it blocks; below 0: it is missed already."
        ),
    ] = None
    unchanged: Annotated[
        float | None,
        Meta(description="The chance that it blocks a pull request that changes nothing."),
    ] = None
    one_broken: Annotated[
        float | None, Meta(description="The chance that it blocks where 1 case is broken.")
    ] = None
    three_broken: float | None = None
    five_points: Annotated[
        float | None,
        Meta(description="The chance that it blocks where 5 % of the cases are broken."),
    ] = None

    by_runs: Annotated[bool, Meta(description="Its cases pass by a number of runs.")] = False

    @property
    def five_percent(self) -> int:
        """How many of its cases 5 % are."""
        return -(-(self.cases or 0) // 20)


NO_POWER = Power()


class RuleResult(WithOutcome, Power):
    """One rule applied. ``pass_rate`` and ``score`` are None when nothing that it selects was graded."""

    rule: Rule
    outcome: Annotated[
        Outcome | None,
        Meta(description="null at the default branch, if nothing is there yet to compare with."),
    ]
    reason: str
    passed: Count = 0
    failed: Count = 0
    errored: Count = 0
    pass_rate: Annotated[
        float | None, Meta(description="From 0 to 1; null when nothing was graded.")
    ] = None
    score: float | None = None
    base_rate: Annotated[
        float | None,
        Meta(description="The pass rate on the base of what both have; null without a base."),
    ] = None
    new_failures: Annotated[
        int | None, Meta(description="Cases that fail here and not on the base.")
    ] = None
    worse: Annotated[
        int | None, Meta(description="Cases that passed on the base and fail here.")
    ] = None
    better: Annotated[
        int | None, Meta(description="Cases that failed on the base and pass here.")
    ] = None
    p: Annotated[
        float | None,
        Meta(
            description="The chance of this many worse cases if worse and better were equally likely."
        ),
    ] = None
    cost: Annotated[
        Increase | None,
        Meta(description="An answer in US dollars, if the rule limits it against the base."),
    ] = None
    latency: Annotated[Increase | None, Meta(description="An answer in seconds.")] = None
    within_noise: Annotated[
        bool,
        Meta(description="Met, since noise may explain that cost or latency are above the limit."),
    ] = False
    bears: bool = (
        False  # met even if each answer on which the grader contradicts itself is a new failure
    )
    excused: bool = False  # known and unsteady failures are most of what it compares


class Counts(FrozenStruct):
    """planned = passed + failed + errored, always. An error is neither a pass nor a failure."""

    passed: Count = 0
    failed: Count = 0
    errored: Count = 0
    # These follow from the others, whatever is said of them.
    planned: Count = 0
    pass_rate: Annotated[
        float | None, Meta(description="From 0 to 1; null when nothing was graded.")
    ] = None

    def __post_init__(self) -> None:
        graded = self.passed + self.failed
        force_setattr(self, "planned", graded + self.errored)
        force_setattr(self, "pass_rate", self.passed / graded if graded else None)


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
    # Places among the rows of the run: their failures are why it is blocked
    blocking: frozenset[int] = frozenset()
