"""An assertion bound to its evaluator, and a set of bound assertions that count as one."""

from __future__ import annotations

from collections.abc import Mapping

from gradegate.assertions.grading.evaluator import Evaluator
from gradegate.assertions.judge.rubric import NO_RUBRIC, Rubric
from gradegate.core.provider_spec import Code
from gradegate.providers.api.provider import Provider
from gradegate.results.grades import GradedAssertion
from gradegate.structs import FrozenStruct, JsonObject


class Again(FrozenStruct):
    """How a failing grade is asked again: "off", "grader" or "answers". ``own``: the assertion says so, and not the gate."""

    mode: str = "off"
    own: bool = False


NEVER_AGAIN = Again()


class Bound(FrozenStruct):
    """An assertion with its grader and its models; ``threshold`` is the config's, None where it sets none."""

    asserted: GradedAssertion
    grader: Evaluator
    threshold: float | None = None
    models: Mapping[str, Provider] = {}
    rubric: Rubric = NO_RUBRIC
    again: Again = NEVER_AGAIN
    transform: Code = ""  # of the answer, before it is graded
    grader_retries: int = 1  # how often an unreadable reply is asked for again
    other_fields: JsonObject = {}  # of the assertion, see ``Assertion.other_fields``

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The assertions whose graders are asked: this one."""
        return (self,)

    @property
    def limit(self) -> float | None:
        """What a score has to reach: the config's threshold, or else the grader's own; None where there is neither."""
        return self.grader.scoring.default if self.threshold is None else self.threshold

    @property
    def compares(self) -> bool:
        """Whether all answers to a case are graded together."""
        return bool(self.grader.compares)


class BoundSet(FrozenStruct):
    """An assert-set: several assertions that count as one."""

    asserted: GradedAssertion
    bounds: tuple[Bound, ...]
    threshold: float | None = None
    other_fields: JsonObject = {}

    @property
    def compares(self) -> bool:
        """Comparisons cannot be members of a set."""
        return False


Binding = Bound | BoundSet
