"""Groups jobs that belong together, and assigns the groups to shards."""

from collections import defaultdict
from collections.abc import Sequence

from gradegate.planning.identity import answer_key
from gradegate.planning.plan import Job


def group_jobs(jobs: Sequence[Job], sides: bool = True) -> list[list[int]]:
    """The indexes of jobs in groups; jobs of one conversation or of one comparison belong together.

    With ``sides``, a job of the base belongs to the job of the head before it.
    """
    # A disjoint-set forest: following the parents leads from each job to the first one of its group.
    parents = list(range(len(jobs)))

    def first_of_group(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]  # shortens the way for the next time
            index = parents[index]
        return index

    first_with: dict[object, int] = {}  # the first job with each reason to belong together
    for index, job in enumerate(jobs):
        reasons: list[object] = []
        if job.ordered_group is not None:
            reasons.append(("conversation", job.of_base, job.ordered_group))
        if any(binding.is_comparison for binding in job.assertions):
            reasons.append(("comparison", job.suite, job.number))
        if sides:
            reasons.append(("sides", index - job.of_base))
        for reason in reasons:
            other_first = first_of_group(first_with.setdefault(reason, index))
            first = first_of_group(index)
            parents[max(first, other_first)] = min(first, other_first)

    groups = defaultdict(list)
    for index in range(len(jobs)):
        groups[first_of_group(index)].append(index)
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
    begin = 0  # the number of the first answer of a group
    for group in groups:
        end = begin + sum(jobs[index].repeats for index in group)
        # The shard in which the middle of the group lies
        shard = (begin + end) * shards // (2 * total) + 1
        assigned.update(dict.fromkeys(group, shard))
        begin = end
    return assigned
