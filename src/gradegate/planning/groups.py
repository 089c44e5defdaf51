"""Jobs that belong together: those of one conversation, of one comparison, of one case."""

from collections.abc import Sequence

from gradegate.planning.identity import answer_key
from gradegate.planning.plan import Job


def group_jobs(jobs: Sequence[Job], sides: bool = True) -> list[list[int]]:
    """The indexes of jobs in groups: a conversation, what a comparison compares, both ``sides`` of what a base is asked for.

    The repetitions of a job are one with it.
    """
    above = list(range(len(jobs)))  # of each job one of its group; the first of a group is its own

    def head(index: int) -> int:
        while above[index] != index:
            above[index] = above[above[index]]
            index = above[index]
        return index

    first: dict[object, int] = {}
    for index, job in enumerate(jobs):
        ties: list[tuple[object, ...]] = []
        if job.ordered_group is not None:
            ties.append(("talk", job.of_base, job.ordered_group))
        if any(binding.compares for binding in job.assertions):
            ties.append(("compared", job.suite, job.number))
        if sides:  # the base's side stands behind its own
            ties.append(("side", index - job.of_base))
        for tie in ties:
            low, high = sorted((head(first.setdefault(tie, index)), head(index)))
            above[high] = low
    found: dict[int, list[int]] = {}
    for index in range(len(jobs)):
        found.setdefault(head(index), []).append(index)
    return list(found.values())


def assign_shards(jobs: Sequence[Job], of: int) -> dict[int, int]:
    """The shard of each job, from 1 to ``of``, by its index.

    Groups lie in the order of digests of their names, and each shard takes as much of that order as any other. So shards
    are even, and a case that is added moves few others to another shard, and away from its cache.
    """
    found: dict[int, int] = {}
    before, total = 0, sum(job.repeats for job in jobs)
    for group in sorted(
        group_jobs(jobs), key=lambda group: min(answer_key(jobs[index]) for index in group)
    ):
        answers = sum(jobs[index].repeats for index in group)
        found |= dict.fromkeys(group, (2 * before + answers) * of // (2 * total) + 1)
        before += answers
    return found
