"""Which errors decide, whom a run is blocked for, and what is said, where several things come together."""

from gradegate.core.policy import CaseRuns, Note, Policy, Rule, Runs, Select
from gradegate.core.usage import Usage
from gradegate.gate.decision import blocking_rows, decide, decision_without_run, is_consistent
from gradegate.results.gate_changes import GUARD, ChangeKind, GateChange, GateChanges
from gradegate.results.grades import Counterpart
from gradegate.results.run_result import GateOutcome, RuleResult, RunResult
from gradegate.structs import replace
from support.decided import EVERY, E, F, P, decide_rows, grade, make_rows, row
from support.each import each

RATE = Rule("rate", min_pass_rate=1.0, suite="s")
OTHER = replace(RATE, suite="t")
CASE_RUNS = CaseRuns(Runs(3, 2))


def of_suite(text, suite):
    return [replace(it, suite=suite) for it in make_rows(text)]


def runs(text, needs=CASE_RUNS):
    return [replace(it, needs=needs, run=number, key=b"k") for number, it in enumerate(make_rows(text), 1)]


@each(
    ("first", "second", "outcome", "reason"),
    [
        ("inconclusive", "inconclusive", "inconclusive", "2 errors; the first: down"),
        ("inconclusive", "block", "blocked", "2 errors; the first: down, and errors block"),
        ("block", "inconclusive", "blocked", "2 errors; the first: down, and errors block"),
        ("ignore", "inconclusive", "inconclusive", "2 errors; the first: down"),
        ("ignore", "ignore", "pass", ""),
    ],
)
def test_the_strictest_of_the_policies_with_an_error_decides(first, second, outcome, reason):
    rows = [*make_rows("P !"), *of_suite("P !", "t")]
    found = decide(RunResult(tuple(rows)), [Policy((RATE,), first, 0.5), Policy((OTHER,), second, 0.5)])
    assert found.outcome.value == outcome
    assert not reason or found.reason == reason


def test_the_policy_of_a_suite_without_an_error_does_not_count():
    rows = [*make_rows("P !"), *of_suite("P", "t")]
    found = decide(RunResult(tuple(rows)), [Policy((RATE,), "inconclusive"), Policy((OTHER,), "block")])
    assert found.outcome is GateOutcome.INCONCLUSIVE


@each(
    ("rows", "up_to", "outcome"),
    [
        ("P*9 Eh", 0.1, "pass"),
        ("P*9 Eh", 0.09, "inconclusive"),
        ("P*9 E", 0.9, "inconclusive"),  # an answer came
        ("P*9 Eh E", 0.9, "inconclusive"),
        ("P*9 !", 0.1, "pass"),
        ("P*9 !u", 0.9, "inconclusive"),
        ("P*9 !w", 0.9, "inconclusive"),
        ("P*9 EhF-", 0.1, "advisory"),
    ],
)
def test_errors_are_ignored_up_to_the_share_and_none_that_may_hide_a_failure(rows, up_to, outcome):
    assert decide_rows(rows, RATE, errors="ignore", up_to=up_to).outcome.value == outcome


def test_an_unheard_error_that_leaves_a_failing_case_undecided_is_not_ignored():
    loose = Rule("loose", min_pass_rate=0.1, suite="s")
    hiding = row(grade(E, unheard=True), grade(F), outcome=E)
    assert decide_rows([*make_rows("P*18"), hiding], loose, errors="ignore", up_to=0.9).outcome is GateOutcome.INCONCLUSIVE
    failing = replace(hiding, outcome=F)
    assert decide_rows([*make_rows("P*18"), failing], loose, errors="ignore", up_to=0.9).outcome is GateOutcome.PASS
    advice = row(grade(E, unheard=True), grade(F, blocking=False), outcome=E)
    assert decide_rows([*make_rows("P*18"), advice], loose, errors="ignore", up_to=0.9).outcome is GateOutcome.ADVISORY


def error_rows(reason, *more):
    return [row(grade(E, reason=it)) for it in (reason, *more)]


@each(
    ("reasons", "expected"),
    [
        (["HTTP 500"], "1 error: HTTP 500"),
        (["HTTP 500", "HTTP 502"], "2 errors; the first: HTTP 500"),
        (["the grader contradicts itself: a, b"], "the grader contradicts itself on 1 case (a, b)"),
        (
            ["the grader contradicts itself: a, b", "the grader contradicts itself: c, d"],
            "the grader contradicts itself on 2 cases (the first: a, b)",
        ),
        (["the grader contradicts itself: a, b", "HTTP 500"], "2 errors; the first: the grader contradicts itself: a, b"),
        (["the failure comes and goes: x"], "the failure comes and goes on 1 case (x)"),
        (["something: x"], "1 error: something: x"),
    ],
)
def test_errors_of_one_kind_are_said_as_that(reasons, expected):
    assert decide_rows(error_rows(*reasons), RATE).reason == expected


@each(("setup", "outcome", "expected"), [(True, E, True), (False, E, False), (True, P, False)])
def test_an_error_of_setup_is_the_users_mistake(setup, outcome, expected):
    found = decide_rows([row(grade(outcome, setup=setup)), *make_rows("E")], RATE)
    assert (found.outcome, found.setup) == (GateOutcome.INCONCLUSIVE, expected)
    missed = decide_rows([row(grade(outcome, setup=setup)), *make_rows("F")], RATE)
    assert (missed.outcome, missed.setup) == (GateOutcome.BLOCKED, False)


@each(
    ("grades", "usage", "outcome"),
    [
        ("P@a E@bh", {}, "inconclusive"),
        ("P@a E@bw", {}, "inconclusive"),
        ("P@a E@b", {}, "advisory"),
        ("P@a E@bh", {"grader_usage": Usage(calls=1)}, "advisory"),
        ("P@a E@bh", {"grader_usage": Usage(cached=1)}, "advisory"),
        ("P@a E@bh", {"target_usage": Usage(calls=1)}, "inconclusive"),
    ],
)
def test_an_error_that_no_rule_looks_at_is_advice_where_a_grader_was_heard(grades, usage, outcome):
    rule = Rule("a", Select(metric="a"), 1.0, suite="s")
    assert decide_rows(grades, rule, **usage).outcome.value == outcome


def test_an_error_of_a_target_that_was_never_heard_is_no_advice():
    rule = Rule("a", Select(metric="a"), 1.0, suite="s")
    rows = [*make_rows("P@a"), row(grade(E, metric="b", unheard=True), error="down")]
    assert decide_rows(rows, rule, grader_usage=Usage(calls=9)).outcome is GateOutcome.INCONCLUSIVE
    assert decide_rows(rows, rule, target_usage=Usage(calls=9)).outcome is GateOutcome.ADVISORY


@each(
    ("text", "rules", "outcome"),
    [
        ("P P E", [EVERY], "pass"),  # two of three pass, whatever the third is
        ("P E E", [EVERY], "inconclusive"),
        ("P@a P@a E@a", [replace(RATE, runs=Runs(3, 2)), replace(EVERY, runs=Runs(3, 3))], "inconclusive"),
        ("P@a P@a E@a", [replace(EVERY, runs=Runs(3, 3)), replace(RATE, runs=Runs(3, 2))], "inconclusive"),
        ("P@a P@a E@a", [replace(EVERY, runs=Runs(3, 3), blocking=False), replace(RATE, runs=Runs(3, 2))], "advisory"),
    ],
)
def test_an_error_of_a_run_counts_where_a_blocking_rule_cannot_do_without_it(text, rules, outcome):
    rules = [rule if rule.runs else replace(rule, runs=Runs(3, 2)) for rule in rules]
    assert decide_rows(runs(text), *rules).outcome.value == outcome


def test_a_grader_that_contradicts_itself_is_no_error_where_the_rule_bears_it():
    torn = row(grade(E, votes=make_rows("E(FPFP)")[0].grades[0].votes, status="undecided", reason="the grader contradicts itself: x"))
    allowed = Rule("new", suite="s", max_new_failures=1)
    assert decide_rows([*make_rows("P*9"), torn], allowed).outcome is GateOutcome.ADVISORY
    assert decide_rows([*make_rows("P*9"), torn], replace(allowed, max_new_failures=0)).outcome is GateOutcome.INCONCLUSIVE
    both = [allowed, Rule("rate", min_pass_rate=0.1, suite="s")]  # that rule counts it as an error
    assert decide_rows([*make_rows("P*9"), torn], *both).outcome is GateOutcome.INCONCLUSIVE


def test_the_counts_of_a_decision_leave_out_what_was_never_asserted():
    found = decide_rows("P FE . !", RATE)
    assert (found.grades.passed, found.grades.failed, found.grades.errored) == (1, 1, 1)
    assert (found.cases.passed, found.cases.failed, found.cases.errored) == (1, 1, 1)


# --- whom a run is blocked for --------------------------------------------------------------------------------


def missed(**keys):
    return RuleResult(Rule("r", suite="s", **keys), F, "")


def row_with_base(outcome, status, base=P, **more):
    return row(grade(outcome, status=status, base=Counterpart(base, base), **more))


@each(
    ("rows", "rule", "places"),
    [
        (make_rows("P F E"), missed(min_pass_rate=1.0), {1}),
        (make_rows("P F F-"), missed(every_case=True), {1}),
        ([row(grade(F, unconfirmed=True)), *make_rows("F")], missed(min_pass_rate=1.0), {1}),
        ([row(grade(F, unconfirmed=True), grade(F)), *make_rows("P")], missed(min_pass_rate=1.0), {0}),
        ([row(grade(F, unconfirmed=True), grade(F)), *make_rows("P")], missed(every_case=True), {0}),
        (
            [row_with_base(F, "new-failure"), row_with_base(F, "pre-existing", F), row_with_base(F, "unsteady")],
            missed(max_new_failures=0),
            {0},
        ),
        ([row_with_base(F, "new-failure", unconfirmed=True), row_with_base(F, "new-failure")], missed(max_new_failures=0), {1}),
        (runs("F F P"), missed(min_pass_rate=1.0, runs=Runs(3, 2)), {0, 1}),
        (runs("F P P"), missed(min_pass_rate=1.0, runs=Runs(3, 2)), set()),
        ([*runs("F F P"), *(replace(it, key=b"j") for it in runs("F P P"))], missed(min_pass_rate=1.0, runs=Runs(3, 2)), {0, 1}),
        (runs("F E P"), missed(min_pass_rate=1.0, runs=Runs(3, 3)), {0}),
        ([*make_rows("P"), *runs("F F")], missed(every_case=True, runs=Runs(3, 2)), {1, 2}),
        (make_rows("F"), replace(missed(min_pass_rate=1.0), outcome=E), set()),
        (make_rows("F"), missed(min_pass_rate=1.0, blocking=False), set()),
        (of_suite("F", "t"), missed(min_pass_rate=1.0), set()),
    ],
)
def test_a_missed_rule_blames_the_rows_that_it_is_missed_for(rows, rule, places):
    assert blocking_rows(rows, [rule]) == places


def test_several_missed_rules_blame_all_of_theirs():
    rows = make_rows("F@a F@b P@c")
    rules = [missed(select=Select(metric=name), min_pass_rate=1.0) for name in "ab"]
    assert blocking_rows(rows, rules) == {0, 1}


# --- a run that did not take place, and what a pull request does to its gate ------------------------------------

FOUND = (GateChange(ChangeKind.WEAKER, "less"),)


@each(
    ("changes", "outcome", "reason", "guard", "notes"),
    [
        (GateChanges(), "not-run", "no key", [], 0),
        (GateChanges(FOUND), "not-run", "no key", [], 0),
        (GateChanges((), True), "not-run", "no key", [], 0),
        (GateChanges(FOUND, True, "mona"), "not-run", "no key", [P], 0),
        (GateChanges(FOUND, True), "blocked", f"{GUARD}: this pull request weakens its own gate in 1 place: less", [F], 1),
    ],
)
def test_a_run_that_did_not_take_place_is_blocked_only_for_what_was_not_approved(changes, outcome, reason, guard, notes):
    skipped = replace(decide_rows("P"), outcome=GateOutcome.NOT_RUN, reason="no key", rules=(), run=RunResult(()))
    found = decision_without_run(skipped, changes)
    assert (found.outcome.value, found.reason, [rule.outcome for rule in found.rules]) == (outcome, reason, guard)
    assert (found.changes, len(found.run.notes)) == (changes, notes)


def test_why_a_run_did_not_take_place_is_said_before_other_notes():
    run = RunResult((), notes=(Note("other"),))
    skipped = replace(decide_rows("P"), outcome=GateOutcome.NOT_RUN, reason="no key", rules=(), run=run)
    assert [note.text for note in decision_without_run(skipped, GateChanges(FOUND, True)).run.notes] == ["Not run: no key", "other"]


@each(("rows", "expected"), [("P- F-", []), ("P", ["every case passes"]), ("", ["every case passes"]), (".", ["every case passes"])])
def test_that_every_case_passes_says_nothing_where_nothing_counts(rows, expected):
    assert [rule.rule.name for rule in decide_rows(rows, EVERY).rules] == expected
    advisory = replace(EVERY, blocking=False)
    assert [rule.rule.name for rule in decide_rows(rows, advisory).rules] == ["every case passes"]


def test_a_file_in_which_an_undecided_rule_gives_no_reason_is_no_pass():
    decision = decide_rows("P P")
    assert is_consistent(decision)
    undecided = replace(decision.rules[0], outcome=E, reason="")
    assert not is_consistent(replace(decision, rules=(undecided,)))
