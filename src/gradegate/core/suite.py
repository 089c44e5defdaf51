"""What a dialect reads: a suite of plain data, frozen, each item with the place that it came from."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from typing import Annotated, Any, NamedTuple, Self

from gradegate.core.conversation import Turn
from gradegate.errors import Mistake, Origin
from gradegate.security.environment import Environment, Use
from gradegate.structs import Likened, Readable, Struct, replace

NOWHERE = Origin("")
NOISE = 0.1  # where the gate does not say
Code = (
    str | Mapping[str, str]
)  # JavaScript: a snippet, or a file that was read, as `file`, `function` and `code`
NOTHING: Mapping[
    str, Any
] = {}  # one for all: each of 100,000 tests has several mappings without anything in them


def nothing() -> Mapping[str, Any]:
    """What a mapping is by default."""
    return NOTHING


ASSERT_SET = "assert-set"  # the type of an assertion that has members instead of a value


class Verbatim(str):
    """Text that is not a template, whatever braces it holds."""

    __slots__ = ()


class ProviderSpec(Likened, frozen=True, eq=False):
    """A model as the config names it."""

    beside = ("places",)
    id: str
    label: str = ""
    config: Mapping[str, Any] = {}
    prompts: tuple[str, ...] = ()  # labels of the prompts to which a target is restricted
    transform: Code = ""  # of each of its answers, where it is a target
    env: Mapping[str, str] = {}  # literals over the environment, for this model alone
    reads: frozenset[Use] = (
        frozenset()
    )  # the variables of the environment that its templates show, and where
    drawn: Mapping[str, frozenset[str]] = {}  # those that each of its literals shows
    origin: Origin = NOWHERE
    places: Mapping[str, Origin] = {}  # of its options
    wrong: Mistake | None = None  # what is said where it is asked

    @property
    def name(self) -> str:
        """The label, or the id where there is none."""
        return self.label or self.id


UNREAD = ProviderSpec(
    ""
)  # in place of a grader that could not be read: what is wrong with it was said

KINDS = (
    "text",
    "embedding",
    "classification",
    "moderation",
)  # what a model gives, and so what it can grade by
Graders = Mapping[str, ProviderSpec]  # the models that may grade, by kind; "*" serves for any kind


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """A prompt template, the label that reports show, and what it sets for the provider that is asked."""

    text: str
    label: str = ""
    origin: Origin = NOWHERE
    # Code of the repository that makes the template of `{vars, provider, config}`; raises ValueError.
    maker: Callable[[Mapping[str, Any]], Any] | None = None
    config: Mapping[str, Any] = field(
        default_factory=dict, hash=False
    )  # over that of the provider, for this prompt


class Held:
    """What the type, weight and blocking of an assertion come to, written, planned, graded or kept of a base."""

    __slots__ = ()
    type: str
    weight: float
    blocking: bool
    metric: str

    @property
    def negated(self) -> bool:
        """Whether the type starts with ``not-``."""
        return self.type.startswith("not-")

    @property
    def counts(self) -> bool:
        """Whether its grades take part in deciding: it blocks, and it has weight."""
        return self.blocking and self.weight != 0


class Assertion(Held, Struct, frozen=True):
    """One assertion as written. ``type`` keeps its ``not-``; ``members`` belong to an assert-set."""

    type: str
    value: Any = None
    threshold: float | None = None
    weight: float = 1.0
    metric: str = ""
    blocking: bool = True
    graders: Graders = {}
    rubric_prompt: Any = None
    config: Mapping[str, Any] = {}
    transform: Code = ""  # of the answer, for this assertion alone
    context_transform: Code = ""
    model_slug: str = (
        ""  # the grader's model by its bare name: --grader says which provider serves it
    )
    members: "tuple[Assertion, ...]" = ()
    score_only: bool = False  # `threshold: none`: its score is reported, and never held to anything
    confirm: str = ""  # how its failures are asked again; empty where the gate says it
    second_opinions: tuple[ProviderSpec, ...] = ()
    origin: Origin = NOWHERE

    def specs(self) -> Iterator[ProviderSpec]:
        """Every model that the assertion names, those of its members too."""
        yield from self.graders.values()
        yield from self.second_opinions
        for member in self.members:
            yield from member.specs()


class CaseOptions(Struct, frozen=True):
    """What a test sets for all its assertions."""

    graders: Graders = {}
    rubric_prompt: Any = None
    settings: Mapping[str, Any] = {}  # e.g. factuality: {subset: 0.5}
    expand_vars: bool = True
    default_assertions: bool = True
    prefix: str = ""
    suffix: str = ""
    repeat: int | None = None
    transform: Code = ""  # of each answer, before anything is asserted of it
    transform_vars: Code = ""


NO_OPTIONS = CaseOptions()


class Runs(Likened, frozen=True, eq=False):
    """How many runs of a case must pass: ``passes`` of ``of``, which is 0 where ``repeat`` alone says how many there are."""

    beside = ("origin",)
    of: int
    passes: int
    origin: Origin = NOWHERE

    def unmeetable(self) -> list[Mistake]:
        """A mistake where more must pass than there are."""
        what = f"`pass` of `runs` is {self.passes}, and `of` is {self.of}"
        return (
            [Mistake(what, self.origin, "let at most as many pass as there are runs")]
            if 0 < self.of < self.passes
            else []
        )

    def under(self, gate: Self | None) -> Self:
        """The same, with the ``of`` of the gate where it has none."""
        return replace(self, of=self.of or (gate.of if gate else 0))

    def milder(self, other: Self) -> bool:
        """Whether fewer runs must pass than by another one, or a smaller share of them."""
        return self.passes < other.passes or self.passes * other.of < other.passes * self.of


class CaseRuns(NamedTuple):
    """What the runs of one case are held to: as a ``whole``, and by rules that say nothing of runs, to whom each of ``plain`` counts."""

    whole: Runs
    plain: int = 1  # how often `repeat` has it asked
    own: bool = False  # the test says it, so that it holds for every rule


class Quarantine(NamedTuple):
    """A test that is known to be flaky: until that day its failures only advise."""

    until: date
    days: int  # that are left of it; below 0, it is over


class Case(Struct, frozen=True):
    """One test: its variables and what is asserted of every answer to it."""

    description: str = ""
    vars: Mapping[str, Any] = {}
    assertions: tuple[Assertion, ...] = ()
    options: CaseOptions = NO_OPTIONS
    threshold: float | None = None
    scoring: Code = ""  # makes the score and the outcome of its answers from their grades
    providers: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    target: ProviderSpec | None = None  # asked in place of the suite's targets
    output: str | None = None  # a recorded answer: the target is not asked
    turns: tuple[Turn, ...] = ()
    metadata: Mapping[str, Any] = {}
    runs: Runs | None = None
    quarantine: Quarantine | None = None
    origin: Origin = NOWHERE

    @property
    def recorded(self) -> bool:
        """Whether the case brings what is graded, so that no target is asked."""
        return self.output is not None or (
            bool(self.turns) and any(turn.role == "assistant" for turn in self.turns)
        )


class Select(Struct, frozen=True):
    """Which grades a rule looks at; an empty pattern takes everything. Patterns are globs."""

    assertion: str = ""
    metric: str = ""
    provider: str = ""
    description: str = ""

    def takes(self, assertion: str, metric: str, provider: str, description: str) -> bool:
        """Whether a grade with these properties is selected."""
        return (  # spelled out, because a hundred rules may look at each of 100,000 grades
            (not self.assertion or fnmatchcase(assertion, self.assertion))
            and (not self.metric or fnmatchcase(metric, self.metric))
            and (not self.provider or fnmatchcase(provider, self.provider))
            and (not self.description or fnmatchcase(description, self.description))
        )


class Rule(Struct, frozen=True):
    """A threshold on the selected grades of one suite; shares and scores from 0 to 1."""

    name: str
    select: Select = Select()
    min_pass_rate: float | None = None
    min_score: float | None = None
    min_cases: int | None = None  # fewer that passed or failed are too few to tell
    confidence: float | None = None  # the pass rate's interval decides, for cases that are a sample
    blocking: bool = True
    every_case: Annotated[
        bool, "Each case must pass: the rule of a config without a gate block."
    ] = False
    by_metric: Annotated[bool, "The mean score is that of the means of the metrics."] = False
    scale: Annotated[int, "People see scores times this."] = 1
    suite: str = ""
    origin: Origin = NOWHERE
    max_new_failures: int | None = None  # cases that fail here and not on the base
    max_drop: float | None = None  # of the share of cases that pass, against the base
    runs: Runs | None = (
        None  # of each case, where its test does not say it; from `held` on, those of the gate are in it
    )
    max_cost_increase: float | None = None  # of the dollars of an answer, as a share of the base's
    max_latency_increase: float | None = None  # of an answer, in seconds

    def selects(self, assertion: Held, provider: str, description: str) -> bool:
        """Whether it looks at this assertion, for an answer by this target to the case of this name."""
        if assertion.weight == 0 or (self.blocking and not assertion.blocking):
            return False
        return self.every_case or self.select.takes(
            assertion.type, assertion.metric, provider, description
        )

    @property
    def counts(self) -> str:
        """What it counts: whole cases, as where a case has several runs, or assertions."""
        return "case" if self.every_case or self.runs else "assertion"

    @property
    def own(self) -> bool:
        """Whether it asks something of the run itself."""
        return self.every_case or self.min_pass_rate is not None or self.min_score is not None

    @property
    def judges(self) -> bool:
        """Whether it looks at verdicts, and not at cost and latency alone."""
        return self.own or self.beside_base

    @property
    def beside_base(self) -> bool:
        """Whether it compares with the base."""
        return self.max_new_failures is not None or self.max_drop is not None


class Limits(Readable, frozen=True):
    """What a run may take: requests to models, US dollars, seconds. None: no limit."""

    calls: int | None = None
    usd: float | None = None
    seconds: float | None = None


NO_LIMITS = Limits()


class SentinelFile(Likened, frozen=True, eq=False):
    """Labelled outputs that show whether a grader has moved; ``agreement`` is the config's, None where the file says it."""

    beside = ("origin",)
    name: str
    content: bytes
    agreement: float | None = None
    origin: Origin = NOWHERE


class Note(Struct, frozen=True):
    """Something that the user should know and that does not change the verdict."""

    text: str
    origin: Origin | None = None


class Policy(Likened, frozen=True, eq=False):
    """The rules of one suite."""

    beside = ("preset",)
    rules: tuple[Rule, ...] = ()
    errors: str = "inconclusive"  # or "block" or "ignore"
    errors_up_to: float = 0.0  # the share that is ignored
    changes: str = "report"  # or "block": what a pull request comes to that changes its own gate
    budget: Limits = NO_LIMITS
    confirm: str = (
        "grader"  # the same answer is graded again; "answers": a new one is asked for; or "off"
    )
    noise: float = NOISE  # the share of good answers that the grader fails
    second_opinions: tuple[ProviderSpec, ...] = ()  # grade the re-asks, in turn
    sentinels: SentinelFile | None = None
    compare: str = ""  # "base": the answers of the base are asked for in the same run
    runs: Runs | None = None
    preset: Note | None = None  # the keys that a preset brought, for people

    def held(self, confirm: str, runs: Runs | None) -> Self:
        """The policy with what the command line says, and the runs of the gate in each rule that has none, or no ``of``."""
        given = runs or self.runs
        rules = (
            replace(rule, runs=rule.runs.under(given) if rule.runs else given)
            for rule in self.rules
        )
        over = [f"confirm: {confirm}"] * bool(confirm) + (
            [f"runs: {{of: {runs.of}, pass: {runs.passes}}}"] if runs else []
        )
        preset = self.preset and replace(self.preset, text=", but ".join([self.preset.text, *over]))
        return replace(
            self, confirm=confirm or self.confirm, runs=given, rules=tuple(rules), preset=preset
        )


class DerivedSpec(Struct, frozen=True):
    """A metric that is worked out of the sums of others: by an expression as mathjs has them, or a function."""

    name: str
    value: Code
    origin: Origin = NOWHERE


class Idle(NamedTuple):
    """A key of a config that means nothing where it stands."""

    key: str
    origin: Origin


class Suite(Struct, frozen=True):
    """One config file, read."""

    file: str
    description: str = ""
    prompts: tuple[PromptSpec, ...] = ()
    targets: tuple[ProviderSpec, ...] = ()
    others: tuple[
        ProviderSpec, ...
    ] = ()  # configured and not asked: a grader may name one by its id or label
    targetless: Mistake | None = None  # what is wrong where nobody else names a target
    cases: tuple[Case, ...] = ()
    policy: Policy = Policy()
    graders: Graders = {}  # of defaultTest
    given: Graders = {}  # of the command line: stronger than those of defaultTest
    env: Environment = Environment()
    max_concurrency: int | None = None
    repeat: int | None = None
    timeout: float | None = None  # seconds per call
    derived: tuple[DerivedSpec, ...] = ()
    about: Mapping[str, Any] = {}  # what the dialect keeps for a report of its own
    notes: tuple[Note, ...] = ()
    idle: tuple[Idle, ...] = ()  # keys that mean nothing, which one note names
    mistakes: tuple[
        Mistake, ...
    ] = ()  # what could not be read; the rest is planned all the same, to find more

    def specs(self) -> Iterator[ProviderSpec]:
        """Every model that the suite names: targets, what prompts set for them, graders of every level, and the members of sets."""
        yield from (*self.targets, *self.others)
        yield from (
            ProviderSpec("", config=prompt.config) for prompt in self.prompts if prompt.config
        )
        yield from (*self.graders.values(), *self.given.values())
        yield from self.policy.second_opinions
        for case in self.cases:
            yield from case.options.graders.values()
            yield from ([case.target] if case.target else [])
            for assertion in case.assertions:
                yield from assertion.specs()
