"""Which grades may be asked again, and how."""

from collections.abc import Iterator
from functools import cached_property

from gradegate.assertions.grading.bound import Bound, BoundSet
from gradegate.core.policy import Policy, Rule
from gradegate.gate.statistics import Lead, lead
from gradegate.planning.plan import Job, Plan, selected
from gradegate.results.rows import Row


class Askable:
    """The grades of a plan that count, that a blocking rule selects, and that asking again may change."""

    def __init__(self, plan: Plan) -> None:
        self._jobs = plan.jobs
        self.policies: dict[str, Policy] = {}
        self.rules: dict[str, tuple[Rule, ...]] = {}  # those that block, by suite
        for policy in plan.policies:
            for rule in filter(
                lambda it: it.blocking and (it.judges or it.reads_history), policy.rules
            ):
                self.policies[rule.suite] = policy
                self.rules[rule.suite] = (*self.rules.get(rule.suite, ()), rule)

    @cached_property
    def grades(self) -> int:
        """How many there are."""
        return sum(job.repeats * sum(1 for _ in self.of(job)) for job in self._jobs)

    def of(self, job: Job) -> Iterator[tuple[int, Bound]]:
        """Those of each answer to a job, by their position among its grades."""
        if all(bound.again.mode == "off" for bound in job.bounds):
            return
        rules, position = () if job.of_base else self.rules.get(job.suite, ()), 0
        looked_at = {id(binding) for rule in rules for binding in selected(rule, job)}
        for binding in job.assertions:
            first = (
                position if isinstance(binding, Bound) else position + 1
            )  # a set comes before its members
            negated_set = isinstance(binding, BoundSet) and binding.asserted.negated
            if (
                id(binding) in looked_at
                and binding.asserted.counts
                and not binding.compares
                and not negated_set
            ):
                for offset, bound in enumerate(binding.bounds):
                    if bound.asserted.counts and mode_of(bound, job) != "off":
                        yield first + offset, bound
            position = first + len(binding.bounds)

    def open_in(self, job: Job, row: Row) -> set[int]:
        """The positions of failing grades of an answer that may be asked again."""
        if all(not grade.has_failed for grade in row.grades):
            return set()
        return {place for place, _ in self.of(job) if row.grades[place].has_failed}

    def lead(self, suite: str) -> Lead:
        """By how many votes failures of that suite must lead."""
        return lead(self.grades, self.policies[suite].noise)


def mode_of(bound: Bound, job: Job) -> str:
    """How a failure is asked again: "off", "grader" or "answers"; where no target is asked, and for runs, "answers" is "grader"."""
    mode = bound.again.mode
    asked = not (job.needs or is_recorded(job) or job.render or job.recall)
    if mode == "answers" and not asked:
        return "grader" if "text" in bound.models else "off"
    return mode


def is_recorded(job: Job) -> bool:
    """Whether the answer is known without asking a target: it is written down, or it is the prompt."""
    return job.case.recorded or job.given is not None or job.target.replies_from == "prompt"
