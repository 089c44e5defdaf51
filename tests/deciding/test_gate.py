"""The rules of the gate, on grades made by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.deciding.gate import decide
from gradegate.grading.conclude import conclude_case
from gradegate.values.changes import GUARD, NO_CHANGES, ChangeKind, GateChange, GateChanges
from gradegate.values.result import Asserted, GateOutcome, Grade, Outcome, Row, RunResult, cases_of
from gradegate.values.suite import Policy, Rule, Select
from support.each import each

P, F, E = Outcome.PASS, Outcome.FAIL, Outcome.ERROR
EVERY = Rule("every case passes", every_case=True, suite="s")


def grade(outcome, score=None, **assertion):
    score = {P: 1.0, F: 0.0, E: None}[outcome] if score is None else score
    return Grade(Asserted(assertion.pop("type", "contains"), **assertion), outcome, score)


def row(*grades, **more):
    outcome, score, _ = conclude_case(grades, None)
    fields = {"description": "", "provider": "p", "prompt_label": "", "prompt": "", "vars": {}, "outcome": outcome}
    return Row(suite="s", grades=grades, score=score, **{**fields, **more})


def decided(rows, *rules, errors="inconclusive", up_to=0.0, changes=NO_CHANGES, **run):
    return decide(RunResult(cases_of(rows), **run), [Policy(tuple(rules) or (EVERY,), errors, up_to)], changes)


@each(
    ("rows", "result"),
    [
        ([row(grade(P))], GateOutcome.PASS),
        ([row(grade(P)), row(grade(F))], GateOutcome.BLOCKED),
        ([row(grade(P)), row(grade(E))], GateOutcome.INCONCLUSIVE),
        ([row(grade(F)), row(grade(E))], GateOutcome.BLOCKED),  # blocked wins
        ([row(grade(E))], GateOutcome.INCONCLUSIVE),
        ([], GateOutcome.INCONCLUSIVE),
        ([row(grade(P), grade(F, blocking=False))], GateOutcome.ADVISORY),
        ([row(grade(P), grade(E, blocking=False))], GateOutcome.ADVISORY),
        ([row(grade(P), grade(F, weight=0))], GateOutcome.ADVISORY),
        ([row(grade(F, weight=0))], GateOutcome.ADVISORY),
        ([row(), row(grade(P))], GateOutcome.PASS),  # a test without assertions is nothing checked
        ([row(error="down", outcome=E), row(grade(P))], GateOutcome.INCONCLUSIVE),
    ],
)
def test_without_a_gate_block_every_case_must_pass(rows, result):
    assert decided(rows).outcome is result


def test_a_rate_is_over_what_was_graded():
    rows = [row(grade(P))] * 19 + [row(grade(F))] + [row(replace(grade(E), unheard=True))] * 5
    rule = Rule("r", min_pass_rate=0.95, suite="s")
    found = decided(rows, rule, errors="ignore", up_to=0.2)
    assert (found.outcome, found.rules[0].pass_rate) == (GateOutcome.PASS, 0.95)
    assert decided(rows, rule, errors="ignore", up_to=0.19).outcome is GateOutcome.INCONCLUSIVE
    assert decided(rows, rule, errors="block").outcome is GateOutcome.BLOCKED
    assert decided(rows, rule).outcome is GateOutcome.INCONCLUSIVE


@each(("passed", "rate", "result"), [(7, 0.7, P), (69, 0.7, F), (70, 0.7, P), (3, 0.3, P)])
def test_a_pass_rate_is_met_at_equality(passed, rate, result):
    total = 10 if passed < 10 else 100
    rows = [row(grade(P))] * passed + [row(grade(F))] * (total - passed)
    assert decided(rows, Rule("r", min_pass_rate=rate, suite="s")).rules[0].outcome is result


def test_a_mean_score_counts_scores_and_not_errors():
    rows = [row(grade(P, 0.9)), row(grade(F, 0.5)), row(grade(E))]
    found = decided(rows, Rule("r", min_score=0.7, suite="s"), errors="ignore", up_to=1)
    assert (found.rules[0].score, found.rules[0].outcome) == (pytest.approx(0.7), P)


def left(outcome=E, **assertion):
    return replace(grade(outcome, **assertion), undone=True)


SCORES = {"min_score": 0.7}
BY_METRIC = {"min_score": 0.7, "by_metric": True}


@each(
    ("keys", "graded", "undone", "outcome"),
    [
        ({"min_pass_rate": 0.95}, [P] * 90 + [F] * 5, 5, E),
        ({"min_pass_rate": 0.95}, [P] * 90 + [F] * 5, 4, F),  # 94 of 99
        ({"min_pass_rate": 0.95}, [P] * 95 + [F] * 5, 50, P),  # met so far: that the run is inconclusive is said by the errors
        ({"min_pass_rate": 0.9, "confidence": 0.9}, [P] * 30 + [F] * 30, 300, E),
        ({"min_pass_rate": 0.9, "confidence": 0.9}, [P] * 30 + [F] * 30, 3, F),
        (SCORES, [0.6], 1, E),
        (SCORES, [0.4], 1, E),
        (SCORES, [0.39], 1, F),
        ({**SCORES, "min_pass_rate": 1.0}, [0.6, F], 9, F),
        ({"min_pass_rate": 0.5, "min_cases": 5}, [F, F], 9, E),
    ],
)
def test_a_rule_is_missed_only_if_it_is_with_a_pass_for_all_that_is_undone(keys, graded, undone, outcome):
    rows = [row(grade(it) if isinstance(it, Outcome) else grade(P, it)) for it in graded]
    rule = Rule("r", suite="s", **keys)
    assert decided([*rows, *[row(left())] * undone], rule).rules[0].outcome is outcome
    without = decided([*rows, *[row(grade(E))] * undone], rule).rules[0]  # an outage changes nothing
    assert without.outcome is decided(rows, rule).rules[0].outcome


def test_a_mean_of_metrics_takes_what_is_undone_for_its_own_metric():
    rows = [row(grade(P, 0.0, metric="a"))] + [row(grade(P, 1.0, metric="b"))] * 9
    rule = Rule("r", suite="s", **BY_METRIC)
    assert decided(rows, rule).rules[0].outcome is F
    assert decided([*rows, row(left(metric="a"))], rule).rules[0].outcome is E  # 0.75 at best
    assert decided([*rows, row(left(metric="b"))], rule).rules[0].outcome is F


@each(
    ("undone", "said"),
    [
        (1, "mean score 0.6 is below 0.7 so far, of 1 graded; 1 more was not finished and might meet the rule"),
        (9, "mean score 0.6 is below 0.7 so far, of 1 graded; 9 more were not finished and might meet the rule"),
    ],
)
def test_a_rule_that_might_be_met_says_how_much_was_graded_and_how_much_was_not(undone, said):
    found = decided([row(grade(P, 0.6)), *[row(left())] * undone], Rule("r", suite="s", min_score=0.7))
    assert (found.rules[0].reason, found.outcome) == (said, GateOutcome.INCONCLUSIVE)


def test_an_advisory_rule_never_blocks():
    found = decided([row(grade(F)), row(grade(P))], Rule("r", min_pass_rate=1, blocking=False, suite="s"))
    assert (found.outcome, found.reason) == (GateOutcome.ADVISORY, "r: pass rate 50% is below 100%")


def test_a_rule_looks_at_what_it_selects():
    rows = [
        row(grade(F, type="factuality", metric="facts"), grade(P), provider="a", description="one"),
        row(grade(P, type="factuality", metric="facts"), grade(P), provider="b", description="two"),
    ]
    for select, rate in [
        (Select(assertion="fact*"), 0.5),
        (Select(metric="facts", provider="b"), 1),
        (Select(description="o*"), 0.5),
        (Select(provider="a", assertion="contains"), 1),
        (Select(), 0.75),
    ]:
        assert decided(rows, Rule("r", select, 0.1, suite="s")).rules[0].pass_rate == rate


def test_blocking_false_takes_an_assertion_out_of_blocking_rules():
    rows = [row(grade(P), grade(F, blocking=False))]
    blocking, advisory = Rule("b", min_pass_rate=1, suite="s"), Rule("a", min_pass_rate=1, blocking=False, suite="s")
    found = decided(rows, blocking, advisory)
    assert [rule.outcome for rule in found.rules] == [P, F]
    assert found.outcome is GateOutcome.ADVISORY


def test_an_interrupted_run_is_never_a_pass():
    assert decided([row(grade(P))], interrupted="interrupted").outcome is GateOutcome.INCONCLUSIVE


def test_a_test_threshold_replaces_every_assertion_passing():
    grades = [grade(P, 1.0, weight=3), grade(F, 0.0)]
    assert conclude_case(grades, 0.75) == (P, 0.75, "")
    why = "the weighted mean 0.75 is below the threshold 0.76 of the test"
    assert conclude_case(grades, 0.76) == (F, 0.75, why)
    assert conclude_case(grades, None) == (F, 0.75, "")


def test_three_grades_of_a_threshold_reach_it():
    assert conclude_case([grade(P, 0.7)] * 3, 0.7).outcome is P
    assert conclude_case([grade(P, 0.1), grade(P, 0.2), grade(P, 0.3)], 0.2).outcome is P


def test_an_error_leaves_a_test_threshold_open_as_long_as_it_could_be_met():
    grades = [grade(P, 1.0, weight=3), grade(F, 0.0), grade(E)]  # 0.8 at best
    assert conclude_case(grades, 0.8) == (E, 0.75, "")
    assert conclude_case(grades, 0.81).outcome is F


def test_a_mean_over_points_is_none():
    outcome, _, why = conclude_case([grade(P, 7.0), grade(P, 0.5)], 0.7)
    assert (outcome, why) == (E, "the score 7 of contains is outside 0 to 1, so no mean can be taken")
    rows = [row(grade(P, 100.0)), row(grade(F, 0.0))]
    rule = decided(rows, Rule("r", min_score=0.8, suite="s")).rules[0]
    assert (rule.outcome, rule.reason) == (E, "the score 100 of contains is outside 0 to 1, so no mean can be taken")


def test_a_failure_is_never_hidden_by_an_error():
    assert conclude_case([grade(F), grade(E)], None).outcome is F
    rows = [row(grade(F), grade(E)), *[row(grade(P))] * 29]
    assert decided(rows, errors="ignore", up_to=0.02).outcome is GateOutcome.BLOCKED


def test_what_does_not_count_shows_what_it_has_and_blocks_nothing():
    advice = {"blocking": False}
    assert conclude_case([grade(F, **advice)], None).outcome is F
    assert conclude_case([grade(E, weight=0)], None).outcome is E
    found = decided([row(grade(P)), row(grade(F, **advice))])
    assert (found.outcome, found.rules[0].reason) == (GateOutcome.ADVISORY, "1 of 1 case passed")
    alone = decided([row(grade(P, **advice)), row(grade(F, **advice))])
    assert (alone.outcome, alone.rules) == (GateOutcome.ADVISORY, ())
    assert decided([row(grade(P, **advice))]).outcome is GateOutcome.ADVISORY
    assert decided([row(grade(E, **advice))]).outcome is GateOutcome.INCONCLUSIVE


def test_a_failure_that_no_rule_selects_is_advice():
    rows = [row(grade(P, type="factuality"), grade(F))]
    found = decided(rows, Rule("facts", Select(assertion="factuality"), 1.0, suite="s"))
    assert (found.outcome, found.reason) == (GateOutcome.ADVISORY, "1 advisory finding")


_rows = st.lists(st.lists(st.tuples(st.sampled_from([P, F, E]), st.booleans(), st.sampled_from([0, 1, 2.5])), max_size=4), max_size=6)


@given(_rows)
def test_everything_planned_is_accounted_for_and_no_error_is_green(drawn):
    rows = [row(*(grade(o, blocking=b, weight=w) for o, b, w in grades)) for grades in drawn]
    found = decided(rows)
    flat = [outcome for grades in drawn for outcome, _, _ in grades]
    counts = found.grades
    assert (counts.passed, counts.failed, counts.errored) == tuple(flat.count(o) for o in (P, F, E))
    assert counts.planned == len(flat)
    counted = [o for grades in drawn for o, b, w in grades if b and w]
    if E in counted or F in counted or not flat:
        assert found.outcome in (GateOutcome.BLOCKED, GateOutcome.INCONCLUSIVE)
    if F in counted:
        assert found.outcome is GateOutcome.BLOCKED


@each(
    ("scores", "outcome"),
    [
        ((0.9, 0.5), P),
        ((0.7, 0.7, 0.7), P),  # whose sum in floating point is below 2.1
        ((0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), P),
        ((0.7, 0.6999), F),
        ((0.9, 0.4999999), F),
    ],
)
def test_a_mean_score_is_met_at_equality_and_missed_just_below(scores, outcome):
    rows = [row(grade(P, score)) for score in scores]
    assert decided(rows, Rule("r", min_score=0.7, suite="s")).rules[0].outcome is outcome


SILENT = {"error": "down", "outcome": E}


@each(("up_to", "result"), [(0.5, GateOutcome.PASS), (0.4999, GateOutcome.INCONCLUSIVE)])
def test_answers_that_never_came_count_in_the_share_of_errors(up_to, result):
    rows = [row(grade(P), grade(P)), row(replace(grade(E), unheard=True)), row(), row(grade(P), error="late", outcome=P)]
    rows += [row(**SILENT)] * 2  # with these, 3 of 6 are errors; without, 1 of 4
    assert decided(rows, Rule("r", min_pass_rate=1, suite="s"), errors="ignore", up_to=up_to).outcome is result


@each(("count", "reason"), [(1, "1 error: down"), (2, "2 errors; the first: down")])
def test_answers_that_never_came_are_counted_and_said(count, reason):
    rows = [row(grade(P)), *[row(**SILENT)] * count]
    rule = Rule("r", min_pass_rate=1, suite="s")
    assert decided(rows, rule).reason == reason
    assert decided(rows, rule, errors="block").reason == f"{reason}, and errors block"
    assert decided(rows, rule, errors="block").outcome is GateOutcome.BLOCKED


@each(
    ("scale", "score", "reason"),
    [
        (1, 0.6999, "r: mean score 0.6999 is below 0.7"),
        (1, 0.7, "mean score 0.7, at least 0.7"),
        (100, 0.6999, "r: mean score 69.99 is below 70"),
        (100, 0.7, "mean score 70, at least 70"),
    ],
)
def test_a_mean_score_is_shown_as_people_of_the_dialect_know_it(scale, score, reason):
    assert decided([row(grade(P, score))], Rule("r", min_score=0.7, scale=scale, suite="s")).reason == reason


@each(
    "unseen",
    [
        row(grade(F, weight=0)),
        row(replace(grade(F), inner=True)),  # a member of an assert-set: the set decides
        replace(row(grade(F)), suite="another"),
        row(grade(F, blocking=False)),
    ],
    ids=["weightless", "inner", "of another suite", "advisory"],
)
def test_what_a_blocking_rule_does_not_look_at_is_not_in_its_rate(unseen):
    rule = decided([row(grade(P)), unseen], Rule("r", min_pass_rate=1, suite="s")).rules[0]
    assert (rule.outcome, rule.passed, rule.failed) == (P, 1, 0)


def test_an_advisory_rule_that_is_met_is_nothing_to_read():
    rules = Rule("b", min_pass_rate=1, suite="s"), Rule("a", min_pass_rate=1, blocking=False, suite="s")
    assert decided([row(grade(P))], *rules).outcome is GateOutcome.PASS


def test_a_score_that_is_there_and_is_not_a_number_is_never_replaced_where_a_mean_needs_it(gate, llm):
    llm.reply = lambda path, body: '{"reason": "r", "pass": true, "score": "6/10"}'
    test = {"assert": [{"type": "llm-rubric", "value": "good"}], "options": {"provider": llm.spec()}}
    config = {"prompts": ["a"], "providers": ["echo"], "tests": [test]}
    assert gate(config).code == 0  # the grader's word alone
    why = 'the score "6/10" of llm-rubric is not a number, so no mean can be taken'
    by_rule = gate(config | {"gate": {"rules": [{"name": "r", "min-score": 0.7}]}})
    assert (by_rule.code, by_rule.results["rules"][0]["reason"]) == (3, why)
    by_case = gate(config | {"tests": [test | {"threshold": 0.7}]})
    assert (by_case.code, by_case.cases[0]["outcome"], by_case.cases[0]["reason"]) == (3, "error", why)


@each(
    ("kind", "block", "approved", "outcome", "guard"),
    [
        (ChangeKind.WEAKER, False, "", GateOutcome.ADVISORY, []),
        (ChangeKind.WEAKER, True, "", GateOutcome.BLOCKED, [F]),
        (ChangeKind.WEAKER, True, "the label `ok` of mona", GateOutcome.PASS, [P]),
        (ChangeKind.REMOVED, False, "the label `ok` of mona", GateOutcome.PASS, []),
        (ChangeKind.CHANGED, False, "", GateOutcome.PASS, []),
        (ChangeKind.CHANGED, True, "", GateOutcome.BLOCKED, [F]),
    ],
)
def test_a_weaker_gate_advises_or_blocks_until_somebody_approves_of_it(kind, block, approved, outcome, guard):
    found = decided([row(grade(P))], changes=GateChanges((GateChange(kind, "less"),), block, approved))
    assert found.outcome is outcome
    assert [rule.outcome for rule in found.rules if rule.rule.name == GUARD] == guard
