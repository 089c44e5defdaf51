"""Rows of answers: what is measured of them, which turns are kept, and which of several things decides a row."""

import pytest
import yaml

from gradegate.assertions.grading.conclusion import BoundSet
from gradegate.config.context import Context
from gradegate.core.conversation import Transcript, Turn
from gradegate.core.settings import Settings
from gradegate.core.usage import Took, Usage
from gradegate.errors import ProviderError, Trouble
from gradegate.results.grades import Grade, Outcome
from gradegate.runner.prepare import prepare
from gradegate.runner.rows import failed_row, graded_row, missing_row, unanswered_row, uncompared_row, with_grades
from gradegate.runner.transforms import TransformError, describe_emptiness, transform_for_assertion
from gradegate.structs import replace
from support.each import each

PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR
ASSERTIONS = [
    {"type": "contains", "value": "x"},
    {"type": "assert-set", "assert": [{"type": "llm-rubric", "value": "is good"}, {"type": "contains", "value": "y"}]},
]


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    grader = {"id": "openai:chat:fake", "config": {"apiKey": "k"}}
    test = {"description": "case", "vars": {"q": "why?"}, "assert": ASSERTIONS, "options": {"provider": grader}}
    (folder / "c.yaml").write_text(yaml.safe_dump({"prompts": ["{{q}}"], "providers": ["echo"], "tests": [test]}))
    return prepare(Context(Settings(configs=("c.yaml",), cwd=folder))).plan.jobs[0]


def grades(job, *outcomes):
    """The grades of the job's four places: each assertion, and after a set its members."""
    places = []
    for binding in job.assertions:
        places.append((binding.assertion, False))
        if isinstance(binding, BoundSet):
            places += [(member.assertion, True) for member in binding.members]
    return tuple(
        Grade(assertion, outcome, None if outcome is ERROR else float(outcome is PASS), inner=inner)
        for (assertion, inner), outcome in zip(places, outcomes, strict=True)
    )


def answer(*turns, usage=None, **more):
    said = turns or (Turn("user", "why?"), Turn("assistant", "x y"))
    return Transcript("why?", said, {"q": "why?"}, usage or Usage(calls=1, seconds=0.5, cost=0.25), **more)


@each(
    "usage, took",
    [
        (Usage(calls=1, seconds=0.5, cost=0.25), Took(0.25, 0.5)),
        (Usage(calls=1, seconds=0.5, cost=0.25, unpriced=1), Took(None, 0.5)),
        (Usage(calls=1, seconds=0.0001), Took(0.0, 0.0001)),
        (Usage(calls=1, seconds=0.0), None),
        (Usage(calls=0, seconds=0.5), None),
        (Usage(calls=1, seconds=0.5, cached=1), None),
        (Usage(calls=1, seconds=0.5, untimed=1), None),
    ],
)
def test_an_answer_is_measured_where_it_was_asked_for_now(job, usage, took):
    assert graded_row(job, 0, answer(usage=usage), grades(job, PASS, PASS, PASS, PASS)).took == took


def test_what_an_answer_cost_now_wins_over_what_it_cost_once(job):
    row = graded_row(job, 0, answer(spent=Usage(cached=1)), ())
    assert (row.usage, row.took) == (Usage(cached=1), None)


QUESTION, REPLY = Turn("user", "why?"), Turn("assistant", "x y")


@each(
    "turns, kept",
    [
        ((QUESTION, REPLY), False),
        ((QUESTION, REPLY, QUESTION), True),
        ((REPLY,), True),
        ((QUESTION, replace(REPLY, retrieval_context=("d",))), True),
        ((replace(QUESTION, images=("i",)), REPLY), True),
    ],
)
def test_turns_are_kept_where_they_say_more_than_prompt_and_answer(job, turns, kept):
    assert graded_row(job, 0, answer(*turns), ()).turns == (turns if kept else ())


@each(
    "outcomes, outcome",
    [
        ((PASS, PASS, FAIL, FAIL), PASS),
        ((PASS, FAIL, PASS, PASS), FAIL),
        ((FAIL, ERROR, PASS, ERROR), FAIL),
        ((PASS, ERROR, PASS, ERROR), ERROR),
        ((PASS, PASS, ERROR, PASS), PASS),
    ],
)
def test_a_set_decides_a_row_in_the_place_of_its_members(job, outcomes, outcome):
    row = graded_row(job, 0, answer(), grades(job, *outcomes))
    assert row.outcome is outcome
    other = with_grades(job.case, replace(row, outcome=ERROR), row.grades)
    assert (other.outcome, other.grades) == (outcome, row.grades)


@each(
    "trouble, undone, withheld",
    [
        (Trouble.STOPPED, True, False),
        (Trouble.UNREACHABLE, False, False),
        (Trouble.INCOMPLETE, False, False),
        (Trouble.STATUS, False, False),
        (Trouble.DEADLINE, False, False),
        (Trouble.MALFORMED, False, True),
        (Trouble.SETUP, False, True),
        (None, False, True),
    ],
)
def test_a_missing_answer_knows_why_it_is_missing(job, trouble, undone, withheld):
    row = missing_row(job, 0, "why", trouble)
    assert (row.outcome, row.error, row.undone, row.withheld) == (ERROR, "why", undone, withheld)
    assert [grade.outcome for grade in row.grades] == [ERROR] * 4
    assert [grade.inner for grade in row.grades] == [False, False, True, True]
    assert [grade.reason for grade in row.grades] == ["the target gave no answer: why", "the target gave no answer: why", "why", "why"]


@each(
    "error, said, withheld",
    [
        (ProviderError("app: down", Trouble.STATUS), "app: down", False),
        (ProviderError("app: odd", Trouble.MALFORMED), "app: odd", True),
        (ValueError("odd"), "ValueError: odd", True),
    ],
)
def test_only_a_defect_of_a_target_is_named_by_its_kind(job, error, said, withheld):
    row = failed_row(job, 0, error)
    assert (row.error, row.withheld) == (said, withheld)


def test_a_transform_that_gives_nothing_loses_the_answer_only_where_nothing_is_asserted(job):
    error = TransformError("`transform` fails", answer())
    row = failed_row(job, 0, error)
    assert (row.outcome, row.error, row.output) == (ERROR, "", "x y")
    row = failed_row(replace(job, assertions=()), 0, error)
    assert (row.outcome, row.error, row.output) == (ERROR, "`transform` fails", None)


def test_what_a_budget_did_not_cover_is_as_if_it_had_not_been_asked(job):
    row = graded_row(job, 0, answer(metadata={"a": 1}), grades(job, PASS, PASS, PASS, PASS))
    blank = unanswered_row(job, row, "not run")
    assert (blank.outcome, blank.output, blank.error, blank.undone, blank.took) == (ERROR, None, "not run", True, None)
    assert (blank.usage, blank.metadata, blank.score) == (Usage(), {}, None)
    assert all(grade.undone for grade in blank.grades)


def test_what_was_not_compared_is_undone_and_the_rest_stays(tmp_path):
    grader = {"id": "openai:chat:fake", "config": {"apiKey": "k"}}
    best = {"type": "select-best", "value": "the kindest"}
    test = {"vars": {"q": "why?"}, "assert": [ASSERTIONS[1], best], "options": {"provider": grader}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"prompts": ["{{q}}", "Please: {{q}}"], "providers": ["echo"], "tests": [test]}))
    job = prepare(Context(Settings(configs=("c.yaml",), cwd=tmp_path))).plan.jobs[0]
    row = graded_row(job, 0, answer(), grades(job, PASS, PASS, PASS, PASS))
    left = uncompared_row(job, row, "not run")
    assert [(grade.outcome, grade.undone) for grade in left.grades] == [(PASS, False)] * 3 + [(ERROR, True)]
    assert (left.outcome, left.output, left.usage) == (ERROR, "x y", row.usage)


# --- what graders see of an answer --------------------------------------------------------------------------------


@each(
    "text, calls, what",
    [
        ("hello", None, ""),
        ("", None, "an empty text"),
        (" ", None, "an empty text"),
        ("", [], "an empty text"),
        ("", [{}], "an empty text"),
        ("", "search", "an empty text"),
        ("", [{"id": "1"}], ""),
        ("<think>so</think>", None, "reasoning alone"),
        ("<think>so</think>", [{"id": "1"}], ""),
        ("<think>so</think> yes", None, ""),
    ],
)
def test_a_call_of_a_tool_wins_over_an_empty_text(text, calls, what):
    assert describe_emptiness(text, {} if calls is None else {"tool_calls": calls}) == what


def test_a_transform_of_an_assertion_changes_the_last_answer_and_no_other_turn():
    turns = (Turn("user", "a"), Turn("assistant", "one"), Turn("user", "b"), Turn("assistant", "two"), Turn("user", "c"))
    seen = transform_for_assertion("output.toUpperCase()", answer(*turns))
    assert [turn.content for turn in seen.turns] == ["a", "one", "b", "TWO", "c"]
    assert (seen.output, seen.source) == ("TWO", "two")
