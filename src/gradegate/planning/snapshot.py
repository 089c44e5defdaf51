"""What a plan checks, as small values that can be compared with another checkout: texts become digests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from pydantic.alias_generators import to_camel

from gradegate.assertions.grading.bound import NEVER_AGAIN, Binding, Bound
from gradegate.config.load import SuiteFile
from gradegate.core.assertion import AssertionTraits
from gradegate.core.policy import Policy, Runs
from gradegate.core.provider_spec import NOWHERE, Code
from gradegate.errors import Origin
from gradegate.planning.identity import digest, grade_terms
from gradegate.planning.plan import Job, Plan
from gradegate.providers.api.provider import Provider
from gradegate.structs import FrozenStruct, JsonObject, Likened, replace
from gradegate.templating.script import may_read
from gradegate.templating.template import show_value

RECORDED = "recorded"  # the source of an answer that the config brings
NO_PROMPT = -1
_NESTED = ("headers", "passthrough", "queryParams")  # options whose own keys are worth a name
_Written = tuple[Code, bool]  # with whether a snippet is Python


class ModelTerms(Likened):
    """A target or grader. ``options`` are digests by name; ``source`` is where its replies come from."""

    beside = ("origin",)
    id: str
    name: str
    host: str
    source: str
    options: tuple[tuple[str, bytes], ...]
    origin: Origin = NOWHERE


class GradeTerms(AssertionTraits, Likened):
    """One planned grade: its terms, with digests of what is filled in, and beside them what else the comparison looks at."""

    beside = ("mode", "origin")
    type: str
    value: bytes
    options: bytes
    rubric: bytes
    metric: str
    limit: float | None
    weight: float
    blocking: bool
    most: bool = False  # its limit is one from above
    others: tuple[tuple[str, bytes], ...] = ()  # digests of other fields, by their keys
    models: tuple[tuple[str, ModelTerms], ...] = ()
    reask: str = ""  # how its failures are asked again, where the assertion says so itself
    mode: str = "off"  # the same, whoever says so
    members: tuple[GradeTerms, ...] = ()
    origin: Origin = NOWHERE


class CaseInput(NamedTuple):
    """What is asked, apart from the prompt: digests of the variables, in order, and of the user's turns."""

    variables: tuple[bytes, ...]
    turns: bytes


# What an answer depends on beside its question and its assertions, as a finding names it where it is another one.
APART = (
    "its `prefix`, `suffix` or `transform` changed",
    "the conversation before it changed",
    "what it is compared with, or how, changed",
    "the target or prompt settings that its code reads changed",
)


class AnswerTerms(Likened):
    """One planned answer: to a question, by the target and with the prompt of these numbers in the suite."""

    beside = ("description", "metadata", "name", "origin")
    question: CaseInput
    target: int
    prompt: int
    recorded: (
        bytes  # a digest of the answer that the config brings, empty where the target is asked
    )
    apart: tuple[bytes, ...]  # a digest for each of ``APART``
    runs: Runs  # each repetition of a case without `runs` must pass
    cases: int  # that rules count: a repetition is one, and with `runs` all together are one
    threshold: float | None
    grades: tuple[GradeTerms, ...]
    quarantine: date | None = None
    description: str = ""
    metadata: JsonObject = {}
    name: str = ""  # of its case
    origin: Origin = NOWHERE


class GateSnapshot(FrozenStruct):
    """What one config checks."""

    file: str
    digest: str  # of the file
    policies: tuple[Policy, ...]
    env: Mapping[str, bytes]  # digests of its own variables
    apart: Mapping[str, bytes]  # digests of what steers a run apart from its tests, by their keys
    prompts: tuple[str, ...]  # labels
    targets: tuple[ModelTerms, ...]
    answers: Iterable[AnswerTerms]  # read once


def snapshot_plan(plan: Plan, suites: Sequence[SuiteFile]) -> list[GateSnapshot]:
    """Those of each config of a plan; a config that is named twice is one with the jobs of both."""
    jobs: dict[str, list[Job]] = {}
    for job in plan.jobs:
        jobs.setdefault(job.suite, []).append(job)
    by_file: dict[str, list[SuiteFile]] = {}
    for located in suites:
        by_file.setdefault(located.suite.file, []).append(located)
    return [_snapshot(located, jobs.get(file, [])) for file, located in by_file.items()]


def _snapshot(located: Sequence[SuiteFile], jobs: Sequence[Job]) -> GateSnapshot:
    reader, suite = _Reader(jobs), located[0].suite
    asked = {id(job.prompt) for job in jobs}
    written = [prompt for suite in located for prompt in suite.suite.prompts if id(prompt) in asked]
    places = {
        id(prompt): number for number, prompt in enumerate(written)
    }  # a recorded answer may be to no prompt
    models = {id(job.target): job.target for job in jobs}
    targets = {key: number for number, key in enumerate(models)}
    return GateSnapshot(
        file=suite.file,
        digest=located[0].digest,
        policies=tuple(suite.suite.policy for suite in located),
        env={name: digest(text) for name, text in suite.env.literals.items()},
        apart={
            "evaluateOptions.timeoutMs": digest(suite.timeout),
            "derivedMetrics": digest([[it.name, it.value] for it in suite.derived]),
        },
        prompts=tuple(prompt.label for prompt in written),
        targets=tuple(map(reader.model, models.values())),
        answers=(
            reader.answer(job, targets[id(job.target)], places.get(id(job.prompt), NO_PROMPT))
            for job in jobs
        ),
    )


class _Reader:
    """Reads jobs; what answers to one case share is read once."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        # Of each case whose answers are compared: what takes part, since it decides which answer is the best.
        parts: dict[int, list[bytes]] = {}
        for job in jobs:
            if any(binding.compares for binding in job.assertions):
                others = [it.asserted for it in job.assertions if not it.compares]
                beside = [[it.type, it.value, it.weight, it.metric] for it in others]
                parts.setdefault(job.number, []).append(
                    digest([job.target.id, job.target.name, beside])
                )
        self._rivals = {
            number: digest(sorted(it.hex() for it in part)) for number, part in parts.items()
        }
        self._talks: dict[
            tuple[str, ...], bytes
        ] = {}  # all that was asked in a conversation so far
        self._models: dict[int, ModelTerms] = {}
        self._last: tuple[object, tuple[GradeTerms, ...]] = (None, ())
        self._asked: tuple[object, object, CaseInput] = (None, None, CaseInput((), b""))

    def answer(self, job: Job, target: int, prompt: int) -> AnswerTerms:
        case = job.case
        around = [case.options.prefix, case.options.suffix, case.options.transform]
        said = [turn for turn in case.turns if turn.role == "assistant"]
        recorded = digest([case.output, said]) if case.recorded else b""
        asked, before = self._question(job), b""
        if job.ordered_group is not None:
            before = self._talks.get(job.ordered_group, b"")
            self._talks[job.ordered_group] = digest(
                [before, asked.variables, asked.turns, recorded, job.stores]
            )
        if self._last[0] is not job.assertions:
            self._last = (job.assertions, tuple(map(self._grade, job.assertions)))
        return AnswerTerms(
            question=asked,
            target=target,
            prompt=prompt,
            recorded=recorded,
            apart=(
                digest(around) if any(around) else b"",
                before,
                self._rivals.get(job.number, b""),
                _seen(job),
            ),
            runs=job.needs.whole if job.needs else Runs(job.repeats, job.repeats),
            cases=1 if job.needs else job.repeats,
            threshold=case.threshold,
            grades=self._last[1],
            quarantine=case.quarantine.until if case.quarantine else None,
            description=case.description,
            metadata=case.metadata,
            name=job.case_name,
            origin=case.origin,
        )

    def _question(self, job: Job) -> CaseInput:
        variables, turns, question = self._asked
        if variables is not job.vars or turns is not job.case.turns:
            asked = [turn for turn in job.case.turns if turn.role != "assistant"]
            # A number is the text that prompts show: tests may move to a table, which knows no numbers.
            numbers = {
                name
                for name, value in job.vars.items()
                if isinstance(value, int | float) and abs(value) < 1e15
            }
            shown = (
                (name, show_value(value) if name in numbers else value)
                for name, value in job.vars.items()
            )
            question = CaseInput(tuple(sorted(map(digest, shown))), digest(asked) if asked else b"")
            self._asked = (job.vars, job.case.turns, question)
        return question

    def _grade(self, binding: Binding) -> GradeTerms:
        held, asserted = grade_terms(binding), binding.asserted
        bound = binding if isinstance(binding, Bound) else None
        again, models = (bound.again, sorted(bound.models.items())) if bound else (NEVER_AGAIN, [])
        return GradeTerms(
            type=held.type,
            value=b"" if held.value is None else digest(held.value),
            options=digest(held.options),
            rubric=digest(held.rubric) if held.rubric else b"",
            metric=asserted.metric,
            others=tuple(
                (to_camel(name), digest(value)) for name, value in binding.other_fields.items()
            ),
            limit=held.limit,
            weight=held.weight,
            blocking=asserted.blocking,
            most=bound is not None and bound.grader.scoring.at_most,
            models=tuple((need, self._grading(model)) for need, model in models),
            reask=again.mode if again.own else "",
            mode=again.mode,
            # Their order means nothing: two sets of the same members are equal. Both sides are read in one process.
            members=() if bound else tuple(sorted(map(self._grade, binding.bounds), key=hash)),
            origin=asserted.origin,
        )

    def model(self, provider: Provider) -> ModelTerms:
        if known := self._models.get(id(provider)):
            return known
        spec = provider.spec
        if spec is None:
            return ModelTerms(RECORDED, provider.name, "", RECORDED, ())
        written: dict[str, object] = {}
        for name, value in spec.config.items():
            if name in _NESTED and isinstance(value, Mapping):
                written |= {f"{name}.{key}": item for key, item in value.items()}
            else:
                written[name] = value
        written |= {f"env.{name}": text for name, text in spec.env.items()}
        if spec.transform:
            written["transform"] = spec.transform
        if provider.opened:
            written["its file"] = provider.opened
        options = tuple(sorted((name, digest(value)) for name, value in written.items()))
        host, source = provider.host, provider.replies_from
        model = ModelTerms(spec.id, spec.name, host, source, options, spec.origin)
        self._models[id(provider)] = model
        return model

    def _grading(self, provider: Provider) -> ModelTerms:
        """A model that grades: of one that is code of the repository, the code decides; that of a target is what is tested."""
        model = self.model(provider)
        code = (("its code", digest(provider.code)),) if provider.code else ()
        return replace(model, options=tuple(sorted((*model.options, *code)))) if code else model


def _seen(job: Job) -> bytes:
    """A digest of what code of the config reads of the target and the prompt, which may change without the code."""
    spec = job.target.spec
    shaping = [
        (code, False) for code in (spec.transform if spec else "", job.case.options.transform)
    ]
    judging = []
    for bound in job.bounds:
        judging.append((bound.transform, False))
        if hasattr(bound.grader, "config"):  # code, which is told the situation
            judging.append((getattr(bound.grader, "value", ""), bound.grader.runs_code))
    found = ["target", job.target.name] if _any(judging, "provider") else []
    found += ["prompt", job.text] if _any([*judging, *shaping], "prompt") else []
    found += ["label", job.prompt.label] if _any(shaping, "prompt") else []
    return digest(found) if found else b""


def _any(codes: Iterable[_Written], name: str) -> bool:
    return any(code and may_read(code, name, python=python) for code, python in codes)
