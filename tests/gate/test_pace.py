"""Cost and latency beside the base: measured in pairs, and held to limits beyond noise alone."""

import pytest

from gradegate.core.policy import Policy, Rule, Select
from gradegate.core.usage import Took
from gradegate.gate.decision import decide
from gradegate.gate.regressions import measure_increases
from gradegate.gate.statistics import student_t
from gradegate.results.accounts import BaselineReport
from gradegate.results.grades import Counterpart, Grade, GradedAssertion, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import GateOutcome, RunResult
from gradegate.structs import replace
from support.each import table

PASSED = Grade(GradedAssertion("contains"), Outcome.PASS, status="ok", base=Counterpart(Outcome.PASS, Outcome.PASS))
FAILED = replace(PASSED, outcome=Outcome.FAIL, status="pre-existing", base=Counterpart(Outcome.FAIL, Outcome.FAIL))


def answers(base, here, grade=PASSED):
    took = [(None if a is None else Took(a, a), None if b is None else Took(b, b)) for a, b in zip(base, here, strict=True)]
    return [Row("s", "c", "p", "l", "", {}, grade.outcome, grades=(grade,), base_took=a, took=b) for a, b in took]


def decided(rows, *rules):
    return decide(RunResult(tuple(rows), baseline=BaselineReport(compared=len(rows))), [Policy(rules)])


def test_a_limit_is_missed_beyond_noise_alone():
    wrong = []
    for keys, base, here, outcome, run, reason in table(__file__, "a_limit_is_missed_beyond_noise_alone"):
        decision = decided(answers(base, here), Rule("pace", suite="s", **keys))
        (result,) = decision.rules
        if (result.outcome.value, decision.outcome.value) != (outcome, run) or reason not in result.reason:
            wrong.append((keys, base, here, result.outcome, decision.outcome, result.reason))
    assert not wrong


def test_the_spread_is_that_of_student():
    # as scipy has it, at 0.995
    for freedom, expected in ((4, 4.60409), (5, 4.03214), (9, 3.24984), (29, 2.75639), (99, 2.62641), (1000, 2.58076)):
        assert student_t(freedom) == pytest.approx(expected * 1.0075, rel=0.0075), freedom


def test_a_rule_of_pace_alone_looks_at_no_verdict():
    pace = Rule("pace", suite="s", max_cost_increase=0.1)
    decision = decided(answers([1] * 5, [1] * 5, FAILED), pace)  # every assertion failed
    assert (decision.outcome, decision.reason) == (GateOutcome.ADVISORY, "5 advisory findings")
    missed = decided(answers([1] * 5, [2] * 5, FAILED), pace, Rule("all", suite="s", min_pass_rate=0))
    assert (missed.outcome, missed.blocking) == (GateOutcome.BLOCKED, frozenset())  # no failing case is why
    both = decided(answers([1] * 5, [2] * 5, FAILED), replace(pace, min_pass_rate=0))
    assert (both.outcome, both.blocking) == (GateOutcome.BLOCKED, frozenset())


def test_what_was_left_undone_blocks_nothing():
    rows = answers([1] * 6, [2] * 6)
    undone = Grade(GradedAssertion("contains"), Outcome.ERROR, undone=True)
    rows[0] = replace(rows[0], took=None, undone=True, grades=(undone,), outcome=Outcome.ERROR)
    (result,) = decided(rows, Rule("pace", suite="s", max_cost_increase=0.1)).rules
    assert (result.outcome, "allowed so far" in result.reason) == (Outcome.ERROR, True)


def test_only_answers_that_the_rule_looks_at_are_measured():
    rows = answers([1] * 5, [2] * 5)
    inner = [replace(row, grades=(replace(PASSED, inner=True),)) for row in rows]
    for select, measured in ((Select(), True), (Select(assertion="contains"), True), (Select(assertion="equals"), False)):
        rule = Rule("pace", select, suite="s", max_cost_increase=0.1)
        assert [side is not None for side in measure_increases(rows, rule)] == [measured] * 2, select
        assert measure_increases(inner, rule) == (None, None), select
    assert measure_increases(inner)[0].compared == 5  # of the whole run
