"""How much a rule may miss, and how often it blocks: every figure of the vectors."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from gradegate.gate.statistics import Chances, chance_of_more_than, failures_allowed, grade_chances, rule_power, runs_chances
from gradegate.results.run_result import Power

VECTORS = json.loads((Path(__file__).parent.parent / "conformance" / "history.json").read_text())


def _figures(found: Power) -> tuple[float | None, ...]:
    return found.unchanged, found.one_broken, found.three_broken, found.five_points


def _expected(it: dict[str, float]) -> object:
    return pytest.approx((it["unchanged"], it["one"], it["three"], it["five_points"]), rel=1e-5, abs=1e-12)


def test_slack() -> None:
    for it in VECTORS["slack"]:
        found = rule_power(Counter({Chances(0, 1): it["cases"]}), failures_allowed(it["cases"], it["min_pass_rate"]), it["failing"])
        assert found.slack == it["cases_left"], it


def test_power_of_a_rule() -> None:
    for it in VECTORS["power"]:
        new, cases = "max_new_failures" in it, it["cases"]
        chances = grade_chances(it["noise"], it["lead"] or 0, new)
        most = it["max_new_failures"] if new else failures_allowed(cases, it["min_pass_rate"])
        found = rule_power(Counter({chances: cases}), most, it["failing"], new)
        assert _figures(found) == _expected(it), it
        assert Power(cases=cases).five_percent == it["five_points_cases"]


def test_power_with_runs() -> None:
    for it in VECTORS["power_runs"]:
        chances = runs_chances(it["failing_share"], it["of"], it["pass"])
        assert _figures(rule_power(Counter({chances: it["cases"]}), it["room"])) == _expected(it), it


def test_cases_of_several_kinds() -> None:
    """Cases with chances of their own, counted one by one: what the tables come to."""
    groups = [(2, 0.5), (1, 0.25), (3, 0.0), (1, 1.0)]
    # 1 fails for certain: more than 2 takes 2 more of three, 0.25 * 0.75 + 0.5 * 0.25 + 0.25 * 0.25.
    assert chance_of_more_than(2, groups) == pytest.approx(0.375)
    assert chance_of_more_than(0, groups) == pytest.approx(1.0)
    assert chance_of_more_than(7, groups) == 0.0
