"""The rules of the gate, on grades made by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.policy import Rule, Select
from gradegate.results.accounts import Made
from gradegate.results.case_outcome import conclude_case
from gradegate.results.gate_changes import GUARD, ChangeKind, GateChange, GateChanges
from gradegate.results.grades import Outcome
from gradegate.results.run_result import GateOutcome
from gradegate.structs import replace
from support.decided import E, F, P, apply_one_rule, decide_rows, grade, make_rows, row
from support.each import each, table
from support.scenes import scenes

test_a_scene = scenes(__file__)


@each(("rows", "result"), table(__file__, "without_a_gate_block_every_case_must_pass"))
def test_without_a_gate_block_every_case_must_pass(rows, result):
    assert decide_rows(rows).outcome is GateOutcome(result)


def test_a_rate_is_over_what_was_graded():
    rows, rule = "P*19 F Eh*5", Rule("r", min_pass_rate=0.95, suite="s")
    found = decide_rows(rows, rule, errors="ignore", up_to=0.2)
    assert (found.outcome, found.rules[0].pass_rate) == (GateOutcome.PASS, 0.95)
    assert decide_rows(rows, rule, errors="ignore", up_to=0.19).outcome is GateOutcome.INCONCLUSIVE
    assert decide_rows(rows, rule, errors="block").outcome is GateOutcome.BLOCKED
    assert decide_rows(rows, rule).outcome is GateOutcome.INCONCLUSIVE


@each(("rows", "rate", "result"), [("P*7 F*3", 0.7, P), ("P*69 F*31", 0.7, F), ("P*70 F*30", 0.7, P), ("P*3 F*7", 0.3, P)])
def test_a_pass_rate_is_met_at_equality(rows, rate, result):
    assert apply_one_rule(rows, min_pass_rate=rate).outcome is result


def test_a_mean_score_counts_scores_and_not_errors():
    found = decide_rows("P=0.9 F=0.5 E", Rule("r", min_score=0.7, suite="s"), errors="ignore", up_to=1)
    assert (found.rules[0].score, found.rules[0].outcome) == (pytest.approx(0.7), P)


@each(("keys", "graded", "undone", "outcome"), table(__file__, "a_rule_is_missed_only_if_it_is_with_a_pass_for_all_that_is_undone"))
def test_a_rule_is_missed_only_if_it_is_with_a_pass_for_all_that_is_undone(keys, graded, undone, outcome):
    assert apply_one_rule(f"{graded} Eu*{undone}", **keys).outcome is Outcome(outcome)
    assert apply_one_rule(f"{graded} E*{undone}", **keys).outcome is apply_one_rule(graded, **keys).outcome  # an outage changes nothing


def test_a_mean_of_metrics_takes_what_is_undone_for_its_own_metric():
    rows = {"": F, " E@au": E, " E@bu": F}  # with the second, 0.75 at best
    assert {more: apply_one_rule(f"P=0.0@a P=1.0@b*9{more}", min_score=0.7, by_metric=True).outcome for more in rows} == rows


@each(("undone", "more"), [(1, "1 more was not finished"), (9, "9 more were not finished")])
def test_a_rule_that_might_be_met_says_how_much_was_graded_and_how_much_was_not(undone, more):
    found = decide_rows(f"P=0.6 Eu*{undone}", Rule("r", suite="s", min_score=0.7))
    said = f"mean score 0.6 is below 0.7 so far, of 1 graded; {more} and might meet the rule"
    assert (found.rules[0].reason, found.outcome) == (said, GateOutcome.INCONCLUSIVE)


def test_an_advisory_rule_never_blocks_and_is_nothing_to_read_where_it_is_met():
    blocking, advisory = Rule("b", min_pass_rate=1, suite="s"), Rule("r", min_pass_rate=1, blocking=False, suite="s")
    found = decide_rows("F P", advisory)
    assert (found.outcome, found.reason) == (GateOutcome.ADVISORY, "r: pass rate 50% is below 100%")
    found = decide_rows("PF-", blocking, advisory)  # `blocking: false` takes an assertion out of blocking rules
    assert ([rule.outcome for rule in found.rules], found.outcome) == ([P, F], GateOutcome.ADVISORY)
    assert decide_rows("P", blocking, advisory).outcome is GateOutcome.PASS


@each(("select", "rate"), table(__file__, "a_rule_looks_at_what_it_selects"))
def test_a_rule_looks_at_what_it_selects(select, rate):
    fact = {"type": "factuality", "metric": "facts"}
    rows = [
        row(grade(outcome, **fact), grade(P), provider=name, description=about)
        for outcome, name, about in ((F, "a", "one"), (P, "b", "two"))
    ]
    assert apply_one_rule(rows, select=Select(**select), min_pass_rate=0.1).pass_rate == rate


@each("cut", [{"interrupted": "interrupted"}, {"incomplete": "2 of 3"}])
def test_a_run_that_was_cut_short_is_never_a_pass_and_meets_no_rule(cut):
    advice = Rule("advice", min_pass_rate=0.1, blocking=False, suite="s")
    found = decide_rows("P*2 Eu*9 F", Rule("most", min_pass_rate=0.5, suite="s"), advice, **cut)
    assert (found.outcome, [rule.outcome for rule in found.rules]) == (GateOutcome.INCONCLUSIVE, [E, E])
    assert found.rules[0].reason == found.rules[1].reason == found.reason
    assert decide_rows("P", **cut).rules[0].outcome is E


def test_only_what_is_certain_blocks_an_interrupted_run():
    """What is undone might pass; a failure and an error that came do not change any more."""
    certain = {"P*2 Eu*9": False, "P*2 !u*9": False, "P Eu E": True, "P !": True, "P Eu F": True}
    for rows, blocks in certain.items():
        found = decide_rows(rows, errors="block", interrupted="interrupted")
        assert found.outcome is (GateOutcome.BLOCKED if blocks else GateOutcome.INCONCLUSIVE), rows


@each(("grades", "threshold", "outcome", "score", "reason"), table(__file__, "what_a_case_comes_to"))
def test_what_a_case_comes_to(grades, threshold, outcome, score, reason):
    found = conclude_case([it for answer in make_rows(grades) for it in answer.grades], threshold)
    assert found == (Outcome(outcome), score if score is None else pytest.approx(score), reason)


def test_weights_of_a_case():
    assert conclude_case([grade(P, 1.0, weight=3), grade(F, 0.0)], 0.75) == (P, 0.75, "")


def test_a_mean_over_points_is_none():
    rule = apply_one_rule("P=100.0 F=0.0", min_score=0.8)
    assert (rule.outcome, rule.reason) == (E, "the score 100 of contains is outside 0 to 1, so no mean can be taken")


def test_a_failure_is_never_hidden_by_an_error():
    assert decide_rows("FE P*29", errors="ignore", up_to=0.02).outcome is GateOutcome.BLOCKED


def test_what_does_not_count_shows_what_it_has_and_blocks_nothing():
    found, alone = decide_rows("P F-"), decide_rows("P- F-")
    assert (found.outcome, found.rules[0].reason) == (GateOutcome.ADVISORY, "1 of 1 case passed")
    assert (alone.outcome, alone.rules) == (GateOutcome.ADVISORY, ())
    assert (decide_rows("P-").outcome, decide_rows("E-").outcome) == (GateOutcome.ADVISORY, GateOutcome.INCONCLUSIVE)


def test_a_failure_that_no_rule_selects_is_advice():
    found = decide_rows([row(grade(P, type="factuality"), grade(F))], Rule("facts", Select(assertion="factuality"), 1.0, suite="s"))
    assert (found.outcome, found.reason) == (GateOutcome.ADVISORY, "1 advisory finding")


_rows = st.lists(st.lists(st.tuples(st.sampled_from([P, F, E]), st.booleans(), st.sampled_from([0, 1, 2.5])), max_size=4), max_size=6)


@given(_rows)
def test_everything_planned_is_accounted_for_and_no_error_is_green(drawn):
    found = decide_rows([row(*(grade(o, blocking=b, weight=w) for o, b, w in grades)) for grades in drawn])
    flat = [outcome for grades in drawn for outcome, _, _ in grades]
    counts = found.grades
    assert (counts.passed, counts.failed, counts.errored) == tuple(flat.count(o) for o in (P, F, E))
    assert counts.planned == len(flat)
    counted = [o for grades in drawn for o, b, w in grades if b and w]
    if E in counted or F in counted or not flat:
        assert found.outcome in (GateOutcome.BLOCKED, GateOutcome.INCONCLUSIVE)
    if F in counted:
        assert found.outcome is GateOutcome.BLOCKED


@each(("rows", "outcome"), table(__file__, "a_mean_score_is_met_at_equality_and_missed_just_below"))
def test_a_mean_score_is_met_at_equality_and_missed_just_below(rows, outcome):
    assert apply_one_rule(rows, min_score=0.7).outcome is Outcome(outcome)


@each(("up_to", "result"), [(0.5, GateOutcome.PASS), (0.4999, GateOutcome.INCONCLUSIVE)])
def test_answers_that_never_came_count_in_the_share_of_errors(up_to, result):
    rows = [*make_rows("PP Eh . !*2"), *make_rows("P", error="late")]  # with those that never came, 3 of 6 are errors; without, 1 of 4
    assert decide_rows(rows, Rule("r", min_pass_rate=1, suite="s"), errors="ignore", up_to=up_to).outcome is result


@each(("count", "reason"), [(1, "1 error: down"), (2, "2 errors; the first: down")])
def test_answers_that_never_came_are_counted_and_said(count, reason):
    rows, rule = f"P !*{count}", Rule("r", min_pass_rate=1, suite="s")
    assert decide_rows(rows, rule).reason == reason
    blocked = decide_rows(rows, rule, errors="block")
    assert (blocked.reason, blocked.outcome) == (f"{reason}, and errors block", GateOutcome.BLOCKED)


@each(("scale", "rows", "reason"), table(__file__, "a_mean_score_is_shown_as_people_of_the_dialect_know_it"))
def test_a_mean_score_is_shown_as_people_of_the_dialect_know_it(scale, rows, reason):
    assert decide_rows(rows, Rule("r", min_score=0.7, scale=scale, suite="s")).reason == reason


@each("unseen", ["F0", "Fi", "F-", ""])  # without weight, a member of a set that decides, advisory, of another suite
def test_what_a_blocking_rule_does_not_look_at_is_not_in_its_rate(unseen):
    others = make_rows(unseen) or [replace(row(grade(F)), suite="another")]
    rule = apply_one_rule([*make_rows("P"), *others], min_pass_rate=1)
    assert (rule.outcome, rule.passed, rule.failed) == (P, 1, 0)


@each(("kind", "block", "approved", "outcome", "guard"), table(__file__, "a_weaker_gate_advises_or_blocks_until_somebody_approves_of_it"))
def test_a_weaker_gate_advises_or_blocks_until_somebody_approves_of_it(kind, block, approved, outcome, guard):
    found = decide_rows("P", changes=GateChanges((GateChange(ChangeKind(kind), "less"),), block, approved))
    assert found.outcome is GateOutcome(outcome)
    assert [rule.outcome.value for rule in found.rules if rule.rule.name == GUARD] == guard


WEAKER = GateChanges((GateChange(ChangeKind.WEAKER, "less"),))
ALL_PASS = Rule("all", min_pass_rate=1, suite="s")
ENOUGH = Rule("enough", min_pass_rate=0.5, min_cases=9, suite="s")
ADVICE = Rule("advice", min_pass_rate=1, blocking=False, suite="s")
METRIC = Rule("a", Select(metric="a"), 0.5, suite="s")


@each(
    ("rows", "rules", "more", "outcome", "reason"),
    [
        ("F E", [ALL_PASS], {"errors": "block"}, "blocked", "all: pass rate 0% is below 100%"),
        ("F", [ALL_PASS], {"interrupted": "interrupted"}, "blocked", "all: pass rate 0% is below 100%"),
        ("P !", [ALL_PASS], {"errors": "block", "interrupted": "interrupted"}, "blocked", "1 error: down, and errors block"),
        ("P", [ALL_PASS], {"interrupted": "terminated", "incomplete": "x"}, "inconclusive", "the run was terminated before it ended"),
        ("P !", [ALL_PASS], {"incomplete": "x"}, "inconclusive", "parts of the run are missing or damaged: x"),
        ("P !", [ENOUGH], {}, "inconclusive", "1 error: down"),
        ("PF-", [ENOUGH, ADVICE], {}, "inconclusive", "enough: only 1 of at least 9 cases graded"),
        ("PF-", [ENOUGH], {"changes": WEAKER}, "inconclusive", "enough: only 1 of at least 9 cases graded"),
        ("PF-", [ALL_PASS, ADVICE], {"changes": WEAKER}, "advisory", "this pull request weakens its own gate in 1 place"),
        ("P@aF@b PF-", [METRIC, ADVICE], {}, "advisory", "advice: pass rate 0% is below 100%"),
        ("P@aF@b", [METRIC], {}, "advisory", "1 advisory finding"),
        ("F", [replace(ALL_PASS, min_pass_rate=0.0, blocking=False)], {}, "advisory", "everything passed, but nothing can block"),
    ],
)
def test_the_first_of_several_reasons_decides(rows, rules, more, outcome, reason):
    found = decide_rows(rows, *rules, **more)
    assert (found.outcome.value, found.reason[: len(reason)]) == (outcome, reason)


def test_two_missed_rules_are_both_named_and_of_two_undecided_ones_the_first():
    second = replace(ALL_PASS, name="second")
    assert decide_rows("F", ALL_PASS, second).reason == "all: pass rate 0% is below 100%; second: pass rate 0% is below 100%"
    unsure = [ENOUGH, replace(ENOUGH, name="second", min_cases=8)]
    assert decide_rows("P", *unsure).reason == "enough: only 1 of at least 9 cases graded"


def test_a_suite_in_which_nothing_was_graded_is_named():
    rows = [*make_rows("P"), *(replace(it, suite="t") for it in make_rows("E-"))]
    found = decide_rows(rows, ALL_PASS)
    assert (found.outcome, found.reason) == (GateOutcome.INCONCLUSIVE, "nothing could be graded in t")


def test_a_part_of_the_gate_that_passes_only_advises():
    assert decide_rows("P", made=Made(only="the failures of an earlier run")).outcome is GateOutcome.ADVISORY
    assert decide_rows("F", made=Made(only="the failures of an earlier run")).outcome is GateOutcome.BLOCKED
