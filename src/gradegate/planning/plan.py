"""A plan and its jobs: each job is one question to one target, with the assertions about its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gradegate.assertions.grading.bound import Binding, BoundAssertion, BoundSet
from gradegate.core.assertion import Assertion, AssertionTraits
from gradegate.core.conversation import Variables
from gradegate.core.policy import CaseRuns, Note, Policy, Rule, Runs
from gradegate.core.provider_spec import PromptSpec
from gradegate.core.suite import Case, DerivedSpec
from gradegate.errors import ConfigError, Mistake
from gradegate.providers.api.provider import Provider
from gradegate.recordings.parsing.recorded_answer import RecordedAnswer
from gradegate.results.accounts import AskedModel, KeyUse
from gradegate.results.baseline import Baseline
from gradegate.results.history import History
from gradegate.results.rows import name_case
from gradegate.results.run_result import Power
from gradegate.structs import FrozenStruct, JsonObject

Render = Callable[[Sequence[Any]], str]


class Recall(FrozenStruct):
    """Fills stored answers into a job: ``fill`` takes them by the ``names`` under which they are stored."""

    names: tuple[str, ...]
    fill: Callable[[Mapping[str, str]], Job]


class Job(FrozenStruct):
    """One question to one target, asked ``repeats`` times, with the assertions about each answer."""

    suite: str
    case: Case
    number: int  # jobs with the same number are answers to the same case
    repeats: int
    target: Provider
    prompt: PromptSpec
    text: str  # the prompt, filled in
    vars: Variables
    assertions: tuple[Binding, ...]
    # Fills the prompt in once more, with the conversation so far; None when the prompt does not use it.
    render: Render | None = None
    definition: bytes = b""  # a digest of the case without its assertions
    of_base: bool = False  # asked for comparison; no rule looks at its answers
    # One for each repetition, if answers made elsewhere are graded
    recorded_answers: tuple[RecordedAnswer | None, ...] | None = None
    stores: str = ""  # the name under which its answer is stored for later jobs
    recall: Recall | None = None  # if it uses stored answers
    in_order: bool = (
        False  # it stores or uses answers, or is a turn of a conversation next to such jobs
    )
    needs: CaseRuns | None = None  # how many of its runs must pass, if they count together
    ask: int = 0  # how often the same answer was graded before; requests to graders differ by it

    @property
    def case_name(self) -> str:
        """The name of the case in reports."""
        return name_case(self.case.description, self.vars, self.number)

    @property
    def bounds(self) -> list[BoundAssertion]:
        """The assertions about each answer, with the members of sets in place of the sets."""
        return [bound for binding in self.assertions for bound in binding.members]

    @property
    def graded_bindings(self) -> list[Binding]:
        """What each grade of an answer is about, in the order of the grades: a set comes before its members."""
        bindings: list[Binding] = []
        for binding in self.assertions:
            if isinstance(binding, BoundSet):
                bindings.append(binding)
            bindings += binding.members
        return bindings

    @property
    def fewest(self) -> int:
        """The fewest answers that can decide it."""
        if self.needs is None:
            return self.repeats
        whole = self.needs.whole
        return min(whole.passes, whole.of - whole.passes + 1)

    @property
    def ordered_group(self) -> tuple[str, ...] | None:
        """Names the jobs that are asked one after another: a conversation, or the jobs of a target with stored answers."""
        return (self.suite, self.target.name) if self.in_order else self.conversation

    @property
    def conversation(self) -> tuple[str, ...] | None:
        """Names the conversation that its prompt continues; None if the prompt uses none.

        As in promptfoo, a prompt with ``_conversation`` sees the earlier answers of its provider, in tests with the same
        ``metadata.conversationId``.
        """
        if self.render is None:
            return None
        name = str(self.case.metadata.get("conversationId", ""))
        return (self.suite, self.target.name, self.prompt.label, self.prompt.text, name)


class BaseSide(FrozenStruct):
    """The base whose jobs are asked in the same run: the names of its cases that are gone, and its commit."""

    gone: tuple[str, ...] = ()
    commit: str = ""


class LabelledJobs(FrozenStruct):
    """Jobs for labelled outputs, each with whether its label says "pass".

    ``agreement`` is the share of labels that graders agreed with before. ``always``: grade them even if no rule needs it.
    """

    jobs: tuple[tuple[Job, bool], ...]
    agreement: float
    always: bool = False


class Plan(FrozenStruct):
    """All jobs in order; ``concurrency`` is how many calls may be in flight at once."""

    jobs: tuple[Job, ...]
    policies: tuple[Policy, ...]
    concurrency: int
    notes: tuple[Note, ...] = ()
    models: tuple[AskedModel, ...] = ()
    keys: tuple[KeyUse, ...] = ()  # which variables of the environment go where
    # Variables that are not set; models that need one are never asked
    missing_keys: frozenset[str] = frozenset()
    about: Mapping[str, JsonObject] = {}  # what dialects keep for reports, by file
    digests: Mapping[str, str] = {}  # SHA-256 of each config, by file
    recorded: Mapping[str, str] = {}  # SHA-256 of each file with recorded answers
    derived: Mapping[str, tuple[DerivedSpec, ...]] = {}  # of each config that has any, by file
    commit: str = ""  # of the checkout, if known
    titles: Mapping[str, str] = {}  # descriptions of configs, by file
    options: tuple[str, ...] = ()  # arguments of ``gradegate run`` that repeat this run
    folder: str = ""  # where that command is started, relative to the root of the repository
    only: str = ""  # a sentence on which part of the configs is asked, if not all
    baseline: Baseline | None = None  # the recorded run that this one is compared with
    labels: LabelledJobs | None = None
    # The smallest changes that the rules of all policies notice, in order
    powers: tuple[Power, ...] = ()
    on_default_branch: bool = False
    base: BaseSide | None = None  # if jobs of the base are among the jobs
    # Earlier runs of the default branch; None if they are neither read nor written
    history: History | None = None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of all policies, in order."""
        return tuple(rule for policy in self.policies for rule in policy.rules)

    @property
    def answers(self) -> int:
        """How many answers are planned."""
        return sum(job.repeats for job in self.jobs)

    @property
    def assertions(self) -> int:
        """How many assertions of answers are planned; a set is one."""
        return sum(job.repeats * len(job.assertions) for job in self.jobs)


# --- what runs are held to ------------------------------------------------------------------------------------


def runs_required(job: Job, policy: Policy, repeat: int | None) -> CaseRuns | None:
    """How many runs of a case must pass; None if neither its test nor the gate says so.

    ``repeat`` is how often the config asks the case. Raises ConfigError with every mistake.
    """
    case = job.case
    # The test wins over a rule, and a rule over the gate.
    candidates = [case.runs] if case.runs else _runs_of_gate(job, policy)
    if not candidates:
        return None

    mistakes: list[Mistake] = []
    for runs in candidates:
        mistakes += _runs_mistakes(runs, repeat, case)
    if mistakes:
        raise ConfigError(*mistakes)

    # The case runs as often as the largest number needs.
    whole = max(candidates, key=lambda runs: (runs.of, runs.passes))
    return CaseRuns(whole, plain=repeat or 1, is_from_test=case.runs is not None)


def _runs_of_gate(job: Job, policy: Policy) -> list[Runs]:
    """The runs of the rules that select the case: none if these rules ask for no runs. Those of the gate if no rule selects it."""
    if policy.runs is None and not any(rule.runs for rule in policy.rules):
        return []
    assertions = [binding.assertion for binding in job.assertions] or job.case.assertions

    def selects_case(rule: Rule) -> bool:
        return any(selects(rule, job, assertion) for assertion in assertions)

    candidates = [rule.runs for rule in policy.rules if selects_case(rule)]
    if not candidates:
        candidates = [policy.runs]
    return [runs for runs in candidates if runs]


def _runs_mistakes(runs: Runs, repeat: int | None, case: Case) -> Iterator[Mistake]:
    if repeat and runs.of != repeat:
        what = f"`runs` is {runs.passes}/{runs.of}, and `repeat` is {repeat}"
        yield Mistake(what, runs.origin, "leave out one of them")
    elif case.is_recorded and runs.of > 1:
        what = f"the test has a recorded answer, so it cannot have {runs.of} runs"
        yield Mistake(what, case.origin, "give it `runs: 1/1`")


# --- what rules and graders look at -----------------------------------------------------------------------------


def with_members(assertions: Iterable[Assertion]) -> Iterator[Assertion]:
    """The assertions of a config, each set followed by its members."""
    for assertion in assertions:
        yield assertion
        yield from with_members(assertion.members)


def selects(rule: Rule, job: Job, assertion: AssertionTraits) -> bool:
    """Whether a rule looks at this assertion of a job."""
    return rule.selects(assertion, job.target.name, job.case.description, job.case.metadata)


def selected_assertions(rule: Rule, job: Job) -> Iterator[Binding]:
    """The assertions of a job that a rule looks at."""
    return (binding for binding in job.assertions if selects(rule, job, binding.assertion))


def grading_models(job: Job) -> Iterator[Provider]:
    """The models that may grade the answers of a job."""
    for bound in job.bounds:
        yield from bound.models.values()
