"""What a plan checks, as small values that the plan of another checkout can be compared with: texts become digests."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.asking.provider import Provider
from gradegate.errors import Origin
from gradegate.files.document import to_json
from gradegate.grading.conclude import NEVER_AGAIN, Again, Binding, Bound, BoundSet
from gradegate.planning.digests import digest
from gradegate.planning.job import Job, Plan
from gradegate.planning.load import Located
from gradegate.planning.reads import seen
from gradegate.texts.template import show
from gradegate.values.result import Asserted
from gradegate.values.suite import NOWHERE, Case, Policy, ProviderSpec

RECORDED = "recorded"  # the source of an answer that the config brings
NO_PROMPT = -1
_NESTED = ("headers", "passthrough", "queryParams")  # options whose own keys are worth a name
_APART = ("value", "threshold")  # of a grader's fields: what is compared on its own
_NAME = 40  # characters of a value


@dataclass(frozen=True, slots=True)
class ModelStake:
    """A target or grader. ``options`` are digests by name; ``source`` is where its replies come from."""

    id: str
    name: str
    host: str
    source: str
    options: tuple[tuple[str, bytes], ...]
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class GradeStake:
    """One planned grade. ``limit`` is the threshold that applies, a default of the grader's included.

    ``most``: it is a limit from above. ``value``, ``options`` and ``rubric`` are digests of what is filled in.
    """

    type: str
    value: bytes
    options: bytes
    rubric: bytes
    models: tuple[tuple[str, ModelStake], ...]
    metric: str
    limit: float | None
    most: bool
    weight: float
    blocking: bool
    free: bool = False  # `threshold: none`: held to no limit
    confirm: str = ""  # how its failures are asked again, where the assertion says so itself
    mode: str = field(default="off", compare=False)  # the same, whoever says so
    opinions: tuple[ModelStake, ...] = ()  # its own, which grade the re-asks
    members: tuple[GradeStake, ...] = ()
    origin: Origin = field(default=NOWHERE, compare=False)

    @property
    def negated(self) -> bool:
        """Whether the type starts with ``not-``."""
        return self.type.startswith("not-")

    @property
    def counts(self) -> bool:
        """Whether it takes part in deciding."""
        return self.blocking and self.weight != 0


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, apart from the prompt: digests of the variables, in order, and of the user's turns."""

    variables: tuple[bytes, ...]
    turns: bytes


@dataclass(frozen=True, slots=True)
class AnswerStake:
    """One planned answer: to a question, by the target and with the prompt of these numbers in the suite.

    ``recorded`` is a digest of the answer that the config brings, empty where the target is asked. ``frame`` is one of
    what the case puts around the prompt and does to the answer, ``before`` of what is asked before it in its conversation, ``rivals`` of all
    that a comparison looks at beside the answer, and ``seen`` of what code reads of target and prompt.
    """

    question: Question
    target: int
    prompt: int
    recorded: bytes
    frame: bytes
    before: bytes
    rivals: bytes
    seen: bytes
    repeats: int
    threshold: float | None
    grades: tuple[GradeStake, ...]
    description: str = field(default="", compare=False)
    name: str = field(default="", compare=False)  # the description, or the start of the variables
    origin: Origin = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class SuiteStakes:
    """What one config checks. ``prompts`` are labels; ``answers`` is read once.

    ``env`` are digests of its own variables, ``apart`` of what steers a run apart from its tests, by their keys.
    """

    file: str
    digest: str  # of the file
    policies: tuple[Policy, ...]
    env: Mapping[str, bytes]
    apart: Mapping[str, bytes]
    prompts: tuple[str, ...]
    targets: tuple[ModelStake, ...]
    answers: Iterable[AnswerStake]


def stakes(plan: Plan, suites: Sequence[Located]) -> list[SuiteStakes]:
    """The stakes of each config of a plan; a config that is named twice is one with the jobs of both."""
    jobs: dict[str, list[Job]] = {}
    for job in plan.jobs:
        jobs.setdefault(job.suite, []).append(job)
    by_file: dict[str, list[Located]] = {}
    for located in suites:
        by_file.setdefault(located.suite.file, []).append(located)
    return [_suite(file, located, jobs.get(file, [])) for file, located in by_file.items()]


def _suite(file: str, located: Sequence[Located], jobs: Sequence[Job]) -> SuiteStakes:
    reader = _Reader(_rivals(jobs))
    asked = {id(job.prompt) for job in jobs}
    written = [prompt for suite in located for prompt in suite.suite.prompts if id(prompt) in asked]
    places = {id(prompt): number for number, prompt in enumerate(written)}  # a recorded answer may be to no prompt
    models = {id(job.target): job.target for job in jobs}
    targets = {key: number for number, key in enumerate(models)}
    own = located[0].suite.env.literals
    return SuiteStakes(
        file=file,
        digest=located[0].digest,
        policies=tuple(suite.suite.policy for suite in located),
        env={name: digest(text) for name, text in own.items()},
        apart={
            "evaluateOptions.timeoutMs": digest(located[0].suite.timeout),
            "derivedMetrics": digest([[it.name, it.value] for it in located[0].suite.derived]),
            "gate.second-opinions": digest([_spelled(spec) for spec in located[0].suite.policy.second_opinions]),
        },
        prompts=tuple(prompt.label for prompt in written),
        targets=tuple(map(reader.model, models.values())),
        answers=(reader.answer(job, targets[id(job.target)], places.get(id(job.prompt), NO_PROMPT)) for job in jobs),
    )


class _Reader:
    """Reads jobs; what answers to one case share is read once."""

    def __init__(self, rivals: Mapping[int, bytes]) -> None:
        self._rivals = rivals
        self._talks: dict[tuple[str, ...], bytes] = {}  # all that was asked in a conversation so far
        self._models: dict[int, ModelStake] = {}
        self._last: tuple[object, tuple[GradeStake, ...]] = (None, ())
        self._asked: tuple[object, object, Question] = (None, None, Question((), b""))

    def answer(self, job: Job, target: int, prompt: int) -> AnswerStake:
        case = job.case
        return AnswerStake(
            question=self._question(job),
            target=target,
            prompt=prompt,
            recorded=_recorded(job),
            frame=_frame(case),
            before=self._before(job),
            rivals=self._rivals.get(job.number, b""),
            seen=seen(job),
            repeats=job.repeats,
            threshold=case.threshold,
            grades=self._grades(job.assertions),
            description=case.description,
            name=case.description or _named(job.vars),
            origin=case.origin,
        )

    def _before(self, job: Job) -> bytes:
        if job.talk is None:
            return b""
        before, asked = self._talks.get(job.talk, b""), self._question(job)
        self._talks[job.talk] = digest([before, asked.variables, asked.turns, _recorded(job), job.stores])
        return before

    def _question(self, job: Job) -> Question:
        variables, turns, question = self._asked
        if variables is not job.vars or turns is not job.case.turns:
            asked = [turn for turn in job.case.turns if turn.role != "assistant"]
            # A number is the text that prompts show: tests may move to a table, which knows no numbers.
            shown = ((name, show(value) if _is_short(value) else value) for name, value in job.vars.items())
            pairs = tuple(sorted(digest(pair) for pair in shown))
            question = Question(pairs, digest(asked) if asked else b"")
            self._asked = (job.vars, job.case.turns, question)
        return question

    def _grades(self, bindings: tuple[Binding, ...]) -> tuple[GradeStake, ...]:
        if self._last[0] is not bindings:
            self._last = (bindings, tuple(self._grade(binding) for binding in bindings))
        return self._last[1]

    def _grade(self, binding: Binding) -> GradeStake:
        if isinstance(binding, BoundSet):
            # Their order means nothing: two sets of the same members are equal. Both sides are read in one process.
            members = tuple(sorted(map(self._one, binding.bounds), key=hash))
            return _staked(binding.asserted, limit=binding.threshold, members=members)
        return self._one(binding)

    def _one(self, bound: Bound) -> GradeStake:
        grader = bound.grader
        return _staked(
            bound.asserted,
            options=digest([type(grader).__name__, dict(_fields(grader)), bound.transform]),
            rubric=digest(bound.rubric.steps) if bound.rubric.steps else b"",
            models=tuple((need, self._grading(model)) for need, model in sorted(bound.models.items())),
            limit=_limit(bound),
            free=bound.score_only,
            most=grader.scoring.most,
            again=bound.again,
            opinions=tuple(map(self._grading, bound.again.opinions)) if bound.again.own_opinions else (),
        )

    def model(self, provider: Provider) -> ModelStake:
        if id(provider) not in self._models:
            self._models[id(provider)] = _model(provider)
        return self._models[id(provider)]

    def _grading(self, provider: Provider) -> ModelStake:
        """A model that grades: of one that is code of the repository, the code decides; that of a target is what is tested."""
        stake = self.model(provider)
        code = (("its code", digest(provider.code)),) if provider.code else ()
        return dataclasses.replace(stake, options=tuple(sorted((*stake.options, *code)))) if code else stake


def _spelled(spec: ProviderSpec) -> list[Any]:
    return [spec.id, spec.label, dict(spec.config), dict(spec.env)]


def _frame(case: Case) -> bytes:
    options = case.options
    around = [options.prefix, options.suffix, options.transform, case.scoring]
    return digest(around) if any(around) else b""


def _rivals(jobs: Sequence[Job]) -> Mapping[int, bytes]:
    """Of each case whose answers are compared: what takes part, since it decides which answer is the best."""
    parts: dict[int, list[Any]] = {}
    for job in jobs:
        if any(binding.compares for binding in job.assertions):
            others = [it.asserted for it in job.assertions if not it.compares]
            beside = [[it.type, it.value, it.weight, it.metric] for it in others]
            parts.setdefault(job.number, []).append([job.target.id, job.target.name, beside])
    return {number: digest(sorted(map(digest, part))) for number, part in parts.items()}


def _is_short(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e15


def _named(variables: Mapping[str, Any]) -> str:
    texts = ((name, value if isinstance(value, str) else to_json(value)) for name, value in variables.items())
    return ", ".join(f"{name}={excerpt(text, _NAME)}" for name, text in islice(texts, 3))


def _staked(
    asserted: Asserted,
    *,
    limit: float | None,
    free: bool = False,
    options: bytes = b"",
    rubric: bytes = b"",
    models: tuple[tuple[str, ModelStake], ...] = (),
    most: bool = False,
    again: Again = NEVER_AGAIN,
    opinions: tuple[ModelStake, ...] = (),
    members: tuple[GradeStake, ...] = (),
) -> GradeStake:
    return GradeStake(
        type=asserted.type,
        value=b"" if asserted.value is None else digest(asserted.value),
        options=options,
        rubric=rubric,
        models=models,
        metric=asserted.metric,
        limit=limit,
        free=free,
        most=most,
        weight=asserted.weight,
        blocking=asserted.blocking,
        confirm=again.mode if again.own else "",
        mode=again.mode,
        opinions=opinions,
        members=members,
        origin=asserted.origin,
    )


def _limit(bound: Bound) -> float | None:
    if bound.threshold is not None or bound.score_only:
        return bound.threshold
    own = getattr(bound.grader, "threshold", None)
    return own if own is not None else bound.grader.scoring.default


def _recorded(job: Job) -> bytes:
    if not job.case.recorded:
        return b""
    return digest([job.case.output, [turn for turn in job.case.turns if turn.role == "assistant"]])


def _model(provider: Provider) -> ModelStake:
    spec = provider.spec
    if spec is None:
        return ModelStake(RECORDED, provider.name, "", RECORDED, ())
    options = dict(_options(spec.config)) | {f"env.{name}": digest(text) for name, text in spec.env.items()}
    if spec.transform:
        options["transform"] = digest(spec.transform)
    if provider.opened:
        options["its file"] = digest(provider.opened)
    return ModelStake(spec.id, spec.name, provider.host, provider.replies_from, tuple(sorted(options.items())), spec.origin)


def _options(config: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    for name, value in config.items():
        if name in _NESTED and isinstance(value, Mapping):
            yield from ((f"{name}.{key}", digest(item)) for key, item in value.items())
        else:
            yield name, digest(value)


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    return ((item.name, getattr(value, item.name)) for item in dataclasses.fields(value) if item.name not in _APART)
