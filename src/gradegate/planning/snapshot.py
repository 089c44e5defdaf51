"""Reduces a plan to a snapshot of what it checks, so that the gates of two checkouts can be compared.

A snapshot has the *terms* of each answer, grade and model: what decides about them. Long texts and values that may be
secrets are digests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from pydantic.alias_generators import to_camel

from gradegate.assertions.grading.bound import NEVER_REASK, Binding, BoundAssertion
from gradegate.config.load import SuiteFile
from gradegate.core.assertion import AssertionTraits
from gradegate.core.policy import Policy, Runs
from gradegate.core.provider_spec import NOWHERE, Code
from gradegate.errors import Origin
from gradegate.planning.identity import digest, grade_terms
from gradegate.planning.plan import Job, Plan
from gradegate.providers.api.provider import Provider
from gradegate.structs import FrozenStruct, JsonObject, PartlyEqual, replace
from gradegate.templating.script import may_read
from gradegate.templating.template import show_value

RECORDED = "recorded"  # the source of an answer that the config brings
NO_PROMPT = -1  # the number of the prompt of a recorded answer that answers none
_NESTED = ("headers", "passthrough", "queryParams")  # options whose own keys are worth a name


def snapshot_plan(plan: Plan, suite_files: Sequence[SuiteFile]) -> list[GateSnapshot]:
    """A snapshot of each config of a plan. A config that is named twice has one snapshot, with the jobs of both."""
    jobs_by_file = defaultdict(list)
    for job in plan.jobs:
        jobs_by_file[job.suite].append(job)
    configs_by_file = defaultdict(list)
    for config in suite_files:
        configs_by_file[config.suite.file].append(config)
    return [
        _snapshot_config(configs, jobs_by_file[file]) for file, configs in configs_by_file.items()
    ]


class GateSnapshot(FrozenStruct):
    """What one config checks."""

    file: str
    digest: str  # of the file
    policies: tuple[Policy, ...]
    env: Mapping[str, bytes]  # digests of the variables in its `env`
    apart: Mapping[str, bytes]  # digests of other keys that steer a run
    prompts: tuple[str, ...]  # labels
    targets: tuple[ModelTerms, ...]
    answers: Iterable[AnswerTerms]  # read one by one, because a plan may have 100,000


# What an answer depends on beside its question and its assertions, as a finding says that it changed.
APART = (
    "its `prefix`, `suffix` or `transform` changed",
    "the conversation before it changed",
    "what it is compared with, or how, changed",
    "the target or prompt settings that its code reads changed",
)


class AnswerTerms(PartlyEqual):
    """One planned answer to a question. ``target`` and ``prompt`` are numbers in the suite."""

    not_compared = ("description", "metadata", "name", "origin")
    question: CaseInput
    target: int
    prompt: int
    recorded: bytes  # a digest of the answer that the config brings; empty if the target is asked
    apart: tuple[bytes, ...]  # a digest for each of ``APART``
    runs: Runs  # each repetition of a case without `runs` must pass
    cases: int  # how many cases rules count: each repetition is one; all runs of a case together are one
    threshold: float | None
    grades: tuple[GradeTerms, ...]
    quarantine: date | None = None
    description: str = ""
    metadata: JsonObject = {}
    name: str = ""  # of the case
    origin: Origin = NOWHERE


class CaseInput(NamedTuple):
    """A question without its prompt: sorted digests of the variables, and a digest of the user's turns."""

    variables: tuple[bytes, ...]
    turns: bytes


class GradeTerms(AssertionTraits, PartlyEqual):
    """One planned grade: its terms, with digests of texts, and what else the comparison looks at."""

    not_compared = ("mode", "origin")
    type: str
    value: bytes
    options: bytes
    rubric: bytes
    metric: str
    limit: float | None
    weight: float
    blocking: bool
    most: bool = False  # a score above the limit fails
    others: tuple[tuple[str, bytes], ...] = ()  # digests of other fields, by their keys
    models: tuple[tuple[str, ModelTerms], ...] = ()
    reask: str = ""  # how the assertion itself says that its failures are re-asked
    mode: str = "off"  # how they are re-asked, whoever says so
    members: tuple[GradeTerms, ...] = ()
    origin: Origin = NOWHERE


class ModelTerms(PartlyEqual):
    """A target or grader."""

    not_compared = ("origin",)
    id: str
    name: str
    host: str
    source: str  # where its replies come from, or ``RECORDED``
    options: tuple[tuple[str, bytes], ...]  # digests by name, sorted
    origin: Origin = NOWHERE


def _snapshot_config(configs: Sequence[SuiteFile], jobs: Sequence[Job]) -> GateSnapshot:
    """A snapshot of one config, which may be named several times. ``jobs`` are all of its jobs."""
    # An answer has the number of its target, in the order of the jobs, and the number of its prompt, in the order of the
    # config. Only prompts that are asked have a number.
    targets = {id(job.target): job.target for job in jobs}
    target_numbers = _number_ids(targets.values())
    asked_ids = {id(job.prompt) for job in jobs}
    prompts = []
    for config in configs:
        prompts += [prompt for prompt in config.suite.prompts if id(prompt) in asked_ids]
    prompt_numbers = _number_ids(prompts)

    reader = _JobReader(jobs)

    def read_answers() -> Iterator[AnswerTerms]:
        for job in jobs:
            target = target_numbers[id(job.target)]
            prompt = prompt_numbers.get(id(job.prompt), NO_PROMPT)
            yield reader.answer_terms(job, target, prompt)

    suite = configs[0].suite
    derived = [[spec.name, spec.value] for spec in suite.derived]
    return GateSnapshot(
        file=suite.file,
        digest=configs[0].digest,
        policies=tuple(config.suite.policy for config in configs),
        env={name: digest(text) for name, text in suite.env.literals.items()},
        apart={
            "evaluateOptions.timeoutMs": digest(suite.timeout),
            "derivedMetrics": digest(derived),
        },
        prompts=tuple(prompt.label for prompt in prompts),
        targets=tuple(reader.model_terms(target) for target in targets.values()),
        answers=read_answers(),
    )


def _number_ids(things: Iterable[object]) -> dict[int, int]:
    """The number of each thing, by its identity."""
    return {id(thing): number for number, thing in enumerate(things)}


class _JobReader:
    """Reads jobs in order. What the answers to one case share is read once."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._comparisons = _comparison_digests(jobs)
        self._conversations: dict[tuple[str, ...], bytes] = {}  # digests of all turns so far
        self._models: dict[int, ModelTerms] = {}
        # Of the job before: the assertions with their terms, and the variables and turns with the question
        self._last_grades: tuple[object, tuple[GradeTerms, ...]] = (None, ())
        self._last_question: tuple[object, object, CaseInput] = (None, None, CaseInput((), b""))

    def answer_terms(self, job: Job, target: int, prompt: int) -> AnswerTerms:
        """The terms of a job's answer. ``target`` and ``prompt`` are their numbers in the suite."""
        case = job.case
        question = self._question(job)
        recorded = b""
        if case.is_recorded:
            turns = [turn for turn in case.turns if turn.role == "assistant"]
            recorded = digest([case.output, turns])

        shaping_options = [case.options.prefix, case.options.suffix, case.options.transform]
        shaping = digest(shaping_options) if any(shaping_options) else b""

        # The next turn of a conversation depends on this one.
        conversation = b""
        group = job.ordered_group
        if group is not None:
            conversation = self._conversations.get(group, b"")
            turn = [question.variables, question.turns, recorded, job.stores]
            self._conversations[group] = digest([conversation, *turn])

        # A case with `runs` is one case. Otherwise each repetition is one, and must pass.
        runs = Runs(job.repeats, job.repeats)
        cases = job.repeats
        if job.needs:
            runs = job.needs.whole
            cases = 1
        return AnswerTerms(
            question=question,
            target=target,
            prompt=prompt,
            recorded=recorded,
            apart=(
                shaping,
                conversation,
                self._comparisons.get(job.number, b""),
                _settings_read_by_code(job),
            ),
            runs=runs,
            cases=cases,
            threshold=case.threshold,
            grades=self._grades(job),
            quarantine=case.quarantine.until if case.quarantine else None,
            description=case.description,
            metadata=case.metadata,
            name=job.case_name,
            origin=case.origin,
        )

    def _grades(self, job: Job) -> tuple[GradeTerms, ...]:
        """The terms of a job's assertions, which the jobs of one case share."""
        assertions, terms = self._last_grades
        if assertions is not job.assertions:
            terms = tuple(self._grade_terms(binding) for binding in job.assertions)
            self._last_grades = (job.assertions, terms)
        return terms

    def _question(self, job: Job) -> CaseInput:
        variables, turns, question = self._last_question
        if variables is job.vars and turns is job.case.turns:
            return question
        # A number counts as the text that prompts show: in a table of tests, numbers are texts.
        digests = []
        for name, value in job.vars.items():
            is_number = isinstance(value, int | float) and abs(value) < 1e15
            digests.append(digest((name, show_value(value) if is_number else value)))
        user_turns = [turn for turn in job.case.turns if turn.role != "assistant"]
        turns_digest = digest(user_turns) if user_turns else b""
        question = CaseInput(tuple(sorted(digests)), turns_digest)
        self._last_question = (job.vars, job.case.turns, question)
        return question

    def _grade_terms(self, binding: Binding) -> GradeTerms:
        terms = grade_terms(binding)
        asserted = binding.assertion
        fields = binding.other_fields
        digests = [(to_camel(name), digest(value)) for name, value in fields.items()]

        # An assertion has models and a way to be re-asked; a set has members.
        reask = NEVER_REASK
        models = []
        members = []
        at_most = False
        if isinstance(binding, BoundAssertion):
            reask = binding.reask
            at_most = binding.evaluator.scoring.at_most
            for need, provider in sorted(binding.models.items()):
                models.append((need, self._grader_terms(provider)))
        else:
            members = [self._grade_terms(member) for member in binding.members]
            # The order of members means nothing. Both sides are read in one process, so hashes can be compared.
            members.sort(key=hash)

        return GradeTerms(
            type=terms.type,
            value=b"" if terms.value is None else digest(terms.value),
            options=digest(terms.options),
            rubric=digest(terms.rubric) if terms.rubric else b"",
            metric=asserted.metric,
            others=tuple(digests),
            limit=terms.limit,
            weight=terms.weight,
            blocking=asserted.blocking,
            most=at_most,
            models=tuple(models),
            reask=reask.mode if reask.is_explicit else "",
            mode=reask.mode,
            members=tuple(members),
            origin=asserted.origin,
        )

    def model_terms(self, provider: Provider) -> ModelTerms:
        """The terms of a target or grader, read once."""
        if id(provider) in self._models:
            return self._models[id(provider)]
        spec = provider.spec
        if spec is None:
            return ModelTerms(RECORDED, provider.name, "", RECORDED, ())

        options = {}  # values by name
        for name, value in spec.config.items():
            if name in _NESTED and isinstance(value, Mapping):
                for key, item in value.items():
                    options[f"{name}.{key}"] = item
            else:
                options[name] = value
        for name, text in spec.env.items():
            options[f"env.{name}"] = text
        if spec.transform:
            options["transform"] = spec.transform
        if provider.files_digest:
            options["its file"] = provider.files_digest

        digests = [(name, digest(value)) for name, value in options.items()]
        terms = ModelTerms(
            id=spec.id,
            name=spec.name,
            host=provider.host,
            source=provider.replies_from,
            options=tuple(sorted(digests)),
            origin=spec.origin,
        )
        self._models[id(provider)] = terms
        return terms

    def _grader_terms(self, provider: Provider) -> ModelTerms:
        """The terms of a grader. Its code decides, if it is code of the repository; a target's code is what is tested."""
        terms = self.model_terms(provider)
        if not provider.code:
            return terms
        options = (*terms.options, ("its code", digest(provider.code)))
        return replace(terms, options=tuple(sorted(options)))


def _comparison_digests(jobs: Sequence[Job]) -> dict[int, bytes]:
    """By the number of a case with compared answers: a digest of what decides which answer is the best."""
    competitors: dict[int, list[str]] = {}
    for job in jobs:
        if not any(binding.is_comparison for binding in job.assertions):
            continue
        assertions = []
        for binding in job.assertions:
            if not binding.is_comparison:
                asserted = binding.assertion
                terms = [asserted.type, asserted.value, asserted.weight, asserted.metric]
                assertions.append(terms)
        competitor = digest([job.target.id, job.target.name, assertions])
        competitors.setdefault(job.number, []).append(competitor.hex())
    return {number: digest(sorted(digests)) for number, digests in competitors.items()}


class _Snippet(NamedTuple):
    """Code of a config."""

    code: Code
    is_python: bool = False

    def reads(self, name: str) -> bool:
        """Whether the code may read a name of its context."""
        return bool(self.code) and may_read(self.code, name, python=self.is_python)


def _settings_read_by_code(job: Job) -> bytes:
    """A digest of what code of the config reads of the target and the prompt, which may change without the code."""
    target_transform = job.target.spec.transform if job.target.spec else ""
    shaping = [_Snippet(target_transform), _Snippet(job.case.options.transform)]
    judging = []
    for bound in job.bounds:
        judging.append(_Snippet(bound.transform))
        if hasattr(bound.evaluator, "config"):  # code, which gets the settings as its context
            code = getattr(bound.evaluator, "value", "")
            judging.append(_Snippet(code, bound.evaluator.runs_code))

    settings = []
    if any(snippet.reads("provider") for snippet in judging):
        settings += ["target", job.target.name]
    if any(snippet.reads("prompt") for snippet in judging + shaping):
        settings += ["prompt", job.text]
    if any(snippet.reads("prompt") for snippet in shaping):
        settings += ["label", job.prompt.label]
    return digest(settings) if settings else b""
