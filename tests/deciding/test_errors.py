"""Which ERRORs make a run inconclusive, whatever the policy, on grades made by hand."""

from dataclasses import replace

from gradegate.deciding.gate import decide
from gradegate.values.conversation import Usage
from gradegate.values.result import Asserted, GateOutcome, Grade, Outcome, Row, RunResult, Vote, cases_of
from gradegate.values.suite import Policy, Rule, Select
from support.each import each

P, F, E = Outcome.PASS, Outcome.FAIL, Outcome.ERROR
ALL = Rule("all", min_pass_rate=0.01, suite="s")
CONTRADICTED = "the grader contradicts itself: 2 of 4 asks failed"


def grade(outcome, *votes, kind="llm-rubric", metric="", **own):
    score = {P: 1.0, F: 0.0, E: None}[outcome]
    asserted = Asserted(kind, metric=metric, is_set=own.pop("is_set", False), weight=own.pop("weight", 1.0))
    return Grade(asserted, outcome, score, votes=tuple(map(Vote, votes)), reason=own.pop("reason", "why"), **own)


def row(*grades, outcome=None, **own):
    outcomes = [it.outcome for it in grades if not it.inner]
    worst = outcome or next((it for it in (F, E) if it in outcomes), P)
    return Row("s", "d", "p", "l", "", {}, worst, grades=tuple(grades), **own)


PASSED = row(grade(P))
SET = grade(E, kind="assert-set", is_set=True)


def decided(*rows, rules=(ALL,), errors="ignore", up_to=0.5, **run):
    return decide(RunResult(cases_of(rows), **run), [Policy(tuple(rules), errors, up_to)])


@each(
    ("unclear", "ignored"),
    [
        (row(grade(E, unheard=True)), True),  # no answer came
        (row(grade(E, E, unheard=True)), True),
        (row(grade(E)), False),  # one came, and could not be judged
        (row(grade(E, withheld=True)), False),
        (row(grade(E, F, E, E)), False),  # could not be asked again
        (row(grade(E, F, P, F, P, reason=CONTRADICTED)), False),
        (row(replace(grade(E), undone=True)), False),
        (row(replace(SET, unheard=True), grade(E, inner=True, unheard=True)), True),
        (row(SET, grade(E, F, E, E, inner=True)), False),
        (row(replace(SET, undone=True), grade(E, inner=True)), False),
        (row(error="down", outcome=E), True),
        (row(error="an empty text", outcome=E, withheld=True), False),
        (row(error="not run", outcome=E, undone=True), False),
    ],
)
def test_a_failure_and_what_is_undone_can_be_ignored_up_to_no_share(unclear, ignored):
    found = decided(*[PASSED] * 9, unclear)
    assert found.outcome is (GateOutcome.PASS if ignored else GateOutcome.INCONCLUSIVE)
    assert decided(*[PASSED] * 9, unclear, errors="inconclusive").outcome is GateOutcome.INCONCLUSIVE
    assert decided(*[PASSED] * 9, unclear, errors="block").outcome is GateOutcome.BLOCKED


def test_of_errors_that_may_be_ignored_and_one_that_may_not_the_latter_is_named():
    rows = [*[PASSED] * 9, row(grade(E, reason="HTTP 500", unheard=True)), row(grade(E, F, P, F, P, reason=CONTRADICTED))]
    assert decided(*rows).reason == "the grader contradicts itself on 1 case (2 of 4 asks failed)"
    assert decided(*rows, up_to=0.1).reason == "2 errors; the first: HTTP 500"


PASSED_A = row(grade(P, metric="a"))
A = Rule("a", Select(metric="a"), 1.0, suite="s")


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
@each("undone", [False, True])
def test_an_error_that_no_blocking_rule_looks_at_is_advice(rules, result, undone):
    rows = [row(grade(P, metric="a"), grade(P, metric="b")), row(grade(P, metric="a"), grade(E, metric="b", undone=undone))]
    found = decided(*rows, rules=rules, errors="inconclusive")
    assert found.outcome is result
    if result is GateOutcome.ADVISORY:
        assert found.reason == "1 advisory finding"


def test_the_share_of_errors_is_one_of_what_blocking_rules_look_at():
    rows = [row(grade(P, metric="a"), grade(P, metric="b")), row(grade(E, metric="a", unheard=True), grade(P, metric="b"))]
    assert decided(*rows, rules=[A], up_to=0.5).outcome is GateOutcome.PASS
    assert decided(*rows, rules=[A], up_to=0.49).outcome is GateOutcome.INCONCLUSIVE
    assert decided(*rows, rules=[A, ALL], up_to=0.25).outcome is GateOutcome.PASS


@each(
    ("unclear", "took", "result"),
    [
        (row(grade(P, metric="a"), grade(E, unheard=True)), {}, GateOutcome.INCONCLUSIVE),
        (row(grade(P, metric="a"), grade(E)), {}, GateOutcome.ADVISORY),  # no model was asked
        (row(grade(P, metric="a"), grade(E, unheard=True)), {"grader_usage": Usage(1)}, GateOutcome.ADVISORY),
        (row(grade(P, metric="a"), grade(E, unheard=True)), {"grader_usage": Usage(cached=1)}, GateOutcome.ADVISORY),
        (row(grade(P, metric="a"), grade(E, unheard=True)), {"target_usage": Usage(9)}, GateOutcome.INCONCLUSIVE),
        (row(grade(E, unheard=True), error="down"), {"grader_usage": Usage(9)}, GateOutcome.INCONCLUSIVE),
        (row(grade(E, unheard=True), error="down"), {"target_usage": Usage(9)}, GateOutcome.ADVISORY),
    ],
)
def test_where_no_call_was_answered_at_all_nothing_is_advice(unclear, took, result):
    assert decided(PASSED_A, unclear, rules=[A], errors="inconclusive", **took).outcome is result


def test_where_nothing_at_all_could_be_graded_nothing_is_advice():
    rule = Rule("none", Select(metric="x"), 0.0, suite="s")
    found = decided(row(grade(E, metric="b")), rules=[replace(rule, blocking=False)])
    assert (found.outcome, found.reason) == (GateOutcome.INCONCLUSIVE, "nothing could be graded")


EVERY = Rule("every case passes", every_case=True, suite="s")


def test_a_case_whose_own_score_cannot_be_told_is_an_error_though_no_grade_is():
    torn = row(grade(P), outcome=E, reason="assertScoringFunction: it throws")
    said = "1 error: assertScoringFunction: it throws"
    assert decided(PASSED, torn, rules=[EVERY], errors="inconclusive").reason == said
    assert decided(PASSED, torn, rules=[EVERY], errors="block").outcome is GateOutcome.BLOCKED
    assert decided(PASSED, torn, rules=[EVERY]).outcome is GateOutcome.INCONCLUSIVE  # the answer came
    assert decided(PASSED, torn).outcome is GateOutcome.PASS  # that rule counts grades
    twice = row(grade(P), grade(E), outcome=E)
    assert decided(PASSED, twice, rules=[EVERY], errors="inconclusive").reason.startswith("1 error")
