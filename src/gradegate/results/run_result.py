"""The results of a whole run: its rows, the result of each rule, and the decision."""

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
    NOT_RUN = "not-run"  # nothing was asked: keys are missing, and the author cannot add them


class RunDetails(FrozenStruct, kw_only=True):
    """What is recorded of a run besides its answers and its decision."""

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
    cache: CacheReport | None = None  # None: the run had no cache
    reask: account.ReaskReport | None = None
    baseline: account.BaselineReport | None = None  # None: there was nothing to compare with
    on_default_branch: bool = False  # a rule may wait for the first baseline or history there
    derived: tuple[account.DerivedMetric, ...] = ()
    history: HistoryReport | None = None  # None: the run had no history
    labels: account.LabelsReport | None = None  # None: no labelled outputs were graded


class RunResult(RunDetails):
    """A run with everything that was planned. An answer that was not asked for is there as an ERROR."""

    rows: tuple[Row, ...]  # in plan order, repetitions of a case together
    target_usage: Usage = NO_USAGE
    grader_usage: Usage = NO_USAGE
    notes: tuple[Note, ...] = ()
    seconds: float = 0.0
    made: account.Made = field(default_factory=account.Made)
    powers: "tuple[Power, ...]" = ()  # of all rules of all policies, in order
    live_models: tuple[str, ...] = ()  # the models that answered a call, with their hosts

    @property
    def usage(self) -> Usage:
        """The usage of targets and graders together."""
        return self.target_usage + self.grader_usage

    @property
    def has_setup_error(self) -> bool:
        """Whether only the user can fix an error, such as a wrong key.

        If the model that refused a call answered others, the error is one of the case.
        """
        for row in self.rows:
            for grade in row.grades:
                if grade.has_error and grade.setup and grade.refused_by not in self.live_models:
                    return True
        return False


class Power(FrozenStruct, kw_only=True):
    """How well a blocking rule notices worse answers, estimated before the run: chances that it blocks, from 0 to 1.

    A field is None if nothing can be said.
    """

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
        """How many cases are 5 % of them, rounded up."""
        return -(-(self.cases or 0) // 20)


NO_POWER = Power()


class RuleResult(WithOutcome, Power):
    """The result of a rule. ``pass_rate`` and ``score`` are None if nothing that the rule selects was graded."""

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
    # Met even if each answer on which the grader contradicts itself is a new failure
    bears: bool = False
    excused: bool = False  # most of what it compares are known and unsteady failures


class Counts(FrozenStruct):
    """How many passed, failed and were errors. Always: planned = passed + failed + errored."""

    passed: Count = 0
    failed: Count = 0
    errored: Count = 0
    # These are computed from the others. A value that a file has for them is ignored.
    planned: Count = 0
    pass_rate: Annotated[
        float | None, Meta(description="From 0 to 1; null when nothing was graded.")
    ] = None

    def __post_init__(self) -> None:
        graded = self.passed + self.failed
        force_setattr(self, "planned", graded + self.errored)
        force_setattr(self, "pass_rate", self.passed / graded if graded else None)


class Decision(FrozenStruct):
    """The decision about a run, with everything that reports show."""

    outcome: GateOutcome
    reason: str  # one sentence
    rules: tuple[RuleResult, ...]
    run: RunResult
    grades: Counts  # assertions
    cases: Counts
    setup: bool = False  # inconclusive because of a wrong key or model: exit code 2
    changes: GateChanges = NO_CHANGES  # what the pull request does to its own gate
    # The positions of the rows with the failures for which the run is blocked
    blocking: frozenset[int] = frozenset()
