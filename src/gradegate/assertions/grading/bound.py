"""Bound assertions: an assertion with its evaluator and its graders, or a set of them that counts as one."""

from __future__ import annotations

from collections.abc import Mapping

from gradegate.assertions.grading.evaluator import Evaluator
from gradegate.assertions.judge.rubric import NO_RUBRIC, Rubric
from gradegate.core.provider_spec import Code
from gradegate.providers.api.provider import Provider
from gradegate.results.grades import GradedAssertion
from gradegate.structs import FrozenStruct, JsonObject


class ReaskPolicy(FrozenStruct):
    """How a failing grade is re-asked.

    ``mode`` is "off", "grader" or "answers". ``is_explicit`` says that the assertion sets the mode, and not the gate.
    """

    mode: str = "off"
    is_explicit: bool = False


NEVER_REASK = ReaskPolicy()


class BoundAssertion(FrozenStruct):
    """An assertion with its evaluator and its graders."""

    assertion: GradedAssertion
    evaluator: Evaluator
    threshold: float | None = None  # of the config
    models: Mapping[str, Provider] = {}  # the graders by kind, such as "text" or "embedding"
    rubric: Rubric = NO_RUBRIC
    reask: ReaskPolicy = NEVER_REASK
    transform: Code = ""  # of the answer, before it is graded
    grader_retries: int = 1  # how often an unreadable reply is asked for again
    other_fields: JsonObject = {}  # of the assertion, see ``Assertion.other_fields``

    @property
    def members(self) -> tuple[BoundAssertion, ...]:
        """The assertions that are evaluated: only this one."""
        return (self,)

    @property
    def applied_threshold(self) -> float | None:
        """The threshold of the config, or else the evaluator's default. None if there is neither."""
        if self.threshold is None:
            return self.evaluator.scoring.default
        return self.threshold

    @property
    def is_comparison(self) -> bool:
        """Whether all answers to a case are graded together."""
        return self.evaluator.compares is not None


class BoundSet(FrozenStruct):
    """An assert-set: several assertions that count as one."""

    assertion: GradedAssertion
    members: tuple[BoundAssertion, ...]
    threshold: float | None = None
    other_fields: JsonObject = {}

    @property
    def is_comparison(self) -> bool:
        """Comparisons cannot be members of a set."""
        return False


Binding = BoundAssertion | BoundSet
