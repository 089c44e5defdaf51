"""A config file as data, whatever its dialect: a suite with its cases. Each item knows the place that it came from."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from gradegate.core.assertion import Assertion
from gradegate.core.conversation import Turn, Variables
from gradegate.core.policy import Note, Policy, Quarantine, Runs
from gradegate.core.provider_spec import NOWHERE, Code, Graders, PromptSpec, ProviderSpec
from gradegate.errors import Mistake, Origin
from gradegate.security.environment import Environment
from gradegate.structs import FrozenStruct, JsonObject


class CaseOptions(FrozenStruct):
    """What a test sets for all its assertions."""

    graders: Graders = {}
    rubric_prompt: Any = None
    settings: JsonObject = {}  # e.g. factuality: {subset: 0.5}
    expand_vars: bool = True
    default_assertions: bool = True
    prefix: str = ""
    suffix: str = ""
    repeat: int | None = None
    transform: Code = ""  # of each answer, before anything is asserted of it
    transform_vars: Code = ""


NO_OPTIONS = CaseOptions()


class Case(FrozenStruct):
    """One test: its variables and what is asserted of every answer to it."""

    description: str = ""
    vars: Variables = {}
    assertions: tuple[Assertion, ...] = ()
    options: CaseOptions = NO_OPTIONS
    threshold: float | None = None
    providers: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    target: ProviderSpec | None = None  # asked in place of the suite's targets
    output: str | None = None  # a recorded answer: the target is not asked
    turns: tuple[Turn, ...] = ()
    metadata: JsonObject = {}
    runs: Runs | None = None
    quarantine: Quarantine | None = None
    origin: Origin = NOWHERE

    @property
    def is_recorded(self) -> bool:
        """Whether the case contains the answer, so that no target is asked."""
        return self.output is not None or any(turn.role == "assistant" for turn in self.turns)


class DerivedSpec(FrozenStruct):
    """A metric that JavaScript computes from the sums of other metrics: an expression or a function."""

    name: str
    value: Code
    origin: Origin = NOWHERE


class Idle(NamedTuple):
    """A key of a config that has no meaning at its place."""

    key: str
    origin: Origin


class Suite(FrozenStruct):
    """One config file, read."""

    file: str
    description: str = ""
    prompts: tuple[PromptSpec, ...] = ()
    targets: tuple[ProviderSpec, ...] = ()
    # Configured and not asked: a grader may name one by its id or label
    unused_targets: tuple[ProviderSpec, ...] = ()
    targetless: Mistake | None = (
        None  # what is wrong if neither a test nor an option names a target
    )
    cases: tuple[Case, ...] = ()
    policy: Policy = Policy()
    graders: Graders = {}  # of defaultTest
    option_graders: Graders = {}  # of the command line: stronger than those of defaultTest
    env: Environment = Environment()
    max_concurrency: int | None = None
    repeat: int | None = None
    timeout: float | None = None  # seconds per call
    derived: tuple[DerivedSpec, ...] = ()
    about: JsonObject = {}  # what the dialect keeps for a report of its own
    notes: tuple[Note, ...] = ()
    idle: tuple[Idle, ...] = ()  # keys that mean nothing, which one note names
    # What could not be read; the rest is planned all the same, to find more
    mistakes: tuple[Mistake, ...] = ()

    @property
    def all_targets(self) -> tuple[ProviderSpec, ...]:
        """The targets of the config, asked or not."""
        return (*self.targets, *self.unused_targets)

    @property
    def reading_mistakes(self) -> list[Mistake]:
        """The mistakes for which something could not be read."""
        return [mistake for mistake in self.mistakes if not mistake.missing]

    @property
    def missing_variables(self) -> list[Mistake]:
        """The mistakes about variables that templates need and that are not set."""
        mistakes = [mistake for mistake in self.mistakes if mistake.missing]
        for spec in self.provider_specs():
            mistakes += spec.missing
        return mistakes

    def provider_specs(self) -> Iterator[ProviderSpec]:
        """Everything that the suite says about models: targets, options that a prompt sets for them, and graders of every level."""
        yield from self.all_targets
        for prompt in self.prompts:
            if prompt.config:
                # For whichever target is asked with this prompt, so there is no id.
                yield ProviderSpec("", config=prompt.config)

        yield from self.graders.values()
        yield from self.option_graders.values()
        for case in self.cases:
            yield from case.options.graders.values()
            if case.target:
                yield case.target
            for assertion in case.assertions:
                yield from assertion.provider_specs()
