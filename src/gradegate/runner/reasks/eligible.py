"""Which grades may be re-asked, and how."""

from collections.abc import Mapping
from functools import cached_property

from gradegate.assertions.grading.bound import Bound, BoundSet
from gradegate.core.policy import Policy, Quarantine, Rule
from gradegate.gate.statistics import Lead, lead
from gradegate.planning.plan import Job, Plan, selected_assertions


class EligibleGrades:
    """The grades of a plan that count, that a blocking rule selects, and that a re-ask may change."""

    def __init__(self, plan: Plan) -> None:
        self._jobs = plan.jobs
        self.policies: dict[str, Policy] = {}  # by suite
        self.rules: dict[str, list[Rule]] = {}  # the blocking rules of each suite
        for policy in plan.policies:
            for rule in policy.rules:
                if rule.blocking and (rule.judges or rule.reads_history):
                    self.policies[rule.suite] = policy
                    self.rules.setdefault(rule.suite, []).append(rule)

    @cached_property
    def total(self) -> int:
        """How many there are in all answers."""
        return sum(job.repeats * len(self.of(job)) for job in self._jobs)

    def of(self, job: Job) -> Mapping[int, Bound]:
        """Those of each answer to a planned case, by their positions among its grades."""
        bounds: dict[int, Bound] = {}
        if job.of_base or all(bound.again.mode == "off" for bound in job.bounds):
            return bounds
        bindings = [
            it for rule in self.rules.get(job.suite, ()) for it in selected_assertions(rule, job)
        ]
        selected_ids = set(map(id, bindings))
        position = 0
        for binding in job.assertions:
            is_set = isinstance(binding, BoundSet)
            position += is_set  # its own grade comes before those of its members
            may_change = (
                id(binding) in selected_ids
                and binding.asserted.counts
                and not binding.compares
                and not (is_set and binding.asserted.negated)
            )
            for bound in binding.bounds:
                if may_change and bound.asserted.counts and mode_of(bound, job) != "off":
                    bounds[position] = bound
                position += 1
        return bounds

    def lead(self, suite: str) -> Lead:
        """By how many votes failures of that suite must lead."""
        return lead(self.total, self.policies[suite].noise)


def mode_of(bound: Bound, job: Job) -> str:
    """How a failure is re-asked: "off", "grader" or "answers". If no target is asked, and for runs, "answers" is "grader"."""
    mode = bound.again.mode
    asks_target = not (job.needs or is_recorded(job) or job.render or job.recall)
    if mode == "answers" and not asks_target:
        return "grader" if "text" in bound.models else "off"
    return mode


def quarantine_of(job: Job) -> Quarantine | None:
    """The quarantine of a test, as long as it lasts."""
    quarantine = job.case.quarantine
    return quarantine if quarantine and quarantine.lasts else None


def is_recorded(job: Job) -> bool:
    """Whether the answer is known without asking a target: it is written down, or it is the prompt."""
    return (
        job.case.recorded or job.recorded_answers is not None or job.target.replies_from == "prompt"
    )
