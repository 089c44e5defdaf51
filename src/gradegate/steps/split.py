"""Which jobs of a plan each shard asks: what must be asked together stays together, wherever it stands in the plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradegate.planning.identity import identity
from gradegate.planning.job import Job


def owners(jobs: Sequence[Job], of: int) -> dict[int, int]:
    """The shard of each job, from 1, by its index.

    Groups lie in the order of digests of their names, and each shard takes as much of that order as any other. So shards
    are even, and a case that is added moves few others to another shard, and away from its cache.
    """
    found: dict[int, int] = {}
    before, total = 0, sum(job.repeats for job in jobs)
    for group in sorted(groups(jobs), key=lambda group: min(identity(jobs[index]) for index in group)):
        answers = sum(jobs[index].repeats for index in group)
        middle = 2 * before + answers
        before += answers
        found |= dict.fromkeys(group, middle * of // (2 * total) + 1)
    return found


def jobs_of(jobs: Sequence[Job], shard: tuple[int, int]) -> frozenset[int]:
    """The indexes of the jobs that a shard asks."""
    number, of = shard
    return frozenset(index for index, owner in owners(jobs, of).items() if owner == number)


def groups(jobs: Sequence[Job]) -> list[list[int]]:
    """The indexes of jobs in groups: a conversation, what a comparison compares, both sides of what a base is asked for.

    The repetitions of a job are one with it.
    """
    above = list(range(len(jobs)))  # of each job one of its group; the first of a group is its own
    first: dict[object, int] = {}
    for index, job in enumerate(jobs):
        for tie in _ties(job, index):
            low, high = sorted((_first(above, first.setdefault(tie, index)), _first(above, index)))
            above[high] = low
    found: dict[int, list[int]] = {}
    for index in range(len(jobs)):
        found.setdefault(_first(above, index), []).append(index)
    return list(found.values())


def _ties(job: Job, index: int) -> Iterator[object]:
    """What a job has in common with those that it is asked together with."""
    if job.talk is not None:
        yield "talk", job.of_base, job.talk
    if any(binding.compares for binding in job.assertions):
        yield "compared", job.suite, job.number
    yield "side", index - job.of_base  # the base's side stands behind its own


def _first(above: list[int], index: int) -> int:
    while above[index] != index:
        above[index] = above[above[index]]
        index = above[index]
    return index
