"""Decides which grades may be re-asked, and how."""

from collections.abc import Mapping
from functools import cached_property

from gradegate.assertions.grading.bound import BoundAssertion, BoundSet
from gradegate.core.policy import Policy, Quarantine, Rule
from gradegate.gate.statistics import Lead, required_lead
from gradegate.planning.plan import Job, Plan, selected_assertions


class EligibleGrades:
    """The grades of a plan that count, that a blocking rule selects, and that a re-ask may change."""

    def __init__(self, plan: Plan) -> None:
        self._jobs = plan.jobs
        self.policies: dict[str, Policy] = {}  # by suite
        self.rules: dict[str, list[Rule]] = {}  # the blocking rules of each suite
        for policy in plan.policies:
            for rule in policy.rules:
                if rule.blocking and (rule.has_verdict_limit or rule.needs_history):
                    self.policies[rule.suite] = policy
                    self.rules.setdefault(rule.suite, []).append(rule)

    @cached_property
    def total(self) -> int:
        """The number of eligible grades in all answers."""
        return sum(job.repeats * len(self.bounds_of(job)) for job in self._jobs)

    def bounds_of(self, job: Job) -> Mapping[int, BoundAssertion]:
        """The eligible assertions of a job, by the positions of their grades in each answer."""
        bounds: dict[int, BoundAssertion] = {}
        if job.of_base or all(bound.reask.mode == "off" for bound in job.bounds):
            return bounds
        selected_ids = set[int]()
        for rule in self.rules.get(job.suite, ()):
            selected_ids.update(map(id, selected_assertions(rule, job)))

        position = 0
        for binding in job.assertions:
            is_set = isinstance(binding, BoundSet)
            # A failure that passes when it is re-asked must not turn a set with `not-` into a failure.
            is_negated_set = is_set and binding.assertion.is_negated
            may_change = (
                id(binding) in selected_ids
                and binding.assertion.counts
                and not binding.is_comparison
                and not is_negated_set
            )
            if is_set:
                position += 1  # its own grade comes before those of its members
            for bound in binding.members:
                if may_change and bound.assertion.counts and reask_mode(bound, job) != "off":
                    bounds[position] = bound
                position += 1
        return bounds

    def lead(self, suite: str) -> Lead:
        """The number of votes by which failures of a suite must lead."""
        return required_lead(self.total, self.policies[suite].noise)


def reask_mode(bound: BoundAssertion, job: Job) -> str:
    """How a failure is re-asked: "off", "grader" or "answers". Runs, and answers without a target, use "grader" for "answers"."""
    mode = bound.reask.mode
    asks_target = not (job.needs or is_recorded(job) or job.render or job.recall)
    if mode == "answers" and not asks_target:
        return "grader" if "text" in bound.models else "off"
    return mode


def active_quarantine(job: Job) -> Quarantine | None:
    """The quarantine of a test, if it has not ended."""
    quarantine = job.case.quarantine
    return quarantine if quarantine and quarantine.is_active else None


def is_recorded(job: Job) -> bool:
    """Whether the answer is known without asking a target: it is written down, or it is the prompt."""
    return (
        job.case.is_recorded
        or job.recorded_answers is not None
        or job.target.replies_from == "prompt"
    )
