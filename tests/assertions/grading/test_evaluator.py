"""What every grader says of itself: how much it asks, whether it needs a value, and which of several outputs is the best."""

from dataclasses import field
from typing import ClassVar

from gradegate.assertions.grading.evaluator import Asks, Grader, Verdict, of_two, options, verdicts_on
from support.each import each


def asking(**asks):
    class Asking(Grader):
        pass

    Asking.asks = Asks(**asks)
    return Asking()


@each(
    "asks, exchanges, questions",
    [
        ({}, 3, 1),
        ({"questions": 2}, 3, 2),
        ({"steps": ("a", "b"), "questions": 5}, 3, 2),
        ({"steps": ("a", "b"), "each": ("b",)}, 3, 4),
        ({"steps": ("a", "b"), "each": ("a", "b")}, 1, 2),
        ({"steps": ("a", "b"), "each": ("a", "b")}, 3, 6),
    ],
)
def test_a_step_is_asked_once_or_for_each_exchange(asks, exchanges, questions):
    assert asking(**asks).questions(exchanges) == questions


@options
class WithoutValue(Grader):
    scoring: ClassVar = Grader.scoring
    share: float = 0.5


@options
class WithValue(Grader):
    value: str


@options
class WithDefault(Grader):
    value: str = "x"


@options
class WithMadeDefault(Grader):
    value: list[str] = field(default_factory=list)


@each("kind, needs", [(WithoutValue, False), (WithValue, True), (WithDefault, False), (WithMadeDefault, False)])
def test_a_value_without_a_default_must_be_written(kind, needs):
    assert kind.needs_value() is needs


@each(
    "text, kind",
    [
        ("trajectory:tool-used", "trajectory:tool-used"),
        ("trajectory:tool-used:search", "trajectory:tool-used"),
        ("trajectory:tool-used(0.5):search", "trajectory:tool-used"),
        ("not-trajectory:tool-used:search", "not-trajectory:tool-used"),
        ("trajectory:tool-usedx", ""),
        ("contains:trajectory", ""),
        ("contains", ""),
    ],
)
def test_a_type_of_two_names_is_found_before_its_value(text, kind):
    assert of_two(text) == kind


def test_the_best_of_several_outputs_passes_alone():
    assert verdicts_on(3, 1, "why", {"all": 3}) == [
        Verdict(0.0, False, "why", {"all": 3, "this output": 0}),
        Verdict(1.0, True, "why", {"all": 3, "this output": 1}),
        Verdict(0.0, False, "why", {"all": 3, "this output": 2}),
    ]
    assert [verdict.passed for verdict in verdicts_on(2, 0, "", {})] == [True, False]
    assert [verdict.passed for verdict in verdicts_on(2, -1, "", {})] == [False, False]
