"""What the runs of a case come to, for the case as a whole and for each rule, on grades made by hand."""

from gradegate.core.policy import CaseRuns, Rule, Runs, Select
from gradegate.gate.case_runs import (
    OpenRow,
    conclude_runs,
    describe_runs_required,
    fold_cases,
    fold_runs,
    next_runs,
    open_grades,
    outcome_in_rule,
    runs_required,
    with_verdicts,
)
from gradegate.results.grades import Counterpart
from gradegate.results.rows import AnswerId
from gradegate.structs import replace
from support.decided import EVERY, OUTCOMES, E, F, P, apply_one_rule, make_rows, row
from support.each import each

TWO_OF_THREE = CaseRuns(Runs(3, 2))
RATE = Rule("rate", min_pass_rate=1.0, suite="s")
ADVICE = replace(RATE, blocking=False)
METRIC = replace(RATE, select=Select(metric="a"))


def runs(words, needs=TWO_OF_THREE, **more):
    """The runs of one case; each word is a run, as `made` of support/decided.py reads it."""
    return [replace(it, needs=needs, run=number, key=b"k", **more) for number, it in enumerate(make_rows(words), 1)]


@each(
    ("of", "passes", "outcomes", "expected"),
    [
        (3, 2, "", None),
        (3, 2, "P", None),
        (3, 2, "PP", P),
        (3, 2, "PF", None),
        (3, 2, "PFP", P),
        (3, 2, "PFF", F),
        (3, 2, "F", None),
        (3, 2, "FF", F),
        (3, 2, "E", None),
        (3, 2, "PE", None),
        (3, 2, "FE", None),  # a second failure would still fail it
        (3, 2, "EE", E),  # neither two that pass nor two that fail are left
        (3, 2, "FEP", E),
        (3, 2, "FEF", F),
        (3, 1, "EEE", E),
        (3, 1, "FFE", E),
        (3, 3, "FEE", F),
        (1, 1, "F", F),
        (2, 2, "PFP", F),  # the third run is more than were asked for
        (2, 1, "FPF", P),
        (2, 2, "EPP", E),
    ],
)
def test_a_case_is_decided_by_its_first_runs(of, passes, outcomes, expected):
    assert conclude_runs(Runs(of, passes), [OUTCOMES[it] for it in outcomes]) is expected


@each(
    ("rule", "own", "expected"),
    [
        (None, False, (5, 3)),
        (RATE, False, (2, 2)),
        (RATE, True, (5, 3)),
        (replace(RATE, runs=Runs(4, 1)), False, (4, 1)),
        (replace(RATE, runs=Runs(4, 1)), True, (5, 3)),
        (replace(RATE, runs=Runs(0, 1)), False, (2, 1)),
    ],
)
def test_a_test_wins_over_a_rule_and_a_rule_over_repeat(rule, own, expected):
    found = runs_required(rule, CaseRuns(Runs(5, 3), plain=2, is_from_test=own))
    assert (found.of, found.passes) == expected


@each(
    ("rules", "words", "expected"),
    [
        ([], "", 2),
        ([], "P", 1),
        ([], "F", 1),
        ([], "E", 2),
        ([], "P F", 1),
        ([], "P P", 0),
        ([], "E E", 0),
        ([replace(RATE, runs=Runs(5, 3))], "P F", 2),
        ([replace(RATE, runs=Runs(5, 4))], "P F", 1),  # one more failure fails it
        ([replace(RATE, runs=Runs(5, 3))], "P P", 1),
        ([replace(RATE, runs=Runs(5, 3)), replace(RATE, runs=Runs(9, 1))], "P P", 1),
        ([replace(METRIC, runs=Runs(5, 5))], "P P", 0),  # it looks at none of the grades
        ([replace(METRIC, runs=Runs(5, 5))], "P@a P@a", 1),
    ],
)
def test_as_many_runs_are_made_at_once_as_are_needed_whatever_the_others_say(rules, words, expected):
    assert next_runs(rules, runs(words), TWO_OF_THREE) == expected


@each(
    ("rule", "word", "more", "expected"),
    [
        (None, "PF", {}, F),
        (EVERY, "PF", {}, F),
        (EVERY, "PF", {"outcome": P}, P),
        (EVERY, "F-", {}, None),
        (EVERY, "!", {}, E),
        (EVERY, "P", {"suite": "t"}, None),
        (RATE, "PF", {"outcome": P}, P),  # it looks at all that counts, so the outcome of the answer is that of the run
        (RATE, "P", {"outcome": E}, E),
        (RATE, "F-", {}, None),
        (RATE, "!", {}, None),
        (RATE, "P", {"suite": "t"}, None),
        (ADVICE, "PF", {"outcome": P}, F),
        (ADVICE, "F-", {}, F),
        (METRIC, "P@aF@b", {}, P),
        (METRIC, "F@aP@b", {}, F),
        (METRIC, "E@aF@a", {}, F),
        (METRIC, "P@aE@a", {}, E),
        (METRIC, "F@b", {}, None),
    ],
)
def test_a_run_is_to_a_rule_what_the_rule_selects(rule, word, more, expected):
    (answer,) = runs(word, **more)
    assert outcome_in_rule(rule, answer) is expected


@each(
    ("keys", "words", "outcome", "passed", "failed"),
    [
        ({"select": Select(metric="a")}, "P@aF@b P@aF@b P@aF@b", P, 1, 0),
        ({"select": Select(metric="b")}, "P@aF@b P@aF@b P@aP@b", F, 0, 1),
        ({"select": Select(metric="b")}, "P@aF@b P@aP@b P@aP@b", P, 1, 0),
        ({}, "PF PF PP", F, 0, 1),
        ({}, "PF PP PP", P, 1, 0),
    ],
)
def test_a_rule_counts_the_runs_of_a_case_as_one(keys, words, outcome, passed, failed):
    found = apply_one_rule(runs(words, CaseRuns(Runs(3, 2), is_from_test=True)), min_pass_rate=1.0, **keys)
    assert (found.outcome, found.passed, found.failed) == (outcome, passed, failed)


def test_a_case_is_shown_by_the_first_run_that_decided_it():
    answers = [replace(it, output=f"answer {it.run}") for it in runs("F P F")]
    assert (fold_runs(None, answers).output, fold_runs(None, answers).passed, fold_runs(None, answers).needed) == ("answer 1", 1, 2)
    answers = [replace(it, output=f"answer {it.run}") for it in runs("F P P")]
    assert (fold_runs(None, answers).output, fold_runs(None, answers).outcome) == ("answer 2", P)
    unclear = fold_runs(None, [replace(it, output=f"answer {it.run}") for it in runs("P E E")])
    assert (unclear.output, unclear.outcome) == ("answer 2", E)
    open_ = fold_runs(None, [replace(it, output=f"answer {it.run}") for it in runs("P F")])  # no run is an error
    assert (open_.output, open_.outcome, open_.runs, open_.of) == ("answer 1", E, 2, 3)


def test_a_case_names_its_first_error_and_otherwise_only_what_its_runs_came_to():
    (grade,) = fold_runs(None, [replace(it, grades=(replace(it.grades[0], reason=f"why {it.run}"),)) for it in runs("P E E")]).grades
    assert grade.reason == "error: 1 of 3 runs passed, 2 needed; the first error: why 2"
    (grade,) = fold_runs(None, [replace(it, grades=(replace(it.grades[0], reason=f"why {it.run}"),)) for it in runs("P F")]).grades
    assert grade.reason == "error: 2 of 3 runs recorded, 1 passed"
    (grade,) = fold_runs(None, [replace(it, grades=(replace(it.grades[0], reason=f"why {it.run}"),)) for it in runs("F F")]).grades
    assert grade.reason == "failed: 0 of 2 runs passed, 2 needed"


@each(
    ("words", "unheard", "undone"),
    [("Eh Eh", True, False), ("Eh E", False, False), ("Eh Eh F", False, False), ("Ehu Eh", True, True), ("E Eu", False, True)],
)
def test_a_case_was_not_heard_only_if_no_run_was_and_none_failed(words, unheard, undone):
    (grade,) = fold_runs(None, runs(words)).grades
    assert (grade.outcome, grade.unheard, grade.undone) == (E, unheard, undone)


@each(("marks", "expected"), [((True, True), True), ((True, None), True), ((None, True), True), ((None, None), False)])
def test_a_failed_case_is_confirmed_by_any_failing_run(marks, expected):
    answers = [replace(it, grades=(replace(it.grades[0], confirmed=mark),)) for it, mark in zip(runs("F F"), marks, strict=True)]
    assert fold_runs(None, answers).grades[0].confirmed is expected


def test_a_case_that_passes_or_errs_is_confirmed_by_nothing():
    for words in ("P P", "E E"):
        answers = [replace(it, grades=(replace(it.grades[0], confirmed=True),)) for it in runs(words)]
        assert fold_runs(None, answers).grades[0].confirmed is None, words


def with_base(words, outcome=None, status="", base=None):
    """Runs of a case of which the base says something: of the case, and of each grade."""
    said = base and Counterpart(base, base)
    return [replace(it, base=outcome, grades=tuple(replace(grade, status=status, base=said) for grade in it.grades)) for it in runs(words)]


@each(
    ("rule", "words", "case", "grades", "expected"),
    [
        (None, "P P", P, F, P),  # of the whole case, what the base says of the case
        (None, "P P", F, P, F),
        (None, "P P", None, F, None),
        (METRIC, "P@aP@b P@aP@b", F, P, P),  # of what a rule selects, what the base says of that
        (METRIC, "P@aP@b P@aP@b", P, F, F),
        (METRIC, "P@aP@b P@aP@b", P, E, E),
        (METRIC, "P@aP@b P@aP@b", P, None, None),
    ],
)
def test_the_base_of_a_case_is_that_of_what_is_looked_at(rule, words, case, grades, expected):
    rule = rule and replace(rule, runs=Runs(3, 2))
    (grade,) = fold_runs(rule, with_base(words, case, "ok", grades)).grades
    assert (grade.base and grade.base.outcome) is (None if expected is E else expected)


@each(
    ("words", "base", "statuses", "expected"),
    [
        ("P P", P, "ok", "ok"),
        ("P P", F, "fixed", "fixed"),
        ("P P", None, "ok", "ok"),
        ("E E", F, "undecided", "undecided"),
        ("F F", F, "new-failure", "pre-existing"),
        ("F F", P, "new-failure", "new-failure"),
        ("F F", P, "unsteady", "unsteady"),
        ("F F", P, "undecided", "undecided"),
        ("F F", None, "new-failure", "new-failure"),
        ("F F", None, "unsteady", "new-failure"),
        ("F F", None, "", ""),
        ("F F", P, "", ""),
    ],
)
def test_a_case_with_runs_has_a_status_beside_the_base(words, base, statuses, expected):
    answers = [replace(it, grades=(replace(it.grades[0], status=statuses, base=Counterpart(P, P)),)) for it in with_base(words, base)]
    assert fold_runs(None, answers).grades[0].status == expected


def test_the_worst_failing_run_gives_the_status():
    first, second = with_base("F F", P, "unsteady", P)
    worse = replace(second, grades=(replace(second.grades[0], status="new-failure"),))
    for answers in ([first, worse], [worse, first]):
        assert fold_runs(None, answers).grades[0].status == "new-failure"


def test_without_a_base_a_case_has_no_status():
    assert fold_runs(None, runs("F F")).grades[0].status == ""


def quarantined(*words):
    """Runs of which each failure of a word in capitals `Q` is in quarantine."""
    answers = runs(" ".join(word.replace("Q", "F") for word in words))
    marks = [["2026-12-01" if sign == "Q" else "" for sign in word] for word in words]
    return [
        replace(it, grades=tuple(replace(grade, quarantine=until) for grade, until in zip(it.grades, mark, strict=True)))
        for it, mark in zip(answers, marks, strict=True)
    ]


@each(
    ("words", "rule", "expected"),
    [
        (("Q", "Q"), EVERY, None),
        (("Q", "F"), EVERY, F),
        (("QF", "QF"), EVERY, F),
        (("QP", "QP"), EVERY, None),
        (("Q", "Q"), replace(EVERY, blocking=False), F),
        (("Q", "Q"), None, F),
    ],
)
def test_a_blocking_rule_does_not_look_at_a_case_that_only_fails_in_quarantine(words, rule, expected):
    rule = rule and replace(rule, runs=Runs(3, 2))
    found = fold_runs(rule, quarantined(*words))
    assert (found and found.outcome) is expected


def test_rows_without_runs_stay_as_they_are_and_a_rule_leaves_out_what_it_does_not_look_at():
    alone, case = row(), runs("F@b F@b")
    assert [it.outcome for it in fold_cases(None, [alone, *case])] == [P, F]
    assert [*fold_cases(METRIC, [alone, *case])] == [alone]


@each(
    ("needs", "expected"),
    [
        ([TWO_OF_THREE], "at least 2 of 3 runs"),
        ([TWO_OF_THREE, TWO_OF_THREE], "at least 2 of 3 runs"),
        ([TWO_OF_THREE, CaseRuns(Runs(5, 2), is_from_test=True)], ""),
        ([TWO_OF_THREE, None], ""),
        ([None], ""),
    ],
)
def test_what_passing_takes_is_said_where_all_cases_take_the_same(needs, expected):
    rule = replace(EVERY, runs=Runs(3, 2))
    assert (
        describe_runs_required(rule, [replace(it, needs=need) for it, need in zip(make_rows(f"P*{len(needs)}"), needs, strict=True)])
        == expected
    )


def test_every_row_of_a_case_says_what_its_runs_came_to():
    found = [(it.outcome, it.verdict, it.runs, it.of, it.passed, it.needed) for it in with_verdicts(runs("P F F"))]
    assert found == [(P, F, 3, 3, 1, 2), (F, F, 3, 3, 1, 2), (F, F, 3, 3, 1, 2)]
    assert with_verdicts(make_rows("P")) == make_rows("P")


@each(
    ("rule", "words", "open_", "expected"),
    [
        (None, "F F", [[0], [0]], [(0, 0), (1, 0)]),
        (None, "F F", [[0], []], [(0, 0)]),  # one that passes and one more would do
        (None, "F F", [[], []], []),
        (None, "F F P", [[], [0], []], [(1, 0)]),
        (None, "FF F P", [[0], [0], []], [(1, 0)]),  # the first run fails by something else, too
        (None, "F F F", [[], [], [0]], []),
        (None, "F P F F", [[], [], [0], [0]], [(2, 0)]),  # the fourth run is more than were asked for
        (METRIC, "F@aF@b F@aF@b", [[0], [0]], [(0, 0), (1, 0)]),
        (METRIC, "F@aF@a F@aF@b", [[0], [0]], [(1, 0)]),
    ],
)
def test_what_is_asked_again_in_a_case_that_might_still_pass(rule, words, open_, expected):
    rule = rule and replace(rule, runs=Runs(3, 2))
    case = [(number, it, frozenset(places)) for number, (it, places) in enumerate(zip(runs(words), open_, strict=True))]
    rows = [OpenRow(AnswerId(number, 0), *run) for number, *run in case]
    assert [(grade.answer.case, grade.position) for grade in open_grades(rule, rows)] == expected


def test_a_case_is_shown_by_what_counts_in_it_and_without_that_by_what_it_has():
    (grade,) = fold_runs(None, runs("F-F F-F")).grades
    assert grade.assertion.blocking
    (grade,) = fold_runs(None, runs("F- F-")).grades
    assert (grade.outcome, grade.assertion.blocking) == (F, False)


def test_a_row_without_runs_stays_in_quarantine():
    alone = row(quarantined("Q")[0].grades[0])
    assert outcome_in_rule(RATE, alone) is None
    assert outcome_in_rule(RATE, quarantined("Q")[0]) is F
