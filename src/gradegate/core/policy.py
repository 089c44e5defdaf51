"""What decides about a run: rules with their limits, the runs of a case, quarantine, labels and budgets."""

import enum
from collections.abc import Iterable
from datetime import date
from fnmatch import fnmatchcase
from typing import Annotated, Any, NamedTuple, Self

from msgspec import Meta

from gradegate.core.assertion import AssertionTraits
from gradegate.core.provider_spec import NOWHERE
from gradegate.errors import Origin
from gradegate.structs import FrozenStruct, JsonObject, PartlyEqual, field_names, replace

NOTHING: JsonObject = {}
Scale = Annotated[int, Meta(description="People see scores times this.", ge=1, le=1000)]
NOISE = 0.1  # where the gate does not say


class Earlier(enum.Enum):
    """What earlier runs of the default branch left."""

    BASELINE = "baseline"
    HISTORY = "history"


class Limit(FrozenStruct):
    """A limit of a rule: its key in a config, what it compares, and the words for it.

    Keys and their mistakes, the schema, the comparison with the gate of the base and the reports follow from it.
    """

    about: str  # the sentence of the schema
    requires: str  # what a report says, with braces for the value
    counts: str = ""  # the noun, where it is a whole number of something
    least: float | None = 0  # that a config may write
    most: float | None = None
    below: float | None = None
    is_minimum: bool = False  # more is stricter
    reads: Earlier | None = None  # None: the run alone
    # Whether it decides without earlier runs, too: every failure is new then
    decides_alone: bool = False
    decides: bool = True  # a rule needs one that does

    @property
    def is_share(self) -> bool:
        """Whether the limit is a share from 0 to 1."""
        return not self.counts and (self.most is not None or self.below is not None)


class Runs(PartlyEqual):
    """How many runs of a case must pass: ``passes`` of ``of``."""

    not_compared = ("origin",)
    of: int
    passes: int
    origin: Origin = NOWHERE

    def is_milder_than(self, other: Self) -> bool:
        """Whether fewer runs must pass than for the other one, or a smaller share of them."""
        return self.passes < other.passes or self.passes * other.of < other.passes * self.of


def parse_runs(written: tuple[int, int] | None, origin: Origin) -> Runs | None:
    """The runs that a config requires. ``written`` is ``2/3`` read as (2, 3): 2 of 3 must pass. None if nothing is written."""
    if written is None:
        return None
    passes, of = written
    return Runs(of=of, passes=passes, origin=origin)


class CaseRuns(NamedTuple):
    """How many runs of one case must pass: for the case as a whole, and for rules that do not say it themselves."""

    whole: Runs
    plain: int = 1  # for such rules: all runs of `repeat`
    is_from_test: bool = False  # the test itself says it, and so every rule follows ``whole``


class Quarantine(NamedTuple):
    """A test that is known to be flaky: until that day its failures only advise."""

    until: date
    days: int  # that are left of it; below 0, it is over

    @property
    def is_active(self) -> bool:
        """Whether the quarantine still lasts. Its last day is part of it."""
        return self.days >= 0


class Select(FrozenStruct):
    """Which assertions of a case a rule looks at; an empty pattern takes everything. Patterns are globs."""

    assertion: str = ""
    metric: str = ""
    provider: str = ""
    description: str = ""
    metadata: tuple[tuple[str, str], ...] = ()  # keys of the test's metadata with their patterns

    def matches(
        self,
        assertion: str,
        metric: str,
        provider: str,
        description: str,
        metadata: JsonObject = NOTHING,
    ) -> bool:
        """Whether a grade is selected: one of this assertion type and metric, for an answer of this target to a case
        with this description and metadata.
        """
        # Not a loop over the fields, because a hundred rules may look at each of 100,000 grades.
        if self.assertion and not fnmatchcase(assertion, self.assertion):
            return False
        if self.metric and not fnmatchcase(metric, self.metric):
            return False
        if self.provider and not fnmatchcase(provider, self.provider):
            return False
        if self.description and not fnmatchcase(description, self.description):
            return False
        return all(_has_value(metadata, key, pattern) for key, pattern in self.metadata)


def _has_value(metadata: JsonObject, key: str, pattern: str) -> bool:
    """Whether the value of a key, or one of a list, matches the pattern."""
    value = metadata.get(key)
    if value is None:
        return False
    values = value if isinstance(value, list | tuple) else [value]
    texts = [_text(item) for item in values]
    return any(fnmatchcase(text, pattern) for text in texts)


def _text(value: Any) -> str:
    """A value of metadata as patterns see it: true and false as YAML writes them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Rule(FrozenStruct):
    """A threshold over the cases of one suite that it selects; shares and scores from 0 to 1."""

    name: str
    select: Select = Select()
    min_pass_rate: Annotated[
        float | None,
        Limit(
            "the share of cases that must pass, from 0 to 1",
            "at least {} pass",
            most=1,
            is_minimum=True,
        ),
    ] = None
    min_score: Annotated[
        float | None,
        Limit(
            "the mean score that must be reached",
            "mean score at least {}",
            least=None,
            is_minimum=True,
        ),
    ] = None
    min_cases: Annotated[
        int | None,
        Limit(
            "with fewer graded cases, the rule is inconclusive",
            "at least {}",
            counts="case",
            least=1,
            is_minimum=True,
            decides=False,
        ),
    ] = None
    blocking: bool = True
    every_case: Annotated[
        bool, Meta(description="Each case must pass: the rule of a config without a gate block.")
    ] = False
    by_metric: Annotated[
        bool, Meta(description="The mean score is that of the means of the metrics.")
    ] = False
    scale: Scale = 1
    suite: str = ""
    origin: Origin = NOWHERE
    max_new_failures: Annotated[
        int | None,
        Limit(
            "cases that may fail here and not on the base (`baseline`)",
            "at most {}",
            counts="new failure",
            reads=Earlier.BASELINE,
            decides_alone=True,
        ),
    ] = None
    max_drop: Annotated[
        float | None,
        Limit(
            "the largest drop in the share of passing cases against the base that noise does not explain",
            "no drop of more than {}",
            below=1,
            reads=Earlier.BASELINE,
        ),
    ] = None
    # Of each case, if its test has none; after `with_defaults`, also those of the gate
    runs: Runs | None = None
    max_cost_increase: Annotated[
        float | None,
        Limit(
            "how much more an answer may cost than on the base, beyond noise: 0.2 is 20 %",
            "at most {} more expensive",
            most=10,
            reads=Earlier.BASELINE,
        ),
    ] = None
    max_latency_increase: Annotated[
        float | None,
        Limit(
            "how many seconds longer an answer may take than on the base, beyond noise",
            "at most {} s slower",
            reads=Earlier.BASELINE,
        ),
    ] = None
    is_default: bool = False  # nobody wrote it: the config has no rules, but there is a baseline
    max_flaky: Annotated[
        int | None,
        Limit(
            "cases that may be flaky or broken on the default branch, by the history of the `baseline`",
            "at most {}",
            counts="flaky case",
            reads=Earlier.HISTORY,
        ),
    ] = None

    def limits(self, reads: Earlier | None) -> dict[str, Limit]:
        """The limits that are set and read these earlier results, by their fields. None: those that only read the run."""
        return {
            name: limit
            for name, limit in LIMITS.items()
            if limit.reads is reads and getattr(self, name) is not None
        }

    def selects(
        self, assertion: AssertionTraits, provider: str, description: str, metadata: JsonObject
    ) -> bool:
        """Whether the rule looks at this assertion, for an answer of this target to a case with this name and metadata."""
        if assertion.weight == 0 or (self.blocking and not assertion.blocking):
            return False
        return self.every_case or self.select.matches(
            assertion.type, assertion.metric, provider, description, metadata
        )

    @property
    def has_run_limit(self) -> bool:
        """Whether it limits the run itself, without earlier runs."""
        return self.every_case or any(limit.decides for limit in self.limits(None).values())

    @property
    def has_verdict_limit(self) -> bool:
        """Whether it limits verdicts, and not only cost and latency."""
        return self.has_run_limit or self.has_base_limit

    @property
    def has_base_limit(self) -> bool:
        """Whether it limits verdicts compared with the base."""
        return self.max_new_failures is not None or self.max_drop is not None

    @property
    def needs_baseline(self) -> bool:
        """Whether one of its limits reads a baseline."""
        return bool(self.limits(Earlier.BASELINE))

    @property
    def needs_history(self) -> bool:
        """Whether one of its limits reads the votes of earlier runs."""
        return bool(self.limits(Earlier.HISTORY))


# The limits of a rule by their fields
LIMITS: dict[str, Limit] = {
    name: limit
    for name, annotation in Rule.__annotations__.items()
    for limit in getattr(annotation, "__metadata__", ())
    if isinstance(limit, Limit)
}


def limit_key(name: str) -> str:
    """The key of a limit in a config, from the name of its field: ``min_pass_rate`` is ``min-pass-rate``."""
    return name.replace("_", "-")


class Limits(FrozenStruct):
    """What a run may take: requests to models, US dollars, seconds. None: no limit."""

    calls: int | None = None
    usd: float | None = None
    seconds: float | None = None


NO_LIMITS = Limits()


class LabelsFile(PartlyEqual):
    """Labelled outputs that show whether a grader has moved; ``agreement`` is the config's, None where the file says it."""

    not_compared = ("origin",)
    name: str
    content: bytes
    agreement: float | None = None
    origin: Origin = NOWHERE


class Note(FrozenStruct):
    """Something that the user should know and that does not change the verdict."""

    text: str
    origin: Origin | None = None


class Policy(FrozenStruct):
    """The rules of one suite."""

    rules: tuple[Rule, ...] = ()
    errors: str = "inconclusive"  # or "block" or "ignore"
    errors_up_to: float = 0.0  # the share that is ignored
    weakening: str = "report"  # or "block": what happens when a pull request weakens this gate
    budget: Limits = NO_LIMITS
    # The same answer is graded again; "answers": a new one is asked for; or "off"
    reask: str = "grader"
    noise: float = NOISE  # the share of good answers that the grader fails
    labels: LabelsFile | None = None
    runs: Runs | None = None

    def with_defaults(self, reask: str, has_baseline: bool) -> Self:
        """The policy with ``reask`` of the command line, and with the runs of the gate in each rule without runs.

        With a baseline, a config without rules blocks new failures.
        """
        rules = []
        for rule in self.rules:
            with_runs = replace(rule, runs=rule.runs or self.runs)
            if has_baseline and rule.every_case:
                with_runs = replace(
                    with_runs,
                    every_case=False,
                    name="no new failure",
                    max_new_failures=0,
                    is_default=True,
                )
            rules.append(with_runs)
        return replace(self, reask=reask or self.reask, rules=tuple(rules))


def strictest_budget(budgets: Iterable[Limits]) -> Limits:
    """What all budgets allow: the lowest value of each limit."""
    written = list(budgets)
    lowest: dict[str, Any] = {}
    for name in field_names(Limits):
        values = [getattr(budget, name) for budget in written]
        limits = [value for value in values if value is not None]
        lowest[name] = min(limits, default=None)
    return Limits(**lowest)
