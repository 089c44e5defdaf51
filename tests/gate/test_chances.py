"""The figures against the vectors of the specification, and against exact fractions."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.gate.reasks.ballot import is_noisier
from gradegate.gate.statistics import (
    Chances,
    CrossTable,
    Lead,
    binomial_tail,
    case_chances,
    chance_of_lead,
    chance_of_more_than,
    chance_of_wrong_failure,
    cohen_kappa,
    corrected_pass_rate,
    count_flips,
    expected_reasks,
    failures_allowed,
    grade_chances,
    required_lead,
    upper_bound,
    wilson_interval,
)
from support.each import each

CONFORMANCE = Path(__file__).parent.parent / "conformance"
VECTORS = json.loads((CONFORMANCE / "decisions.json").read_text())
DIGITS = 1e-6  # the vectors are rounded to six digits


def near(value):
    return pytest.approx(value, abs=DIGITS)


def vectors(name):
    return pytest.mark.parametrize("vector", VECTORS[name], ids=lambda vector: json.dumps(vector)[:80])


@vectors("lead")
def test_lead(vector):
    found = required_lead(vector["grades"], vector["noise"])
    chance = vector["chance_of_wrong_fail"]
    assert found.votes == vector["lead"]
    assert float(chance_of_wrong_failure(found.votes, vector["noise"])) == pytest.approx(chance, rel=1e-5)
    assert found.is_bounded == (vector["grades"] * chance_of_wrong_failure(found.votes, vector["noise"]) <= Fraction(1, 100))


def test_a_lead_is_reached_at_equality_and_one_grade_more_takes_another_vote():
    # With noise 0.02 a lead of 3 fails 1 of 120,100 good answers: 1,201 grades make exactly 1 %.
    assert (required_lead(1201, 0.02), required_lead(1202, 0.02)) == ((3, True), (4, True))
    assert required_lead(100, 0.25) == Lead(8, is_bounded=False)


def exact_tail(least, count, chance):
    share = Fraction(chance)
    return sum(math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(least, count + 1))


@given(count=st.integers(0, 60), chance=st.floats(0, 1), data=st.data())
def test_the_tail_is_the_exact_sum(count, chance, data):
    least = data.draw(st.integers(-1, count + 2))
    exact = float(exact_tail(max(least, 0), count, chance))
    assert binomial_tail(least, count, chance) == pytest.approx(exact, rel=1e-9, abs=1e-15)


@pytest.mark.slow
@each(("least", "count", "chance"), [(5300, 10_000, Fraction(1, 2)), (1100, 10_000, Fraction(1, 10))])
def test_the_tail_holds_nine_digits_of_large_numbers(least, count, chance):
    top, bottom = chance.numerator, chance.denominator
    terms = (math.comb(count, k) * top**k * (bottom - top) ** (count - k) for k in range(least, least + 800))
    assert binomial_tail(least, count, float(chance)) == pytest.approx(float(Fraction(sum(terms), bottom**count)), rel=1e-9)


@vectors("interval")
def test_wilson(vector):
    assert wilson_interval(vector["passed"], vector["graded"]) == near((vector["low"], vector["high"]))


def test_wilson_of_nothing_is_nothing_and_its_ends_are_exact():
    assert wilson_interval(0, 0) is None
    assert wilson_interval(0, 10).low == 0
    assert wilson_interval(10, 10).high == 1


@given(st.integers(1, 500), st.data())
def test_wilson_holds_the_share(count, data):
    hits = data.draw(st.integers(0, count))
    low, high = wilson_interval(hits, count)
    assert 0 <= low <= hits / count <= high <= 1


@vectors("upper")
def test_upper_bound(vector):
    assert upper_bound(vector["hits"], vector["asks"], vector["level"]) == near(vector["upper"])


@given(st.integers(1, 300), st.data())
def test_at_the_upper_bound_so_few_hits_are_five_per_cent_likely(count, data):
    hits = data.draw(st.integers(0, count - 1))
    assert 1 - binomial_tail(hits + 1, count, upper_bound(hits, count)) == pytest.approx(0.05, abs=1e-9)


@vectors("drop")
def test_the_p_of_a_drop(vector):
    p = binomial_tail(vector["worse"], vector["worse"] + vector["better"], 0.5)
    assert p == near(vector["p"])
    drop = Fraction(vector["worse"] - vector["better"], vector["cases"])
    worse = p <= 0.01 and drop > Fraction(str(vector["max_drop"]))
    assert ("fail" if worse else "pass") == vector["outcome"]


@vectors("self_check")
def test_the_p_of_overturned_grades(vector):
    p = binomial_tail(vector["overturned"], vector["grades"], vector["noise"])
    assert p == near(vector["p"])
    assert is_noisier(vector["overturned"], vector["grades"], vector["noise"]) == vector["note"]


@vectors("calibration")
def test_kappa(vector):
    cells = ("both_pass", "person_pass_grader_fail", "person_fail_grader_pass", "both_fail")
    found = cohen_kappa(CrossTable(*(vector[cell] for cell in cells)))
    if vector["kappa"] is None:
        assert found is None
    else:
        assert found.value == near(vector["kappa"])
        assert found.interval == near(tuple(vector["kappa_interval"]))


def test_kappa_of_nothing_is_nothing():
    assert cohen_kappa(CrossTable()) is None


@given(st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_kappa_is_never_above_one_and_its_interval_is_around_it(cells):
    found = cohen_kappa(CrossTable(*cells))
    if found is not None:
        assert -1 <= found.value <= 1
        assert found.interval.low <= found.value <= found.interval.high


@vectors("corrected")
def test_corrected(vector):
    found = corrected_pass_rate(vector["pass_rate"], vector["tpr"], vector["tnr"])
    assert found == (None if vector["corrected"] is None else near(vector["corrected"]))


@vectors("flips")
def test_flips(vector):
    found = count_flips(map(tuple, vector["items"]))
    assert found == (vector["minority"], vector["asks"])
    assert upper_bound(*found) == near(vector["noise"])


def test_reasks():
    assert expected_reasks(100, 0.1) == 25
    assert expected_reasks(100, 0) == 0


@each(
    ("least", "count", "chance", "expected"),
    [
        (0, 10, 0.0, 1.0),  # none or more: always
        (-1, 10, 0.0, 1.0),
        (1, 10, 0.0, 0.0),
        (10, 10, 1.0, 1.0),
        (11, 10, 1.0, 0.0),
        (0, 0, 0.5, 1.0),
        (1, 0, 0.5, 0.0),
        (2, 2, 0.5, 0.25),
        (1, 2, 0.5, 0.75),
        (5, 10, 0.5, 0.623046875),  # 638 of 1024
    ],
)
def test_the_tail_at_its_ends(least, count, chance, expected):
    assert binomial_tail(least, count, chance) == pytest.approx(expected, rel=1e-12)


def test_an_upper_bound_of_all_hits_and_of_nothing_is_one():
    assert [upper_bound(3, 3), upper_bound(0, 0), upper_bound(4, 3)] == [1.0, 1.0, 1.0]
    assert upper_bound(0, 1) == pytest.approx(0.95)


@each(
    ("rate", "tpr", "tnr", "expected"),
    [
        (0.5, 0.5, 0.5, None),  # no better than chance
        (0.5, 0.4, 0.5, None),
        (0.5, 0.75, 0.75, 0.5),
        (0.1, 0.75, 0.75, 0.0),  # below what bad answers alone would give
        (0.9, 0.75, 0.75, 1.0),
    ],
)
def test_a_corrected_rate_stays_a_share(rate, tpr, tnr, expected):
    assert corrected_pass_rate(rate, tpr, tnr) == (None if expected is None else pytest.approx(expected))


@each(("votes", "expected"), [([(2, 1)], (1, 3)), ([(1, 1)], (0, 0)), ([(1, 2)], (0, 0)), ([(1, 0), (3, 1)], (1, 5))])
def test_ties_are_in_no_number_of_flips(votes, expected):
    assert count_flips(votes) == expected


@each(("share", "votes", "expected"), [(1.0, 3, 1.0), (0.0, 3, 0.0), (0.5, 2, 0.65625)])
def test_the_chance_to_lead_before_falling_behind(share, votes, expected):
    """At evens, a side that won the first ask leads by two after two asks with 1/2, after four with 1/8, after six with 1/32."""
    assert chance_of_lead(share, votes) == pytest.approx(expected)


def test_the_chances_of_a_grade_and_of_a_case_of_several():
    assert grade_chances(0.1, 0) == (0.1, 0.9)
    assert grade_chances(0.5, 2) == (pytest.approx(0.328125), pytest.approx(0.328125))
    assert grade_chances(0.5, 2, beside_base=True) == (pytest.approx(0.2153320, abs=1e-6),) * 2
    assert case_chances([Chances(0.1, 0.9), Chances(0.2, 0.7)]) == (pytest.approx(0.28), 0.7)
    assert case_chances([Chances(0.5, 0.6), Chances(0.5, 0.7)]) == (0.75, 0.75)  # a broken one fails no less often than a good one
    assert case_chances([]) == (0.0, 0.0)


@each(("cases", "rate", "expected"), [(100, 0.95, 5), (100, 0.951, 4), (10, 0.7, 3), (10, 1.0, 0), (10, 0.0, 10), (3, 0.5, 1)])
def test_how_many_cases_may_fail(cases, rate, expected):
    assert failures_allowed(cases, rate) == expected


@each(
    ("most", "groups", "expected"),
    [
        (0, [], 0.0),
        (0, [(1, 0.25)], 0.25),
        (1, [(1, 0.25)], 0.0),
        (1, [(2, 0.5)], 0.25),
        (0, [(2, 1.0)], 1.0),
        (1, [(2, 1.0)], 1.0),
        (2, [(2, 1.0)], 0.0),
        (0, [(2, 0.0)], 0.0),
        (0, [(0, 0.5), (1, 0.5)], 0.5),
        (2, [(2, 0.5), (1, 0.5)], 0.125),
    ],
)
def test_the_chance_of_more_failures_than_are_allowed(most, groups, expected):
    assert chance_of_more_than(most, groups) == pytest.approx(expected)
