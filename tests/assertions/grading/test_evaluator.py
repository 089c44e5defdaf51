"""What every grader says of itself: how much it asks, whether it needs a value, and which of several outputs is the best."""

from dataclasses import field
from typing import ClassVar

from gradegate.assertions.grading.evaluator import (
    Each,
    Evaluator,
    Requirements,
    Scoring,
    Verdict,
    options,
    two_part_type,
    verdicts_for_best,
)
from gradegate.structs import field_names
from support.each import each


def evaluator(*questions):
    class Asking(Evaluator):
        requires = Requirements(("text",), questions)

    return Asking()


@each(
    "questions, exchanges, count",
    [((), 3, 1), (("a", "b"), 3, 2), (("a", Each("b")), 3, 4), ((Each("a"), Each("b")), 1, 2), ((Each("a"), Each("b")), 3, 6)],
)
def test_a_question_is_asked_once_or_for_each_exchange(questions, exchanges, count):
    assert evaluator(*questions).count_questions(exchanges) == count


def test_the_contract_has_twelve_switches():
    on_class = {name for name in vars(Evaluator)["__annotations__"] if name not in ("requires", "scoring")}
    assert len({*field_names(Requirements), *field_names(Scoring), *on_class}) == 12


@options
class WithoutValue(Evaluator):
    scoring: ClassVar = Evaluator.scoring
    share: float = 0.5


@options
class WithValue(Evaluator):
    value: str


@options
class WithDefault(Evaluator):
    value: str = "x"


@options
class WithMadeDefault(Evaluator):
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
    assert two_part_type(text) == kind


def test_the_best_of_several_outputs_passes_alone():
    assert verdicts_for_best(3, 1, "why", {"all": 3}) == [
        Verdict(0.0, False, "why", {"all": 3, "this output": 0}),
        Verdict(1.0, True, "why", {"all": 3, "this output": 1}),
        Verdict(0.0, False, "why", {"all": 3, "this output": 2}),
    ]
    assert [verdict.passed for verdict in verdicts_for_best(2, 0, "", {})] == [True, False]
    assert [verdict.passed for verdict in verdicts_for_best(2, -1, "", {})] == [False, False]
