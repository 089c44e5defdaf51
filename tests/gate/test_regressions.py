"""The rules that look at the base: new failures and drops, decided from statuses alone."""

import json
from fractions import Fraction
from math import comb
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.policy import Policy, Rule, Select
from gradegate.gate.decision import decide
from gradegate.gate.regressions import SignTest
from gradegate.results.accounts import BaselineReport
from gradegate.results.grades import Counterpart, Grade, GradedAssertion, Outcome, Vote
from gradegate.results.rows import Row
from gradegate.results.run_result import GateOutcome, RunResult
from gradegate.structs import replace
from support.each import each

P, F, E = Outcome.PASS, Outcome.FAIL, Outcome.ERROR
VECTORS = json.loads((Path(__file__).parent.parent / "conformance" / "decisions.json").read_text())
NONE = Rule("regressions", suite="s", max_new_failures=0)
REPORT = BaselineReport("1a2b3c4d5e", 2, compared=100)


def case(status, base=P, name="c", **own):
    """A case of one grade, by its status and what the base says."""
    head = {"ok": P, "fixed": P, "error": E}.get(status, F)
    said = None if base is None else Counterpart(base, base)
    grade = Grade(GradedAssertion(own.pop("type", "llm-rubric")), head, status="undecided" if status == "error" else status, base=said)
    return Row("s", name, "p", "l", "", {}, own.pop("outcome", head), grades=(grade,), base=base, **own)


def decided(rows, *rules, report=REPORT, **policy):
    return decide(RunResult(tuple(rows), baseline=report), [Policy(rules, **policy)])


def applied(rows, rule=NONE, report=REPORT):
    return decided(rows, rule, report=report).rules[0]


MANY = (
    "2 new failures where at most 1 is allowed: 1 passing on the base (1a2b3c4, 2 days old), 1 without a base "
    "result; 1 known failure not counted"
)
OK = [case("ok") for _ in range(20)]


@each("vector", VECTORS["drop"], ids=lambda v: f"{v['worse']}-{v['better']}-{v['max_drop']}")
def test_drops_are_decided_as_the_specification_does(vector):
    cases = vector["cases"] - vector["worse"] - vector["better"]
    rows = [
        *(case("new-failure") for _ in range(vector["worse"])),
        *(case("fixed", F) for _ in range(vector["better"])),
        *(case("ok") for _ in range(cases)),
    ]
    result = applied(rows, Rule("drop", suite="s", max_drop=vector["max_drop"]))
    assert (result.outcome.value, result.worse, result.better) == (vector["outcome"], vector["worse"], vector["better"])
    assert result.p == pytest.approx(vector["p"], abs=1e-6)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_chance_of_a_drop_is_exact(worse, better):
    trials = worse + better
    assert SignTest(worse, better, 100).p == Fraction(sum(comb(trials, k) for k in range(worse, trials + 1)), 2**trials)


@pytest.mark.slow
def test_a_hundred_thousand_changed_cases_take_no_noticeable_time():
    assert SignTest(50_500, 49_500, 100_000).p < 0.01


@each(
    ("rows", "most", "outcome", "new", "reason"),
    [
        ([], 0, P, 0, "no new failure"),
        ([case("pre-existing", F), case("unsteady")], 0, P, 0, "no new failure; 1 known failure and 1 unsteady failure not counted"),
        ([case("unsteady"), case("unsteady")], 0, P, 0, "no new failure; 2 unsteady failures not counted"),
        ([case("new-failure")], 0, F, 1, "1 new failure, passing on the base (1a2b3c4, 2 days old)"),
        ([case("new-failure", None)], 0, F, 1, "1 new failure, without a base result"),
        ([case("new-failure"), case("new-failure", None), case("pre-existing", F)], 1, F, 2, MANY),
        ([case("new-failure", name="a `b`\nc")], 1, P, 1, "1 new failure, at most 1 allowed: `a `b` c`"),
        ([case("undecided")], 0, E, 0, "it is not known whether 1 failure is new"),
        ([case("", None)], 0, E, 0, "it is not known whether 1 failure is new"),
        ([case("undecided")], 1, P, 1, "1 failure may be new, at most 1 allowed: `c`"),
        ([case("", name="x")], 1, P, 1, "1 failure may be new, at most 1 allowed: `x`"),
        ([case("", name="x"), case("new-failure", name="y")], 2, P, 2, "2 failures may be new, at most 2 allowed: `y`, `x`"),
        ([case("undecided"), case("new-failure")], 1, E, 1, "it is not known whether 1 failure is new"),
        ([case("error")], 0, P, 0, "no new failure"),
        ([case("new-failure", outcome=P)], 0, P, 0, "no new failure"),  # the case tolerates it
    ],
)
def test_new_failures_are_counted_in_cases(rows, most, outcome, new, reason):
    result = applied([*OK, *rows], replace(NONE, max_new_failures=most))
    assert (result.outcome, result.new_failures, result.reason) == (outcome, new, reason)


THERE = "the base is broken: it failed {} compared cases"
HERE = "the grader is broken here: it fails {} compared cases, and the base's answers that passed"


@each(
    ("old", "unsteady", "ok", "more", "outcome", "reason"),
    [
        (3, 0, 3, [], P, "no new failure; 3 known failures not counted"),
        (4, 0, 3, [], E, THERE.format("4 of 7")),
        (0, 4, 3, [], E, HERE.format("4 of 7")),
        (2, 2, 3, [], E, f"{THERE.format('2 of 7')}; 2 more: unsteady"),
        (1, 3, 3, [], E, f"{HERE.format('3 of 7')}; 1 more: known"),
        (1, 2, 3, [], P, "no new failure; 1 known failure and 2 unsteady failures not counted"),
        # Only what has an outcome on both sides is compared.
        (1, 0, 1, [case("error"), case("error", E), case("ok", None), case("ok", E)], P, "no new failure; 1 known failure not counted"),
        (2, 0, 1, [case("error"), case("ok", None)], E, THERE.format("2 of 3")),
        (1, 0, 1, [case("undecided")], E, "it is not known whether 1 failure is new"),
        (2, 0, 0, [case("new-failure", None)], E, THERE.format("2 of 2")),
        (2, 0, 1, [case("new-failure")], F, "1 new failure, passing on the base (1a2b3c4, 2 days old); 2 known failures not counted"),
    ],
)
def test_a_majority_that_is_excused_decides_nothing(old, unsteady, ok, more, outcome, reason):
    rows = [*[case("pre-existing", F)] * old, *[case("unsteady")] * unsteady, *OK[:ok], *more]
    result = applied(rows)
    assert (result.outcome, result.reason, result.excused) == (outcome, reason, "broken" in reason)
    if result.excused:
        assert applied(rows, Rule("drop", suite="s", max_drop=0.5)).reason == reason
        assert decided(rows, NONE).outcome is GateOutcome.INCONCLUSIVE


def test_what_a_rule_asks_of_the_run_itself_is_missed_whatever_is_excused():
    rows = [case("pre-existing", F)] * 3
    assert applied(rows, replace(NONE, min_pass_rate=0.5)).reason == "pass rate 0% is below 50%"


def test_a_run_with_new_failures_that_may_be_is_advisory_and_names_them():
    found = decided([*OK, case("new-failure", name="refund")], replace(NONE, max_new_failures=1))
    assert found.outcome is GateOutcome.ADVISORY
    assert found.reason == "regressions: 1 new failure, at most 1 allowed: `refund`"


def test_a_run_that_cannot_tell_is_inconclusive_and_never_green():
    assert decided([*OK, case("undecided")], NONE).outcome is GateOutcome.INCONCLUSIVE


def test_a_rule_looks_at_the_grades_that_it_selects():
    rows = [*OK, case("new-failure", type="contains")]
    assert applied(rows, replace(NONE, select=Select(assertion="llm-rubric"))).outcome is P
    assert applied(rows, replace(NONE, select=Select(assertion="contains"))).outcome is F


def test_a_rule_of_several_keys_is_missed_when_one_of_them_is():
    rows = [*OK, case("pre-existing", F)]
    both = replace(NONE, min_pass_rate=1.0)
    assert applied(rows, both).reason == "pass rate 95.2% is below 100%"
    assert applied([*OK, case("new-failure")], replace(NONE, min_pass_rate=0.5)).outcome is F
    assert applied(rows, replace(NONE, min_pass_rate=0.5)).outcome is P


def test_without_a_compared_case_a_drop_cannot_be_told():
    rows = [case("ok", None) for _ in range(5)]
    found = decided(rows, Rule("drop", suite="s", max_drop=0.1), report=None)
    assert found.outcome is GateOutcome.INCONCLUSIVE
    assert found.reason == "drop: no case could be compared with the base"


@each(("undone", "base", "outcome"), [(0, F, F), (3, F, E), (3, P, F), (300, P, E), (300, None, F)])
@each("answers", [False, True])
def test_a_drop_is_one_only_if_it_is_with_a_pass_for_all_that_is_undone(undone, base, outcome, answers):
    first = {"reask": "answers"} if answers else {}
    left = case("error", base)
    left = replace(left, grades=tuple(replace(grade, undone=True) for grade in left.grades))
    rows = [*(case("new-failure") for _ in range(7)), *OK, *([left] * undone)]
    rule = decided(rows, Rule("drop", suite="s", max_drop=0.05), **first).rules[0]
    assert (rule.outcome, rule.worse) == (outcome, 7)
    if outcome is E:
        assert rule.reason.endswith(f" so far; {undone} more were not finished and might meet the rule")


def test_what_is_undone_and_has_its_first_verdict_is_compared_once():
    """With `reask: answers` the first verdicts of both sides count: 7 of 20 are worse, and 2 of these were asked again."""
    torn = case("error")
    torn = replace(torn, grades=(replace(torn.grades[0], undone=True, votes=(Vote(F), Vote(P))),))
    rows = [*(case("new-failure") for _ in range(5)), torn, torn, *OK[:13]]
    for most, outcome in ((0.34, F), (0.35, P)):  # 7 of 22 would be 31.8 %
        rule = decided(rows, Rule("drop", suite="s", max_drop=most), reask="answers").rules[0]
        assert (rule.outcome, rule.worse) == (outcome, 7)


def test_a_case_that_fails_by_its_mean_is_new_where_it_passed_before():
    """No grade of it need fail, or only one that failed before."""
    old = case("pre-existing", F).grades[0]
    passes = case("ok").grades[0]
    for base, grades, new in ((P, (old, passes), 1), (P, (passes,), 1), (F, (old, passes), 0), (None, (passes,), 1)):
        row = Row("s", "c", "p", "l", "", {}, F, grades=grades, threshold=0.7, base=base)
        assert applied([*OK, row]).new_failures == new


def test_answers_are_compared_by_their_first_verdicts():
    rows = [
        *(case("ok", base=P) for _ in range(10)),
        *(replace(row, grades=(replace(row.grades[0], base=Counterpart(P, F)),)) for row in OK[:8]),
    ]
    found = decided(rows, Rule("drop", suite="s", max_drop=0), reask="answers").rules[0]
    assert (found.worse, found.better) == (0, 8)


@each(
    ("count", "named"),
    [
        (1, "`c0`"),
        (5, "`c0`, `c1`, `c2`, `c3`, `c4`"),
        (6, "`c0`, `c1`, `c2`, `c3`, `c4` and 1 more"),
        (7, "`c0`, `c1`, `c2`, `c3`, `c4` and 2 more"),
    ],
)
def test_five_cases_are_named_and_the_others_counted(count, named):
    rows = [case("new-failure", name=f"c{number}") for number in range(count)]
    result = applied([*OK, *rows], replace(NONE, max_new_failures=count))
    many = "1 new failure" if count == 1 else f"{count} new failures"
    assert result.reason == f"{many}, at most {count} allowed: {named}"


def test_a_case_without_a_name_is_called_by_its_number():
    rows = [case("new-failure", name="", case=6)]
    assert applied([*OK, *rows], replace(NONE, max_new_failures=1)).reason == "1 new failure, at most 1 allowed: `case 7`"


@each(
    ("base", "grade", "threshold", "evidence"),
    [
        (P, P, 0.5, ", passing on the base (1a2b3c4, 2 days old)"),
        (P, F, 0.5, ", passing on the base (1a2b3c4, 2 days old)"),  # the threshold decides over the case
        (E, P, 0.5, ", without a base result"),
        (None, P, 0.5, ", without a base result"),
        (P, P, None, ", passing on the base (1a2b3c4, 2 days old)"),
        (E, P, None, ", passing on the base (1a2b3c4, 2 days old)"),
        (P, E, None, ", without a base result"),
        (P, None, None, ", without a base result"),
    ],
)
def test_what_the_base_says_of_a_case_with_a_threshold_is_said_of_the_whole(base, grade, threshold, evidence):
    row = replace(case("new-failure", grade, threshold=threshold), base=base)
    assert applied([*OK, row]).reason == f"1 new failure{evidence}"


def test_what_the_base_says_is_about_the_grade_that_fails():
    """One assertion of a case failed on the base and passes now; another one passed there and fails now."""
    mended, broken = case("fixed", F, outcome=P), case("new-failure")
    row = replace(broken, base=F, grades=(*mended.grades, *broken.grades))
    assert applied([*OK, row]).reason == "1 new failure, passing on the base (1a2b3c4, 2 days old)"
    other = replace(broken, grades=(*case("new-failure", None).grades, *broken.grades))
    assert applied([*OK, other]).reason == "1 new failure, without a base result"


def confirmed(mark, **own):
    row = case("new-failure", **own)
    return replace(row, grades=(replace(row.grades[0], confirmed=mark),))


@each(
    ("rows", "evidence"),
    [
        ([confirmed(True)], ", confirmed here and passing on the base (1a2b3c4, 2 days old)"),
        ([confirmed(True), confirmed(True)], ", confirmed here and passing on the base (1a2b3c4, 2 days old)"),
        ([confirmed(True), confirmed(None)], ", passing on the base (1a2b3c4, 2 days old)"),
        ([confirmed(True, base=None)], ", confirmed here, without a base result"),
        (
            [confirmed(True), confirmed(True, base=None)],
            ", confirmed here: 1 passing on the base (1a2b3c4, 2 days old), 1 without a base result",
        ),
    ],
)
def test_what_is_confirmed_here_is_said_where_it_holds_of_all(rows, evidence):
    many = "1 new failure" if len(rows) == 1 else f"{len(rows)} new failures"
    assert applied([*OK, *rows]).reason == f"{many}{evidence}"


def torn(votes="FPFP"):
    """A case on which the grader contradicts itself."""
    row = case("error")
    return replace(row, grades=(replace(row.grades[0], votes=tuple(Vote({"F": F, "P": P}[it]) for it in votes)),))


@each(
    ("rows", "most", "more", "outcome", "bears", "reason"),
    [
        ([torn()], 1, {}, P, True, "1 failure may be new, at most 1 allowed: `c`"),
        ([torn()], 0, {}, P, False, "no new failure"),
        ([torn(), case("new-failure", name="n")], 2, {}, P, True, "2 failures may be new, at most 2 allowed: `n`, `c`"),
        ([torn(), case("new-failure", name="n")], 1, {}, P, False, "1 new failure, at most 1 allowed: `n`"),
        ([torn()], 1, {"min_pass_rate": 0.0}, P, False, "pass rate 100%, at least 0%; no new failure"),
        ([torn()], 1, {"max_drop": 0.9}, P, False, "no new failure; 0 worse and 0 better of 20 compared cases: a drop of 0%, p = 1"),
    ],
)
def test_a_grader_that_contradicts_itself_is_borne_up_to_as_many_as_are_allowed(rows, most, more, outcome, bears, reason):
    result = applied([*OK, *rows], replace(NONE, max_new_failures=most, **more))
    assert (result.outcome, result.bears, result.reason) == (outcome, bears, reason)


def two(first, second, **own):
    """A case of two grades, by what the base says of them."""
    row = case("ok", first, **own)
    return replace(row, grades=(row.grades[0], case("ok", second).grades[0]))


@each(
    ("keys", "expected"),
    [
        ({"min_pass_rate": 0.0}, 0.5),
        ({"every_case": True}, 0.5),  # one grade that fails fails its case
        ({"min_score": 0.0}, None),
        ({"max_new_failures": 0}, None),
    ],
)
def test_the_pass_rate_of_the_base_counts_cases_too(keys, expected):
    rule = Rule("r", suite="s", **keys)
    assert applied([two(P, P), two(P, F)], rule).base_rate == expected
    assert applied([two(P, P), two(P, F)], rule, report=None).base_rate is None


@each(("grades", "expected"), [((P, P), 1.0), ((P, F), 0.0), ((F, E), None), ((P, E), None), ((P, None), None)])
def test_a_case_of_the_base_with_an_error_is_not_compared(grades, expected):
    assert applied([two(*grades)], Rule("r", suite="s", every_case=True)).base_rate == expected


@each(("answers", "base", "first", "outcome"), [(True, P, F, E), (True, F, P, F), (False, P, F, F), (False, F, P, E)])
def test_what_is_undone_is_taken_as_better_than_what_the_base_said_first_or_in_the_end(answers, base, first, outcome):
    """7 of 27 are worse; with three that failed on the base and pass here, noise may explain the drop."""
    left = case("error")
    left = replace(left, grades=(replace(left.grades[0], undone=True, base=Counterpart(base, first)),))
    rows = [*(case("new-failure") for _ in range(7)), *OK, left, left, left]
    rule = decided(rows, Rule("drop", suite="s", max_drop=0.05), reask="answers" if answers else "grader").rules[0]
    assert rule.outcome is outcome


def test_a_drop_of_as_much_as_is_allowed_is_met():
    rows = [*(case("new-failure") for _ in range(10)), *(case("ok") for _ in range(90))]
    for most, outcome in ((0.1, P), (0.0999, F)):
        assert applied(rows, Rule("drop", suite="s", max_drop=most)).outcome is outcome


def test_what_one_key_says_is_left_out_where_another_one_is_worse():
    rule = replace(NONE, min_pass_rate=1.0)
    missed = applied([*OK, case("new-failure")], rule)
    assert missed.reason == "pass rate 95.2% is below 100%; 1 new failure, passing on the base (1a2b3c4, 2 days old)"
    unsure = applied([*OK, case("undecided")], replace(rule, min_pass_rate=0.5))
    assert (unsure.outcome, unsure.reason) == (E, "it is not known whether 1 failure is new")
    assert applied([*OK, case("undecided")], rule).reason == "pass rate 95.2% is below 100%"


def test_what_is_confirmed_is_said_of_the_failing_grades_and_not_of_their_set():
    row = confirmed(True)
    (fails,) = row.grades
    whole = replace(fails, confirmed=None, assertion=replace(fails.assertion, is_set=True))
    for grades in ((whole, replace(fails, inner=True)), (fails, case("ok").grades[0])):
        found = applied([*OK, replace(row, grades=grades)])
        assert found.reason == "1 new failure, confirmed here and passing on the base (1a2b3c4, 2 days old)", grades
