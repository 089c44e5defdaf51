"""Which jobs of a plan each shard asks: what must be asked together stays together, wherever it stands in the plan."""

from __future__ import annotations

from collections.abc import Sequence

from gradegate.planning.identity import identity
from gradegate.planning.job import Job
from gradegate.running.rounds import groups


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
