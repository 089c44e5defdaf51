"""What a case, a grade and a set are beside the base, and what is said of the base, on values made by hand."""

from datetime import UTC, datetime, timedelta

from gradegate.results.accounts import BaselineReport
from gradegate.results.baseline import (
    Baseline,
    age_in_days,
    baseline_remarks,
    case_status,
    describe_base,
    fold_base_runs,
    is_untolerated_failure,
    summarize_baseline,
    with_counterparts,
    with_statuses,
)
from gradegate.results.grades import Counterpart
from gradegate.structs import replace
from support.decided import E, F, P, grade, make_rows, row
from support.each import each

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def one(text, **more):
    (answer,) = make_rows(text, **more)
    return answer


def standing_of(statuses, outcome, threshold=None, base=None, outcomes="F"):
    """The status of a case whose grades fail, or are as `outcomes` says."""
    signs = outcomes * len(statuses) if len(outcomes) == 1 else outcomes
    grades = [grade({"P": P, "F": F, "E": E}[sign], status=status) for sign, status in zip(signs, statuses, strict=True)]
    return case_status(replace(row(*grades), outcome=outcome, threshold=threshold, base=base))


NEW, OLD = "new-failure", "pre-existing"


@each(
    ("statuses", "outcome", "more", "expected"),
    [
        ([NEW, OLD], F, {}, NEW),
        ([OLD, "undecided"], F, {}, "undecided"),
        (["", "undecided"], F, {}, "undecided"),
        (["", "unsteady"], F, {}, ""),
        (["unsteady", OLD], F, {}, "unsteady"),
        ([OLD, OLD], F, {}, OLD),
        ([NEW], E, {}, "undecided"),
        ([NEW], P, {}, "ok"),  # the case tolerates it
        (["ok"], F, {"base": F}, "undecided"),  # a failure never has the status of a pass
        (["fixed"], F, {"threshold": 0.5, "base": F}, "undecided"),
        (["fixed", "ok"], P, {"outcomes": "P"}, "fixed"),
        (["ok"], P, {"outcomes": "P"}, "ok"),
        # Where a threshold of the case decides, that the whole fails is new or old.
        ([OLD], F, {"threshold": 0.5, "base": P}, NEW),
        ([OLD], F, {"threshold": 0.5, "base": F}, OLD),
        ([OLD, "unsteady"], F, {"threshold": 0.5, "base": P}, "unsteady"),
        ([NEW], F, {"threshold": 0.5, "base": F}, NEW),
        (["ok"], F, {"threshold": 0.5, "base": F, "outcomes": "P"}, OLD),
        (["ok"], F, {"threshold": 0.5, "base": P, "outcomes": "P"}, NEW),
        (["ok"], F, {"base": P, "outcomes": "P"}, NEW),  # a function decided it
        (["ok"], P, {"threshold": 0.5, "base": F, "outcomes": "P"}, "fixed"),
        (["ok"], P, {"threshold": 0.5, "base": P, "outcomes": "P"}, "ok"),
        (["ok"], P, {"base": F, "outcomes": "P"}, "ok"),
    ],
)
def test_the_worst_of_what_fails_is_the_status_of_a_case(statuses, outcome, more, expected):
    assert standing_of(statuses, outcome, **more) == expected


def test_a_grade_fails_a_case_that_fails_or_that_it_does_not_count_in():
    assert is_untolerated_failure(one("F"), one("F").grades[0])
    assert not is_untolerated_failure(replace(one("F"), outcome=P), one("F").grades[0])
    assert is_untolerated_failure(one("PF-"), one("PF-").grades[1])
    assert not is_untolerated_failure(one("E"), one("E").grades[0])


@each(
    ("words", "verdict", "needed", "expected"),
    [
        ("P P F", P, 2, P),
        ("P F F", F, 2, F),
        ("P F F", P, 2, E),  # the case passed otherwise: what this grade is, is not known
        ("P E E", F, 2, E),
        ("P P P", F, 3, P),
    ],
)
def test_the_runs_of_a_case_of_the_base_are_one_row(words, verdict, needed, expected):
    rows = [replace(it, run=number, verdict=verdict, needed=needed) for number, it in enumerate(make_rows(words), 1)]
    (found,) = fold_base_runs(rows)
    assert (found.outcome, found.grades[0].outcome) == (verdict, expected)


def test_rows_of_the_base_that_are_no_runs_stay_as_they_are():
    alone = one("P", verdict=P)
    unknown = one("P", run=1)
    assert (fold_base_runs([alone]), fold_base_runs([unknown])) == ([alone], [unknown])


@each(
    ("keys", "expected"),
    [
        ({"commit": "1a2b3c4d5e", "age_days": 2}, " (1a2b3c4, 2 days old)"),
        ({"commit": "1a2b3c4d5e", "age_days": 1}, " (1a2b3c4, 1 day old)"),
        ({"commit": "1a2b3c4d5e", "age_days": 0}, " (1a2b3c4, 0 days old)"),
        ({"commit": "1a2b3c4d5e", "age_days": 2, "fresh": True}, " (1a2b3c4, asked in this run)"),
        ({"commit": "1a2b3c4d5e"}, " (1a2b3c4)"),
        ({"age_days": 2}, " (2 days old)"),
        ({}, ""),
    ],
)
def test_which_base_it_is_is_said(keys, expected):
    assert describe_base(BaselineReport(**keys)) == expected
    assert describe_base(None) == ""


def answer(outcome=P, **more):
    """An answer of the base with one grade."""
    own = {"output": "x", "definition": b"d", **more}
    return replace(row(grade(outcome, key=b"k", definition=b"g")), **own)


@each(
    ("more", "expected"),
    [
        ({}, P),
        ({"output": ""}, E),
        ({"output": " \n"}, E),
        ({"output": None}, E),
        ({"output": "", "runs": 3}, P),
        ({"output": "", "metadata": {"tool_calls": [1]}}, P),
        ({"output": "", "metadata": {"tool_calls": []}}, E),
        ({"output": "", "metadata": {"more": 1}}, E),
    ],
)
def test_an_answer_of_the_base_that_was_none_says_nothing(more, expected):
    assert with_counterparts(answer(), answer(**more)).grades[0].base == Counterpart(expected, expected)


@each(("run", "same", "expected"), [(0, True, 5), (1, True, 5), (2, True, None), (1, False, None)])
def test_one_answer_of_the_base_is_beside_the_first_run(run, same, expected):
    base = answer(took=5, definition=b"d" if same else b"e")
    assert with_counterparts(answer(run=run), base).base_took == expected


@each(
    ("members_", "outcome", "base", "keys", "expected"),
    [
        ([(F, P, P)], F, P, {}, "new-failure"),
        ([(F, P, F)], F, P, {}, "unsteady"),
        ([(F, P, E)], F, P, {}, "undecided"),
        ([(F, P, E), (F, P, None)], F, P, {}, "undecided"),
        ([(F, P, F), (E, P, None)], F, P, {}, "unsteady"),  # only members that fail count
        ([(F, P, F), (F, P, None)], F, P, {}, ""),
        ([(F, P, P), (F, P, E)], F, P, {}, "new-failure"),
        ([(F, P, P), (F, P, E)], F, P, {"threshold": 0.5}, "undecided"),
        ([(F, F, None)], F, P, {}, "new-failure"),  # its members failed before, and the set did not
        ([(F, F, None)], F, F, {}, "pre-existing"),
        ([(F, P, P)], P, F, {}, "fixed"),
        ([(F, P, P)], P, P, {}, "ok"),
        ([(F, P, F)], F, P, {"type": "not-assert-set"}, "new-failure"),
        ([(F, P, P)], E, P, {}, "undecided"),
    ],
)
def test_a_set_is_beside_the_base_what_its_failing_members_are(members_, outcome, base, keys, expected):
    whole = grade(outcome, is_set=True, base=Counterpart(base, base), **keys)
    inner = [grade(head, inner=True, base=Counterpart(was, was)) for head, was, _ in members_]
    again = {place: it for place, (_, _, it) in enumerate(members_, 1) if it}
    found = with_statuses(row(whole, *inner), again, ())
    assert found.grades[0].status == expected


def test_what_may_still_be_asked_again_has_no_status_yet():
    answered = row(grade(F, base=Counterpart(P, P)), grade(F, base=Counterpart(F, F)))
    assert [it.status for it in with_statuses(answered, {0: P}, {0, 1}).grades] == ["", "pre-existing"]
    assert [it.status for it in with_statuses(answered, {0: P}, {1}).grades] == ["new-failure", "pre-existing"]


@each(("started", "days"), [(NOW, 0), (NOW - timedelta(hours=23), 0), (NOW - timedelta(days=1), 1), (NOW + timedelta(seconds=1), None)])
def test_an_age_is_never_below_zero(started, days):
    assert age_in_days(started.isoformat(), NOW) == days
    assert age_in_days(started.replace(tzinfo=None).isoformat(), NOW) == days  # UTC where nothing else is said


@each(("days", "said"), [(14, []), (15, ["the baseline is 15 days old"])])
def test_a_baseline_is_old_after_two_weeks(days, said):
    base = Baseline((), "c", (NOW - timedelta(days=days)).isoformat(), (), "grader")
    assert list(baseline_remarks(base, NOW, "", [])) == said


@each(
    ("there", "here", "said"),
    [
        (("a",), ("a",), []),
        (("a", "b", "c"), (), ["`a`, `b`, `c` there, none here"]),
        (("a", "b", "c", "d"), ("a",), ["`b`, `c`, `d` there, none here"]),
        ((), ("d", "c", "b", "a"), ["none there, `a`, `b`, `c` and 1 more here"]),
    ],
)
def test_three_other_models_are_named(there, here, said):
    base = Baseline((), "c", NOW.isoformat(), there, "grader")
    assert list(baseline_remarks(base, NOW, "", here)) == [f"the baseline was made with other models: {line}" for line in said]


@each(
    ("text", "more", "odd"),
    [
        ("F", {}, False),
        ("F", {"outcome": P}, True),
        ("P", {"outcome": F}, True),
        ("P", {"outcome": F, "threshold": 0.5}, False),
        ("PF-", {"outcome": P}, False),
        ("F-", {"outcome": P}, False),
        ("PE", {"outcome": E}, False),
    ],
)
def test_a_case_of_the_base_that_is_not_what_its_assertions_come_to_is_said(text, more, odd):
    base = Baseline((one(text, **more),), "c", NOW.isoformat(), (), "grader")
    said = ["1 case of the baseline contradicts its own assertions: the assertions are used"] if odd else []
    assert list(baseline_remarks(base, NOW, "", [])) == said


@each("reask", ["", "off"])
def test_a_baseline_without_re_asks_is_said(reask):
    (said,) = baseline_remarks(Baseline((), "c", NOW.isoformat(), (), reask), NOW, "", [])
    assert said.startswith("the baseline was made without re-asks")


def test_the_report_of_a_base_leaves_out_errors_and_rows_without_grades():
    rows = [*(one("P", base=base) for base in (P, F, E, None)), one(".", base=P)]
    assert summarize_baseline(rows, Baseline(()), NOW).compared == 2
