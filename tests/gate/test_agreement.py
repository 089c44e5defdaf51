"""The figures of a table against the vectors of the specification."""

import json
from pathlib import Path

import pytest

from gradegate.errors import Origin
from gradegate.gate.calibration import Agreement, Calibration, JudgedOutput, Share
from gradegate.gate.statistics import CrossTable, Flips
from gradegate.results.run_result import RunResult
from gradegate.structs import replace
from support.decided import OUTCOMES, grade, row
from support.each import each

VECTORS = json.loads((Path(__file__).parent.parent / "conformance" / "decisions.json").read_text())
CELLS = ("both_pass", "person_pass_grader_fail", "person_fail_grader_pass", "both_fail")


def near(value):
    return None if value is None else pytest.approx(tuple(value) if isinstance(value, list) else value, abs=1e-6)


@pytest.mark.parametrize("vector", VECTORS["calibration"], ids=lambda vector: str([vector[cell] for cell in CELLS]))
def test_the_figures_of_a_table(vector):
    found = Agreement(CrossTable(*(vector[cell] for cell in CELLS)), 0, Flips(0, 0))
    assert found.agreement.count == vector["labels"]
    for name in ("agreement", "tpr", "tnr"):
        share = getattr(found, name)
        assert share.value == near(vector[name])
        assert share.interval == near(vector[f"{name}_interval"])
    assert (found.kappa and found.kappa.value) == near(vector["kappa"])


def test_kinds_of_fewer_than_thirty_labels_are_marked():
    assert Agreement(CrossTable(29, 0, 1, 29), 0, Flips(0, 0)).too_few == ("pass",)
    assert Agreement(CrossTable(30, 0, 1, 28), 0, Flips(0, 0)).too_few == ("fail",)
    assert Agreement(CrossTable(20, 10, 20, 10), 0, Flips(0, 0)).too_few == ()


def test_a_pass_rate_is_corrected_where_both_kinds_were_labelled():
    assert Agreement(CrossTable(95, 5, 5, 95), 0, Flips(0, 0)).correct_pass_rate(0.9) == near(0.944444)
    assert Agreement(CrossTable(95, 5, 0, 0), 0, Flips(0, 0)).correct_pass_rate(0.9) is None


def judged(words, passes=True, asks_model=True, **more):
    """A labelled output with what a grader said of it, ask by ask."""
    rows = tuple(row(grade(OUTCOMES[sign], reason=f"ask {number}", **more)) for number, sign in enumerate(words))
    return JudgedOutput(passes, Origin("labels.jsonl"), rows, asks_model)


def calibration(*outputs, asks=3):
    return Calibration(outputs, asks, RunResult(()))


@each(
    ("words", "expected"),
    [
        (["PPF"], (1, 3)),
        (["PFF"], (0, 0)),  # most asks fail it
        (["PF"], (0, 0)),
        (["PPFF"], (0, 0)),
        (["PPPFF"], (2, 5)),
        (["PE"], (0, 0)),  # one pass of two asks is no majority
        (["PPE"], (0, 2)),
        (["PPEE"], (0, 0)),
        (["PEE"], (0, 0)),
        (["PPP", "PPF"], (1, 6)),
    ],
)
def test_flips_are_of_outputs_that_most_of_their_asks_pass(words, expected):
    assert calibration(*map(judged, words)).overall.flips == expected
    assert calibration(*(judged(word, asks_model=False) for word in words)).overall.flips == (0, 0)


@each(
    ("votes", "minority", "asks", "expected"),
    [(59, 0, 3, None), (60, 0, 3, 0.05), (60, 0, 2, None), (600, 0, 3, 0.01), (60, 29, 3, 0.25), (300, 3, 3, 0.03)],
)
def test_noise_is_rounded_up_and_kept_within_what_the_gate_takes(votes, minority, asks, expected):
    outputs = [judged("P" * (votes - minority) + "F" * minority)]
    assert calibration(*outputs, asks=asks).noise == expected


@each(
    ("word", "passes", "differs"),
    [
        ("P", True, False),
        ("F", True, True),
        ("P", False, True),
        ("F", False, False),
        ("E", True, False),
        ("E", False, False),
        ("PF", True, False),
    ],
)
def test_the_first_ask_is_held_against_the_label(word, passes, differs):
    assert judged(word, passes).contradicts_label is differs


def test_the_cells_of_a_table_are_counted_by_label_and_first_ask():
    outputs = [judged("P"), judged("PF"), judged("FP"), judged("E"), judged("P", False), *[judged("F", False)] * 4]
    found = calibration(*outputs).overall
    assert (found.table, found.errors) == (CrossTable(pp=2, pf=1, fp=1, ff=4), 1)
    assert (found.agreement, found.tpr, found.tnr) == (Share(6, 8), Share(2, 3), Share(4, 5))
    assert Share(0, 0).value is None


def test_each_type_and_metric_has_its_own_figures():
    outputs = [judged("P", metric="b"), judged("F", metric="a"), judged("F", metric="b"), judged("P", type="llm-rubric", metric="b")]
    found = [(it.assertion, it.metric, it.table) for it in calibration(*outputs).assertions]
    assert found == [("contains", "b", CrossTable(pp=1, pf=1)), ("contains", "a", CrossTable(pf=1)), ("llm-rubric", "b", CrossTable(pp=1))]


@each(
    ("words", "reasons", "asks_model", "expected"),
    [
        (["PP", "FF", "PP"], False, True, True),
        (["PP", "FF"], False, True, False),  # two may be alike by chance
        (["PP", "FF", "PF"], False, True, False),
        (["PP", "FF", "PP"], True, True, False),  # not even a reason changed
        (["PP", "FF", "PP"], False, False, False),
        (["PP", "FF", "P"], False, True, False),
    ],
)
def test_a_grader_never_moves_where_three_outputs_with_several_asks_show_it(words, reasons, asks_model, expected):
    outputs = [judged(word, asks_model=asks_model) for word in words]
    if not reasons:
        same = [tuple(row(replace(it.grades[0], reason="same")) for it in output.rows) for output in outputs]
        outputs = [replace(output, rows=rows) for output, rows in zip(outputs, same, strict=True)]
    assert calibration(*outputs).is_unmoved is expected
