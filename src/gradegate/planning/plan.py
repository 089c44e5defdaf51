"""What a plan is made of: one question to one target, with what is asserted of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gradegate.assertions.grading.bound import Binding, Bound
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
    """Gives the job that is asked once the answers that it fills in are known, by the names under which they are stored."""

    names: tuple[str, ...]
    fill: Callable[[Mapping[str, str]], Job]


class Job(FrozenStruct):
    """One question to one target, asked ``repeats`` times, and what is asserted of each answer."""

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
    definition: bytes = b""  # of what the case gives and asks for
    of_base: bool = False  # asked for comparison; no rule looks at its answers
    recorded_answers: tuple[RecordedAnswer | None, ...] | None = (
        None  # by repetition, where answers made elsewhere are graded
    )
    stores: str = ""  # the name under which its answer is stored for later jobs
    recall: Recall | None = None  # where it uses such answers
    in_order: bool = False  # it stores one, uses one, or tells a conversation beside such jobs
    needs: CaseRuns | None = None  # what its runs are held to, where they are counted together
    ask: int = 0  # which time the same answer is graded: another number makes other requests to the graders

    @property
    def case_name(self) -> str:
        """What reports call its case."""
        return name_case(self.case.description, self.vars, self.number)

    @property
    def bounds(self) -> list[Bound]:
        """What is asserted of each answer, with the members of sets in the place of the sets."""
        return [bound for binding in self.assertions for bound in binding.bounds]

    @property
    def fewest(self) -> int:
        """How many answers settle it at best."""
        if self.needs is None:
            return self.repeats
        whole = self.needs.whole
        return min(whole.passes, whole.of - whole.passes + 1)

    @property
    def ordered_group(self) -> tuple[str, ...] | None:
        """The group of jobs whose answers are had in order: those of a conversation, or of a target where some are stored."""
        return (self.suite, self.target.name) if self.in_order else self.conversation

    @property
    def conversation(self) -> tuple[str, ...] | None:
        """The conversation that its answers are part of, where its prompt tells one.

        A prompt that uses ``_conversation`` sees the answers that its provider gave to it before, in tests of the same
        ``metadata.conversationId``, as in promptfoo.
        """
        if self.render is None:
            return None
        name = str(self.case.metadata.get("conversationId", ""))
        return (self.suite, self.target.name, self.prompt.label, self.prompt.text, name)


class BaseSide(FrozenStruct):
    """What is known of a base whose jobs are asked in the same run: its cases that are gone, and its commit."""

    gone: tuple[str, ...] = ()
    commit: str = ""


class LabelledJobs(FrozenStruct):
    """Labelled outputs, each with whether it passes; graders agreed with that share of labels. ``always``: whatever rules say."""

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
    missing_keys: frozenset[str] = (
        frozenset()
    )  # those that are not set; who needs one is never asked
    about: Mapping[str, JsonObject] = {}  # what dialects keep for reports, by file
    digests: Mapping[str, str] = {}  # SHA-256 of each config, by file
    recorded: Mapping[str, str] = {}  # SHA-256 of each file with recorded answers
    derived: Mapping[str, tuple[DerivedSpec, ...]] = {}  # of each config that has any, by file
    commit: str = ""  # what was checked out, where it is known
    titles: Mapping[str, str] = {}  # descriptions of configs, by file
    options: tuple[str, ...] = ()  # arguments that ask the same again, as `result.Made` has them
    folder: str = ""
    only: str = ""  # what is asked of it, where that is a part
    baseline: Baseline | None = None  # the recorded run that this one is compared with
    labels: LabelledJobs | None = None
    powers: tuple[Power, ...] = ()  # what the rules of all policies cannot see, in order
    on_default_branch: bool = False
    base: BaseSide | None = None  # the other side, where its jobs are among these
    history: History | None = (
        None  # earlier runs of the default branch; None where they are neither read nor written
    )

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
    """What the runs of a job are held to: by its test, else by the rules that look at it, else by the gate; None where nothing says so.

    ``repeat`` is how often the config has it asked. Raises ConfigError with every mistake.
    """
    if not (job.case.runs or policy.runs or any(rule.runs for rule in policy.rules)):
        return None
    own = job.case.runs
    asserted = [binding.asserted for binding in job.assertions] or job.case.assertions
    looking = [
        rule
        for rule in policy.rules
        if any(
            rule.selects(it, job.target.name, job.case.description, job.case.metadata)
            for it in asserted
        )
    ]
    ruled = [rule.runs for rule in looking] or [policy.runs]
    chosen = [own] if own else [runs for runs in ruled if runs]
    if not chosen:
        return None
    if mistakes := [mistake for runs in chosen for mistake in _mistakes(runs, repeat, job)]:
        raise ConfigError(*mistakes)
    whole = max(chosen, key=lambda runs: (runs.of, runs.passes))
    return CaseRuns(whole, repeat or 1, bool(own))


def _mistakes(runs: Runs, repeat: int | None, job: Job) -> Iterator[Mistake]:
    if repeat and runs.of != repeat:
        what = f"`runs` is {runs.passes}/{runs.of}, and `repeat` is {repeat}"
        yield Mistake(what, runs.origin, "leave out one of them")
    elif job.case.recorded and runs.of > 1:
        what = f"the test has a recorded answer, so it cannot have {runs.of} runs"
        yield Mistake(what, job.case.origin, "give it `runs: 1/1`")


def selected_assertions(rule: Rule, job: Job) -> Iterator[Binding]:
    """The assertions of a job that a rule looks at."""
    return (
        it
        for it in job.assertions
        if rule.selects(it.asserted, job.target.name, job.case.description, job.case.metadata)
    )


def grading_models(job: Job) -> Iterator[Provider]:
    """The models that may grade the answers of a job."""
    for bound in job.bounds:
        yield from bound.models.values()
