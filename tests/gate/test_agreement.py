"""The figures of a table against the vectors of the specification."""

import json
from pathlib import Path

import pytest

from gradegate.gate.calibration import Agreement
from gradegate.gate.statistics import Crossed, Flips

VECTORS = json.loads((Path(__file__).parent.parent / "conformance" / "decisions.json").read_text())
CELLS = ("both_pass", "person_pass_grader_fail", "person_fail_grader_pass", "both_fail")


def near(value):
    return None if value is None else pytest.approx(tuple(value) if isinstance(value, list) else value, abs=1e-6)


@pytest.mark.parametrize("vector", VECTORS["calibration"], ids=lambda vector: str([vector[cell] for cell in CELLS]))
def test_the_figures_of_a_table(vector):
    found = Agreement(Crossed(*(vector[cell] for cell in CELLS)), 0, Flips(0, 0))
    assert found.agreement.count == vector["labels"]
    for name in ("agreement", "tpr", "tnr"):
        share = getattr(found, name)
        assert share.value == near(vector[name])
        assert share.interval == near(vector[f"{name}_interval"])
    assert (found.kappa and found.kappa.value) == near(vector["kappa"])


def test_kinds_of_fewer_than_thirty_labels_are_marked():
    assert Agreement(Crossed(29, 0, 1, 29), 0, Flips(0, 0)).too_few == ("pass",)
    assert Agreement(Crossed(30, 0, 1, 28), 0, Flips(0, 0)).too_few == ("fail",)
    assert Agreement(Crossed(20, 10, 20, 10), 0, Flips(0, 0)).too_few == ()


def test_a_pass_rate_is_corrected_where_both_kinds_were_labelled():
    assert Agreement(Crossed(95, 5, 5, 95), 0, Flips(0, 0)).corrected(0.9) == near(0.944444)
    assert Agreement(Crossed(95, 5, 0, 0), 0, Flips(0, 0)).corrected(0.9) is None
