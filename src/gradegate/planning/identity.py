"""Keys and digests of answers, requests and grades: equal in every run that asks or checks the same.

Baselines, shards, the cache and answers made elsewhere find their counterparts by them. ``answer_key`` pairs the answers
of two runs. ``request_digest`` says that the same is asked; only it contains the prompt and the target's options.
``Terms`` are what a grade depends on. No digest contains the value of a target's option or of the environment: such
values may be secrets, which not every job has.
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
from gradegate.structs import FrozenStruct, JsonObject, field_names, replace

UNNAMED = "case"  # how ids of cases without a description begin
_MOST_NAMED = (
    32  # characters of a description in an id: an id has at most 53, and batch APIs take 64
)
_DIGITS = 20  # of the digest in an id: two of 100,000 calls share them once in ten billion plans
_IN_TERMS = ("transform", "context_transform")  # other fields of an assertion that ``Terms`` has
# Fields of an evaluator that ``Terms`` has
_NOT_OPTIONS = (
    "value",
    "threshold",
    "context_transform",
)


def digest(value: Any) -> bytes:
    """The SHA-256 of a value's canonical JSON: the same in every later version, whatever the order of keys."""
    return hashlib.sha256(_canonical_json(value).encode("utf-8", "surrogatepass")).digest()


# --- answers ------------------------------------------------------------------------------------------------------


def answer_key(job: Job, repeat: int = 0) -> bytes:
    """Names an answer in every run: by suite, case, target, prompt and repetition. The runs of a case share one key."""
    case = job.case.description or job.vars
    # The label of a prompt without one is its text. Such prompts pair in the order in which they are written.
    label = "" if job.prompt.label == job.prompt.text else job.prompt.label
    return digest([job.suite, case, job.target.name, label, 0 if job.needs else repeat])


def request_digest(job: Job) -> bytes:
    """A digest of the question and of the target, whatever their names."""
    turns = [
        [turn.role, turn.content, turn.retrieval_context, turn.images] for turn in job.case.turns
    ]
    target = [job.target.id, job.target.name, _option_names(job.target.spec)]
    return digest([job.suite, job.vars, turns, job.case.output, target, job.text])


def case_definition(case: Case, variables: Variables) -> bytes:
    """A digest of a case without its assertions."""
    parts: list[Any] = [variables, case.turns, case.threshold, case.options.settings]
    if case.options.transform:
        parts.append(case.options.transform)
    return digest(parts)


class Ordinals:
    """Numbers equal things in the order in which they come, from 0."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, int] = {}

    def next(self, thing: Hashable) -> int:
        """The number of equal things before this one."""
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
        """How many answers it may have: one, or one for each run of its case."""
        return self.job.needs.whole.of if self.job.needs else 1


def planned_calls(jobs: Sequence[Job]) -> Iterator[PlannedCall]:
    """The calls that an application may answer elsewhere, in plan order, without those that the config answers itself.

    The runs of a case are one call. An id begins with the description, for people. No call of another version of the
    case has the same id. Calls that are equal in every way differ by their order only.
    """
    ordinals = Ordinals()
    for index, job in enumerate(jobs):
        if job.case.is_recorded:
            continue
        request = request_digest(job).hex()
        name = re.sub(r"[^a-z0-9]+", "-", job.case.description.lower())[:_MOST_NAMED].strip("-")
        for repeat in range(1 if job.needs else job.repeats):
            key = answer_key(job, repeat).hex()
            ordinal = ordinals.next((key, request))
            suffix = digest([key, request, ordinal]).hex()[:_DIGITS]
            yield PlannedCall(f"{name or UNNAMED}-{suffix}", index, repeat, job)


def conversation_id(job: Job) -> str:
    """An id for the group of jobs that are asked one after another; empty if the job is in none."""
    return digest(job.ordered_group).hex()[:_DIGITS] if job.ordered_group else ""


# --- grades -------------------------------------------------------------------------------------------------------


class Terms(NamedTuple):
    """What one grade depends on, beside the variables and the threshold of its case."""

    type: str
    value: Any
    limit: float | None  # the threshold that applies, the evaluator's default included
    weight: float
    options: JsonObject  # those that differ from the evaluator's defaults
    rubric: Any = ()  # the steps of the grading prompt
    transforms: Sequence[Any] = ("",)  # of the context and of the answer


def grade_terms(binding: Binding) -> Terms:
    """The terms of a planned grade."""
    asserted = binding.assertion
    common = asserted.type, asserted.value
    if isinstance(binding, BoundSet):
        return Terms(*common, binding.threshold, asserted.weight, asserted.config)

    evaluator = binding.evaluator
    kind: Any = type(evaluator)
    options = {}
    for name, default in _option_defaults(kind):
        value = getattr(evaluator, name)
        if value != default:
            options[name] = value
    limit = binding.applied_threshold
    if limit is None:  # an evaluator may apply its threshold itself
        limit = getattr(evaluator, "threshold", None)
    transforms = [getattr(evaluator, "context_transform", "")]
    if binding.transform:
        transforms.append(binding.transform)
    return Terms(*common, limit, asserted.weight, options, binding.rubric.steps, transforms)


def with_keys(bindings: Iterable[Binding], case_digest: bytes) -> tuple[Binding, ...]:
    """The assertions of a case with their keys and definitions. ``case_digest`` is the definition of the case.

    The key finds an assertion again in the same case of another run: by its type, its metric, and its number among equal
    ones. The definition is a digest of everything that its grades depend on.
    """
    ordinals = Ordinals()
    return tuple(_with_key(binding, case_digest, ordinals) for binding in bindings)


def _with_key(binding: Any, case_digest: bytes, ordinals: Ordinals) -> Any:
    asserted = binding.assertion
    name = asserted.type, asserted.metric
    key = _key(*name, ordinals.next(name) + 1)  # a set comes before its members, as in a report
    if isinstance(binding, BoundSet):
        members = [_with_key(member, case_digest, ordinals) for member in binding.members]
        binding = replace(binding, members=tuple(members))
    definition = _definition(binding, case_digest)
    return replace(binding, assertion=replace(asserted, key=key, definition=definition))


def _definition(binding: Binding, case_digest: bytes) -> bytes:
    terms = grade_terms(binding)
    parts = [
        case_digest.hex(),
        terms.type,
        terms.value,
        _as_whole(terms.limit),
        _as_whole(terms.weight),
        terms.options,
    ]
    if isinstance(binding, BoundSet):
        parts.append([member.assertion.definition.hex() for member in binding.members])
    else:
        parts += [terms.rubric, *terms.transforms]

    # A field that no term names is a part of the definition, too.
    fields = binding.other_fields
    unnamed_fields = {name: value for name, value in fields.items() if name not in _IN_TERMS}
    if unnamed_fields:
        parts.append(unnamed_fields)
    return digest(parts)


def _as_whole(number: float | None) -> float | None:
    """The number as an integer if it is one: 1 and 1.0 are the same limit."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


@cache
def _key(kind: str, metric: str, number: int) -> bytes:
    return digest([kind, metric, number])


@cache
def _option_defaults(kind: Any) -> Sequence[tuple[str, Any]]:
    """The options of an evaluator with their defaults."""
    fields = kind.__pydantic_fields__  # every evaluator is a dataclass of pydantic's
    return [
        (name, field.get_default(call_default_factory=True))
        for name, field in fields.items()
        if name not in _NOT_OPTIONS
    ]


# --- plans --------------------------------------------------------------------------------------------------------


def plan_digest(plan: Plan) -> str:
    """64 hex digits: equal for plans that ask the same models the same, and decide by the same rules."""
    jobs = [digest(_job_parts(job)).hex() for job in plan.jobs]
    policies = []
    for policy in plan.policies:
        errors = policy.errors, policy.errors_up_to
        policies.append([policy.rules, *errors, policy.weakening, policy.reask, policy.noise])
    baseline = None
    if plan.baseline:
        baseline = [[answer.key.hex(), answer.outcome.value] for answer in plan.baseline.answers]
    base = None
    if plan.base:
        base = [plan.base.gone, plan.base.commit]
    return digest([jobs, policies, plan.digests, plan.recorded, plan.derived, baseline, base]).hex()


def _job_parts(job: Job) -> list[Any]:
    """What the answers of a job and their grades depend on."""
    case = job.case
    parts: list[Any] = [
        answer_key(job).hex(),
        request_digest(job).hex(),
        job.definition.hex(),
        job.number,
        job.repeats,
        job.of_base,
        job.needs,
        case.quarantine.until if case.quarantine else "",
        case.is_recorded,
        job.stores,
        job.target.spec.transform if job.target.spec else "",
    ]
    for bound in job.bounds:
        asserted = bound.assertion
        key = asserted.key.hex()
        parts.append([key, asserted.definition.hex(), asserted.blocking, bound.reask.mode])
        models = bound.models.items()
        parts.append([[kind, model.id, _option_names(model.spec)] for kind, model in models])
    return parts


def _option_names(spec: ProviderSpec | None) -> list[str]:
    """The names of a provider's options, without their values: these may be secrets."""
    return sorted(map(str, spec.config)) if spec else []


# --- canonical JSON -----------------------------------------------------------------------------------------------


def _canonical_json(value: Any) -> str:
    try:
        return _ENCODER.encode(value)
    # Keys of several types have no order, and numbers of 5,000 digits have no text.
    except (TypeError, ValueError):
        return json.dumps(_spell_out(value), default=lambda item: _spell_out(_to_json_type(item)))


def _spell_out(value: Any) -> Any:
    """The value with mappings as sorted lists of pairs, and whole numbers as hexadecimal texts."""
    if isinstance(value, Mapping):
        pairs = [[repr(_spell_out(key)), _spell_out(item)] for key, item in value.items()]
        return sorted(pairs, key=itemgetter(0))
    if isinstance(value, list | tuple):
        return [_spell_out(item) for item in value]
    return hex(value) if type(value) is int else value


def _to_json_type(value: Any) -> Any:
    if not isinstance(value, type) and (fields := field_names(value)):
        return {name: getattr(value, name) for name in fields}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return value.name if isinstance(value, Enum) else str(value)


_ENCODER = json.JSONEncoder(sort_keys=True, default=_to_json_type, separators=(",", ":"))
