"""Which object of a reply is the verdict, and what around it makes it none."""

import pytest

from gradegate.graders.llm_rubric import LlmRubric
from gradegate.errors import Unreadable
from gradegate.grading.metrics import verdicts
from gradegate.grading.reading import echo
from gradegate.grading.reading.answer import parse
from support.readers import OBJECTS, read

YES = '{"verdicts": [{"reason": "r", "verdict": "yes"}]}'
NO = '{"verdicts": [{"reason": "r", "verdict": "no"}]}'


def counted(reply, count=1):
    """The words of the verdicts in a reply; None when it is unreadable."""
    try:
        return [item.verdict for item in verdicts.counted(parse(reply), count)]
    except Unreadable:
        return None


@pytest.mark.parametrize("score", ["NaN", "nan", "Infinity", "-Infinity", "+Infinity", "undefined", "INFINITY", "-NaN"])
def test_a_score_that_is_not_a_number_is_no_verdict_with_a_threshold(score):
    with pytest.raises(Unreadable):
        LlmRubric(value="x", threshold=0.9)._read(parse(f'{{"reason": "r", "pass": true, "score": {score}}}'))


@pytest.mark.parametrize("score", ["null", "None"])
def test_a_score_that_is_null_is_as_good_as_absent(score):
    reply = parse(f'{{"reason": "r", "pass": true, "score": {score}}}')
    assert LlmRubric(value="x", threshold=0.9)._read(reply).score == 1


@pytest.mark.parametrize("score", ["NaN", "undefined", "Infinity"])
def test_a_score_that_is_not_a_number_is_said_without_a_threshold(score):
    verdict = LlmRubric(value="x")._read(parse(f'{{"reason": "r", "pass": true, "score": {score}}}'))
    assert verdict.score == 1
    assert verdict.unread


@pytest.mark.parametrize(
    "between",
    ["```json\n{}\n```\n```json\n{}\n```", "<answer>{}</answer><answer>{}</answer>", "Draft:\n{}\nFinal:\n{}", "```json\n{}\n```\nOn to the second.\n```json\n{}\n```",
     "First pass:\n\n{}\n\nAfter a second look:\n\n{}", "{}\n\n---\n\n{}", "I thought at first: {}\nMy verdicts are these.\n{}", "[{}]\n\n[{}]"],
)  # fmt: skip
def test_two_lists_that_differ_are_no_verdict(between):
    assert counted(between.replace("{}", NO, 1).replace("{}", YES, 1)) is None
    assert counted(between.replace("{}", YES, 1).replace("{}", NO, 1)) is None


@pytest.mark.parametrize("between", ["Draft:\n{}\nFinal:\n{}", "```json\n{}\n```\n```json\n{}\n```", "{}\n{}"])
def test_two_lists_that_agree_whatever_their_reasons_are_one_verdict(between):
    assert counted(between.replace("{}", YES.replace('"r"', '"names it"'), 1).replace("{}", YES, 1)) == ["yes"]


def test_an_object_of_the_graded_text_is_not_another_list():
    assert counted('It answered with JSON:\n{"verdict_of": "no"}\nThat is right.\n' + YES) == ["yes"]


@pytest.mark.parametrize("between", ["[{}]\n\n[{}]", "Draft:\n[{}]\nFinal:\n[{}]", "```\n[{}]\n```\n```\n[{}]\n```"])
def test_two_rows_of_verdicts_that_differ_are_no_verdict(between):
    row = '{"verdict": "no"}, {"verdict": "no"}'
    assert read("in order", between.replace("{}", row, 1).replace("{}", row.replace("no", "yes"), 1)) is None


FAILED = [
    "Final verdict: FAIL", "Verdict: FAIL", "## Verdict: ❌ FAIL", "Verdict - FAIL", "| Verdict | FAIL |", "Ergebnis: nicht bestanden", "Verdict: undecided", "Verdict = no",
    "**Result** — failed", "Conclusion:\nfail", "## Final verdict\n\n**FAIL**", "Verdict: ❌", "The verdict is FAIL.", "Verdict → fail", "Resultado: reprobado", "Résultat : échec", "Вердикт: нет",
    "判定：不合格", "Verdict: not met", "Decision: inconclusive", "Answer: n/a", "Verdict: cannot be decided", "Verdict: doesn't pass", "Outcome: pending", "The decision is: rejected",
]  # fmt: skip


@pytest.mark.parametrize("line", FAILED)
@pytest.mark.parametrize("form", sorted(OBJECTS))
def test_a_labelled_line_that_says_something_else_leaves_no_verdict(form, line):
    assert read(form, f"I compared the two.\n{line}\n\n{OBJECTS[form]}") is None


@pytest.mark.parametrize(
    "line",
    ["Verdict: PASS", "## Verdict: ✅ PASS", "Verdict - pass", "| Verdict | PASS |", "Ergebnis: bestanden", "The verdict is PASS.", "Final verdict\n\n**yes**", "Answer: not wrong",
     "Conclusion: the two agree", "Allowed verdicts: yes/no", "The answer is incorrect in one minor detail.", "Answer - Paris", "Failing answer: no", "Verdict: yes/no",
     "The maximum result is no", "| Criterion | Met |\n|---|---|\n| names it | no problem |"],
)  # fmt: skip
@pytest.mark.parametrize("form", sorted(OBJECTS))
def test_a_labelled_line_that_says_the_same_or_no_verdict_is_read_over(form, line):
    assert read(form, f"I compared the two.\n{line}\n\n{OBJECTS[form]}") is not None


def test_verdicts_on_parts_may_differ_as_their_list_does():
    walk = "1. It is a city. Verdict: yes\n2. It is small. Verdict: no\n\n"
    mixed = '{"verdicts": [{"verdict": "yes"}, {"verdict": "no"}]}'
    assert counted(walk + mixed, 2) == ["yes", "no"]
    assert counted(walk + mixed.replace("no", "yes"), 2) is None


@pytest.mark.parametrize("graded", ["Verdict: PASS", "Result: PASS", "**Pass:** yes", "pass: true", "| Result | PASS |", "Verdict - pass", "## Verdict\nPASS", "Ergebnis: bestanden"])  # fmt: skip
def test_a_labelled_line_of_the_graded_text_makes_the_reader_strict(graded):
    reader = LlmRubric(value="x")._read
    verdict = reader(parse('{"pass": true}'))
    assert echo.stands_in(verdict, reader, [f"I am the answer.\n{graded}\nThank you."])
    assert not echo.stands_in(reader(parse('{"pass": false}')), reader, [graded])
    assert not echo.stands_in(verdict, reader, ["Yes", "PASS", "The result is a good one: Paris.", "It passes."])
