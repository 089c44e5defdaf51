"""Groups jobs that belong together, and assigns the groups to shards."""

from collections.abc import Sequence

from gradegate.planning.identity import answer_key
from gradegate.planning.plan import Job


def group_jobs(jobs: Sequence[Job], sides: bool = True) -> list[list[int]]:
    """The indexes of jobs in groups; jobs of one conversation or of one comparison belong together.

    With ``sides``, a job of the base belongs to the job of the head before it.
    """
    parents = list(range(len(jobs)))  # leads from each job to the first one of its group

    def first_of_group(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    first_with: dict[object, int] = {}
    for index, job in enumerate(jobs):
        reasons: list[object] = []
        if job.ordered_group is not None:
            reasons.append(("conversation", job.of_base, job.ordered_group))
        if any(binding.is_comparison for binding in job.assertions):
            reasons.append(("comparison", job.suite, job.number))
        if sides:
            reasons.append(("sides", index - job.of_base))
        for reason in reasons:
            other = first_of_group(first_with.setdefault(reason, index))
            own = first_of_group(index)
            parents[max(own, other)] = min(own, other)

    groups: dict[int, list[int]] = {}
    for index in range(len(jobs)):
        groups.setdefault(first_of_group(index), []).append(index)
    return list(groups.values())


def assign_shards(jobs: Sequence[Job], shards: int) -> dict[int, int]:
    """The shard of each job, from 1 to ``shards``, by the index of the job.

    Groups are in the order of digests of their names, and each shard gets an equal part of that order. So shards are
    even, and a new case moves few other cases to another shard, away from its cache.
    """
    groups = group_jobs(jobs)
    groups.sort(key=lambda group: min(answer_key(jobs[index]) for index in group))
    total = sum(job.repeats for job in jobs)
    assigned = {}  # the shard of each job
    before = 0  # answers of the groups before this one
    for group in groups:
        answers = sum(jobs[index].repeats for index in group)
        # The shard in which the middle of the group lies
        shard = (2 * before + answers) * shards // (2 * total) + 1
        assigned.update(dict.fromkeys(group, shard))
        before += answers
    return assigned
