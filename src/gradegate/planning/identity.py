"""What is asked and what it is held to, told apart once: for baselines, shards, the cache, and answers made elsewhere.

``identity`` pairs the answers of two runs, and ``request`` says that the same is asked: the text of the prompt and the
target's settings are in it alone. ``terms`` are what a grade is held to, and pair grades. None holds a value of a target's
options or of the environment: these may be secrets, which not every job has.
"""

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from gradegate.assertions.grading.bound import Binding, BoundSet
from gradegate.core.conversation import Variables
from gradegate.core.provider_spec import ProviderSpec
from gradegate.core.suite import Case
from gradegate.planning.plan import Job, Plan
from gradegate.structs import FrozenStruct, JsonObject, names, replace

_NAMED = 32  # characters of a description in an id; with the digest an id has at most 53, and batch APIs take 64
UNNAMED = "case"  # how ids of cases without a description begin
_DIGITS = 20  # of the digest: two of 100,000 calls share them once in ten billion plans
_IN_TERMS = ("transform", "context_transform")  # of an assertion's other fields
_APART = (
    "value",
    "threshold",
    "context_transform",
)  # of a grader's fields: what terms have under another name


def digest(value: Any) -> bytes:
    """The SHA-256 of a value's canonical JSON: the same in every later version, whatever the order of keys."""
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).digest()


# --- answers ------------------------------------------------------------------------------------------------------


def answer_key(job: Job, repeat: int = 0) -> bytes:
    """What an answer is called in every run: by its suite, case, target, prompt and repetition; the runs of a case are one."""
    case = job.case.description or job.vars
    # The label of a prompt without one is its text: such prompts pair in the order in which they are written.
    label = "" if job.prompt.label == job.prompt.text else job.prompt.label
    return digest([job.suite, case, job.target.name, label, 0 if job.needs else repeat])


def request_digest(job: Job) -> bytes:
    """What is asked of whom, whatever it is called."""
    turns = [
        [turn.role, turn.content, turn.retrieval_context, turn.images] for turn in job.case.turns
    ]
    target = [job.target.id, job.target.name, _options(job.target.spec)]
    return digest([job.suite, job.vars, turns, job.case.output, target, job.text])


def case_definition(case: Case, variables: Variables) -> bytes:
    """What a case gives and asks for, apart from its assertions."""
    scripts = [case.options.transform] if case.options.transform else []
    return digest([variables, case.turns, case.threshold, case.options.settings, *scripts])


class Ordinals:
    """Tells equal things apart by the order in which they come, from 0."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, int] = {}

    def next(self, thing: Hashable) -> int:
        """How many of its like came before."""
        number = self._seen.get(thing, 0)
        self._seen[thing] = number + 1
        return number


class PlannedCall(FrozenStruct):
    """One question to one target: repetition ``repeat`` of the job at ``job_index`` in the plan."""

    id: str
    job_index: int
    repeat: int
    job: Job

    @property
    def run_count(self) -> int:
        """How many answers there may be: one, or one for each run."""
        return self.job.needs.whole.of if self.job.needs else 1


def planned_calls(jobs: Sequence[Job]) -> Iterator[PlannedCall]:
    """The calls that an application may answer elsewhere, in plan order; none where the config brings the answer itself.

    The runs of a case are one call. An id begins for people. An answer to another version of a case has the id of no call;
    only calls of one name that ask the same in every way are told apart by their order.
    """
    ordinals = Ordinals()
    for place, job in enumerate(jobs):
        if not job.case.recorded:
            asked = request_digest(job).hex()
            begins = (
                re.sub(r"[^a-z0-9]+", "-", job.case.description.lower())[:_NAMED].strip("-")
                or UNNAMED
            )
            for repeat in range(1 if job.needs else job.repeats):
                key = answer_key(job, repeat).hex()
                ends = digest([key, asked, ordinals.next((key, asked))]).hex()[:_DIGITS]
                yield PlannedCall(f"{begins}-{ends}", place, repeat, job)


def conversation_id(job: Job) -> str:
    """What the group of answers that are had in order is called; empty for none."""
    return digest(job.ordered_group).hex()[:_DIGITS] if job.ordered_group else ""


# --- grades -------------------------------------------------------------------------------------------------------


class Terms(NamedTuple):
    """What one grade is held to, beside the variables and the threshold of its case.

    ``limit`` is the threshold that applies, a default of the grader's included. ``options`` are
    those that are not the grader's defaults, ``rubric`` the steps of its prompt, ``transforms`` of context and answer.
    """

    type: str
    value: Any
    limit: float | None
    weight: float
    options: JsonObject
    rubric: Any = ()
    transforms: Sequence[Any] = ("",)


def grade_terms(binding: Binding) -> Terms:
    """The terms of a planned grade."""
    asserted = binding.asserted
    if isinstance(binding, BoundSet):
        return Terms(
            asserted.type, asserted.value, binding.threshold, asserted.weight, asserted.config
        )
    grader, own = binding.grader, [binding.transform] if binding.transform else []
    kind: Any = type(grader)
    options = {
        name: value for name, usual in _fields(kind) if (value := getattr(grader, name)) != usual
    }
    limit = binding.limit
    if limit is None:  # of a grader that looks at it itself
        limit = getattr(grader, "threshold", None)
    transforms = [getattr(grader, "context_transform", ""), *own]
    return Terms(
        asserted.type,
        asserted.value,
        limit,
        asserted.weight,
        options,
        binding.rubric.steps,
        transforms,
    )


def with_keys(bindings: Iterable[Binding], of: bytes) -> tuple[Binding, ...]:
    """The assertions of a case with their keys and definitions; ``of`` is the definition of the case."""
    ordinals = Ordinals()

    def one(binding: Binding) -> Binding:
        asserted, held = binding.asserted, grade_terms(binding)
        name = asserted.type, asserted.metric
        key = _key(*name, ordinals.next(name) + 1)  # a set comes before its members, as in a report
        rest = [held.rubric, *held.transforms]
        if isinstance(binding, BoundSet):
            binding = replace(binding, bounds=tuple(map(one, binding.bounds)))  # no member is a set
            rest = [[member.asserted.definition.hex() for member in binding.bounds]]
        # What no term has a name for
        others = {
            name: value for name, value in binding.other_fields.items() if name not in _IN_TERMS
        }
        if others:
            rest.append(others)
        # 1 and 1.0 are one limit, and one weight: whether it is written out or a default makes no difference.
        limit, weight = [
            int(it) if isinstance(it, float) and it.is_integer() else it
            for it in (held.limit, held.weight)
        ]
        asked = [held.type, held.value, limit, weight, held.options]
        return replace(
            binding,
            asserted=replace(asserted, key=key, definition=digest([of.hex(), *asked, *rest])),
        )

    return tuple(map(one, bindings))


@cache
def _key(kind: str, metric: str, number: int) -> bytes:
    return digest([kind, metric, number])


@cache
def _fields(kind: Any) -> Sequence[tuple[str, Any]]:
    """The options of a grader with their defaults."""
    fields = kind.__pydantic_fields__  # every grader is a dataclass of pydantic's
    return [
        (name, field.get_default(call_default_factory=True))
        for name, field in fields.items()
        if name not in _APART
    ]


# --- plans --------------------------------------------------------------------------------------------------------


def plan_digest(plan: Plan) -> str:
    """64 hex digits: the same for plans that ask the same of the same models, and decide by the same rules."""
    jobs = [digest(list(_job(job))).hex() for job in plan.jobs]
    policies = [
        [it.rules, it.errors, it.errors_up_to, it.weakening, it.reask, it.noise]
        for it in plan.policies
    ]
    baseline = plan.baseline and [
        [answer.key.hex(), answer.outcome.value] for answer in plan.baseline.answers
    ]
    base = plan.base and [plan.base.gone, plan.base.commit]
    return digest([jobs, policies, plan.digests, plan.recorded, plan.derived, baseline, base]).hex()


def _job(job: Job) -> Iterator[Any]:
    yield from (
        answer_key(job).hex(),
        request_digest(job).hex(),
        job.definition.hex(),
        job.number,
        job.repeats,
        job.of_base,
        job.needs,
    )
    yield job.case.quarantine.until if job.case.quarantine else ""
    yield from (job.case.recorded, job.stores, job.target.spec.transform if job.target.spec else "")
    for bound in job.bounds:
        yield [
            bound.asserted.key.hex(),
            bound.asserted.definition.hex(),
            bound.asserted.blocking,
            bound.again.mode,
        ]
        yield [[need, model.id, _options(model.spec)] for need, model in bound.models.items()]


def _options(spec: ProviderSpec | None) -> list[str]:
    """The names of the options alone: values may be secrets."""
    return sorted(map(str, spec.config)) if spec else []


# --- canonical JSON -----------------------------------------------------------------------------------------------


def _canonical(value: Any) -> str:
    try:
        return _ENCODER.encode(value)
    except (
        TypeError,
        ValueError,
    ):  # keys of several types have no order, and numbers of 5,000 digits no text
        return json.dumps(_spelled(value), default=lambda other: _spelled(_plain(other)))


def _spelled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return sorted(
            ([repr(_spelled(key)), _spelled(item)] for key, item in value.items()),
            key=itemgetter(0),
        )
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    return hex(value) if type(value) is int else value


def _plain(value: Any) -> Any:
    if not isinstance(value, type) and (fields := names(value)):
        return {name: getattr(value, name) for name in fields}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return value.name if isinstance(value, Enum) else str(value)


_ENCODER = json.JSONEncoder(sort_keys=True, default=_plain, separators=(",", ":"))
