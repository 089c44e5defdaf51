"""Which ERRORs make a run inconclusive, whatever the policy, on grades made by hand."""

from functools import partial

from gradegate.core.policy import Rule, Select
from gradegate.core.usage import Usage
from gradegate.results.run_result import GateOutcome
from gradegate.structs import replace
from support import decided as hand
from support.decided import EVERY, E, grade, make_rows, row
from support.each import each, table

ALL, A = Rule("all", min_pass_rate=0.01, suite="s"), Rule("a", Select(metric="a"), 1.0, suite="s")
decided = partial(hand.decide_rows, errors="ignore", up_to=0.5)


@each(("unclear", "ignored"), table(__file__, "a_failure_and_what_is_undone_can_be_ignored_up_to_no_share"))
def test_a_failure_and_what_is_undone_can_be_ignored_up_to_no_share(unclear, ignored):
    rows = f"P*9 {unclear}"
    assert decided(rows, ALL).outcome is (GateOutcome.PASS if ignored else GateOutcome.INCONCLUSIVE)
    assert decided(rows, ALL, errors="inconclusive").outcome is GateOutcome.INCONCLUSIVE
    assert decided(rows, ALL, errors="block").outcome is GateOutcome.BLOCKED


def test_of_errors_that_may_be_ignored_and_one_that_may_not_the_latter_is_named():
    down, (torn,) = row(grade(E, reason="HTTP 500", unheard=True)), make_rows("E(FPFP)")
    torn = replace(torn, grades=(replace(torn.grades[0], reason="the grader contradicts itself: 2 of 4 asks failed"),))
    rows = [*make_rows("P*9"), down, torn]
    assert decided(rows, ALL).reason == "the grader contradicts itself on 1 case (2 of 4 asks failed)"
    assert decided(rows, ALL, up_to=0.1).reason == "2 errors; the first: HTTP 500"


@each(
    ("rules", "result"),
    [
        ([A], GateOutcome.ADVISORY),
        ([A, replace(ALL, blocking=False)], GateOutcome.ADVISORY),  # a rule that blocks nothing, and is met
        ([A, ALL], GateOutcome.INCONCLUSIVE),
        ([replace(A, select=Select(metric="b"))], GateOutcome.INCONCLUSIVE),
        ([replace(ALL, blocking=False)], GateOutcome.ADVISORY),
    ],
)
@each("rows", ["P@aP@b P@aE@b", "P@aP@b P@aE@bu"])
def test_an_error_that_no_blocking_rule_looks_at_is_advice(rules, result, rows):
    found = decided(rows, *rules, errors="inconclusive")
    assert found.outcome is result
    assert result is not GateOutcome.ADVISORY or found.reason == "1 advisory finding"


def test_the_share_of_errors_is_one_of_what_blocking_rules_look_at():
    rows = "P@aP@b E@ahP@b"
    assert decided(rows, A, up_to=0.5).outcome is GateOutcome.PASS
    assert decided(rows, A, up_to=0.49).outcome is GateOutcome.INCONCLUSIVE
    assert decided(rows, A, ALL, up_to=0.25).outcome is GateOutcome.PASS


@each(("rows", "silent", "took", "result"), table(__file__, "where_no_call_was_answered_at_all_nothing_is_advice"))
def test_where_no_call_was_answered_at_all_nothing_is_advice(rows, silent, took, result):
    usage = {name: Usage(**it) for name, it in took.items()}
    assert decided([*make_rows(rows), *make_rows(silent, error="down")], A, errors="inconclusive", **usage).outcome is GateOutcome(result)


def test_where_nothing_at_all_could_be_graded_nothing_is_advice():
    found = decided("E@b", Rule("none", Select(metric="x"), 0.0, blocking=False, suite="s"))
    assert (found.outcome, found.reason) == (GateOutcome.INCONCLUSIVE, "nothing could be graded")


def test_a_case_whose_own_score_cannot_be_told_is_an_error_though_no_grade_is():
    rows = [*make_rows("P"), *make_rows("P", outcome=E, reason="it throws")]
    assert decided(rows, EVERY, errors="inconclusive").reason == "1 error: it throws"
    assert decided(rows, EVERY, errors="block").outcome is GateOutcome.BLOCKED
    assert decided(rows, EVERY).outcome is GateOutcome.INCONCLUSIVE  # the answer came
    assert decided(rows, ALL).outcome is GateOutcome.INCONCLUSIVE  # a rule that selects everything follows the case
    assert decided("P PE", EVERY, errors="inconclusive").reason.startswith("1 error")
