"""Plans what the base asks beside what the pull request asks, so that both are answered in the same run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gradegate.base.baseline import NONE
from gradegate.base.checkout import suites_of
from gradegate.errors import ConfigError
from gradegate.http.client import Client
from gradegate.planning.identity import identity
from gradegate.planning.job import Job, Other, Plan
from gradegate.planning.plan import plan
from gradegate.values.settings import Settings
from gradegate.values.suite import Note, Policy

ALONE = Note(
    "the base has no case of this run by the same definition, so every failure counts as new; "
    "where the target is another one, give both the same `label`"
)


def with_base(head: Plan, settings: Settings, client: Client) -> Plan:
    """The plan with the jobs of the base beside its own; of a base that cannot be planned, a note. Raises ConfigError."""
    if settings.baseline:
        raise ConfigError.at("both `baseline` and `compare: base` are given", None, "compare with one of them")
    if not settings.base and settings.compare == "base":
        raise ConfigError.at("`compare: base` has no base to compare with", None, "give `base`, a checkout of it")
    if not settings.base:
        return replace(head, notes=(*head.notes, NONE))
    try:
        there, suites = suites_of(settings)
        return both(head, plan(suites, there, client))
    except ConfigError as e:
        why = f"the base cannot be asked, so every failure counts as new: {e.mistakes[0]}"
        return replace(head, notes=(*head.notes, Note(why)))


def both(head: Plan, base: Plan) -> Plan:
    """The plan of the head, each job followed by its counterpart: both sides are asked at the same time.

    A counterpart has the base's prompt and target, and is graded by the head's assertions: whatever the target or the prompt
    are, both answers are judged alike. What the base does not have, or defines otherwise, has none.
    """
    waiting: dict[bytes, deque[Job]] = {}
    for job in base.jobs:
        waiting.setdefault(identity(job), deque()).append(job)
    jobs = tuple(side for job in head.jobs for side in _sides(job, waiting.get(identity(job))))
    notes = head.notes if any(job.of_base for job in jobs) else (*head.notes, ALONE)
    gone = tuple(_name(job) for left in waiting.values() for job in left)
    return replace(
        head,
        jobs=jobs,
        notes=notes,
        base=Other(gone, base.commit),
        models=tuple(dict.fromkeys((*head.models, *base.models))),
        keys=tuple(dict.fromkeys((*head.keys, *base.keys))),
    )


def _sides(job: Job, waiting: deque[Job] | None) -> Iterator[Job]:
    yield job
    other = waiting.popleft() if waiting else None
    if other is not None and other.definition == job.definition:
        yield replace(other, assertions=job.assertions, repeats=job.repeats, of_base=True)


def _name(job: Job) -> str:
    return job.case.description or f"case {job.number + 1}"


def is_asked(settings: Settings, policies: Iterable[Policy]) -> bool:
    """Whether the base is asked in the same run: the command line says so, or a gate."""
    return settings.compare == "base" or any(policy.compare == "base" for policy in policies)
