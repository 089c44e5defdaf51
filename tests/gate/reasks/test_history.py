"""Which votes of earlier runs count and when asking ends, against the vectors of the specification."""

import json
from pathlib import Path

import pytest

from gradegate.gate.reasks.ballot import MOST_RUNS, Counted, Prior, Standing, count, cut, factor_chances, mean_share, standing
from gradegate.gate.statistics import Lead
from gradegate.results.accounts import PastRun
from gradegate.results.grades import Outcome
from gradegate.structs import replace
from support.each import each

VECTORS = json.loads((Path(__file__).parents[2] / "conformance" / "history.json").read_text())


def runs_of(vector):
    return [PastRun("2026-11-03", "", **item["run"]) for item in vector["runs"] for _ in range(item["times"])]


def prior_of(vector, failed=""):
    return Prior(vector["fails"], vector["passes"], vector["mean"], vector["noise"], vector["grades"], failed)


@each("vector", VECTORS["history"])
def test_which_votes_count(vector):
    runs = runs_of(vector)
    found = count(runs, vector["model"])
    assert found == count(cut(runs), vector["model"])  # what a file leaves out decides nothing
    wanted = tuple(vector[key] for key in ("fails", "passes", "used", "comes_and_goes", "flaky"))
    assert (found.fails, found.passes, found.used, bool(found.failed), found.flaky) == wanted


def test_a_failure_comes_and_goes():
    def runs(*votes_and_requests):
        outcomes = {"F": "fail", "P": "pass"}
        return [PastRun(f"2026-11-0{n}", "", "m", votes, outcomes[votes[0]], request) for n, (votes, request) in votes_and_requests]

    before = runs(*enumerate([("PPPPPPPP", "a"), ("FFFF", "a"), ("P", "b"), ("P", "a"), ("P", "a")], 1))
    assert count(before, "m") == Counted(4, 11, "2026-11-02")
    assert count(before[:3], "m").failed == ""


def test_a_tail_is_broken_where_three_of_four_runs_fail():
    for tail, wanted in (("FPF", (1, 4)), ("FFPF", (0, 3)), ("FPFPF", (2, 5))):
        runs = [PastRun("2026-11-03", "", "m", sign, {"F": "fail", "P": "pass"}[sign], "r") for sign in f"PPP{tail}"]
        found = count(runs, "m")
        assert (found.fails, found.passes) == wanted, tail


def test_a_file_does_not_grow_for_ever():
    broken = PastRun("2026-11-03", "", "m", "FFFF", "fail", "r")
    assert cut([broken] * (MOST_RUNS + 5)) == (broken,) * MOST_RUNS
    passing = replace(broken, votes="P", outcome="pass")
    assert cut([passing] * 61 + [replace(passing, model="n")] * 61) == (passing,) * 60 + (replace(passing, model="n"),) * 60


@each("vector", VECTORS["mean_share"])
def test_the_mean_share(vector):
    assert mean_share(vector["fails"], vector["passes"], vector["noise"]) == pytest.approx(vector["mean"], rel=1e-9)


@each("vector", VECTORS["factor_chances"])
def test_how_asking_ends(vector):
    found = factor_chances(prior_of(vector), broken=vector["broken"])
    wanted = [vector[key] for key in ("pass", "fail", "error", "asks")]
    assert list(found) == pytest.approx(wanted, rel=1e-5, abs=1e-12)


@each("vector", VECTORS["factor"])
def test_when_asking_ends(vector):
    prior = prior_of(vector, "2026-11-03" if vector["comes_and_goes"] else "")
    asks = [{"P": Outcome.PASS, "F": Outcome.FAIL, "E": Outcome.ERROR}[reply] for reply in vector["replies"]]
    stands = [standing(asks[:number], Lead(5), prior=prior) for number in range(1, len(asks) + 1)]
    end = stands[-1].value if stands[-1] in (Standing.PASS, Standing.FAIL) else "error"
    assert (len(asks), end, {*stands[:-1]} <= {Standing.OPEN}, Standing.OPEN in stands[-1:]) == (
        vector["asks"],
        vector["conclusion"],
        True,
        False,
    )
    factor = prior.factor(vector["replies"].count("F"), vector["replies"].count("P"))
    assert factor == pytest.approx(vector["bayes_factor"], rel=1e-5)
