"""What tells one plan from another: everything that answers, grades and the decision are made of, and no key or host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradegate.grading.conclude import Bound
from gradegate.planning.digests import sha256
from gradegate.planning.job import Job, Plan
from gradegate.planning.keys import row_key
from gradegate.values.suite import ProviderSpec


def plan_digest(plan: Plan) -> str:
    """64 hex digits: the same for plans that ask the same of the same models, and decide by the same rules."""
    jobs = [sha256(list(_job(job))).hex() for job in plan.jobs]
    policies = [[it.rules, it.errors, it.errors_up_to, it.changes, it.confirm, it.noise, it.compare] for it in plan.policies]
    baseline = plan.baseline and [[answer.key.hex(), answer.outcome.value] for answer in plan.baseline.answers]
    base = plan.base and [plan.base.gone, plan.base.commit]
    return sha256([jobs, policies, plan.digests, plan.recorded, plan.derived, baseline, base]).hex()


def _job(job: Job) -> Iterator[Any]:
    yield from (row_key(job, 0).hex(), job.definition.hex(), job.number, job.repeats, job.text, job.of_base)
    yield [job.target.id, job.target.name, _options(job.target.spec), job.case.recorded, job.stores]
    yield job.target.spec.transform if job.target.spec else ""
    for binding in job.assertions:
        for bound in binding.bounds if not isinstance(binding, Bound) else (binding,):
            yield [bound.asserted.key.hex(), bound.asserted.definition.hex(), bound.asserted.blocking, bound.again.mode]
            models = [*bound.models.items(), *(("again", model) for model in bound.again.opinions)]
            yield [[need, model.id, _options(model.spec)] for need, model in models]


def _options(spec: ProviderSpec | None) -> list[str]:
    """The names of the options alone: values may be secrets, which not every job has."""
    return sorted(map(str, spec.config)) if spec else []
