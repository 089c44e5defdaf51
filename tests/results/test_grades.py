"""What counts, what runs together, what is open, and what the grades of a case come to, on grades made by hand."""

from msgspec.structs import astuple

from gradegate.core.policy import Rule, Select
from gradegate.results.case_outcome import conclude_case, named_scores, reason_without_mean
from gradegate.results.open_failures import is_unconfirmed, open_in_case, open_in_grade, unconfirmed_positions
from gradegate.results.rows import counts_case, leaf_grades, member_positions, runs_by_case, selects_grade, set_position
from gradegate.results.run_result import Counts, Power
from gradegate.structs import replace
from support.decided import EVERY, E, F, P, grade, make_rows, row
from support.each import each

RATE = Rule("rate", min_pass_rate=1.0, suite="s")
ADVICE = replace(RATE, blocking=False)


def one(text, **more):
    (answer,) = make_rows(text, **more)
    return answer


@each(
    ("keys", "expected"),
    [({}, True), ({"blocking": False}, False), ({"weight": 0.0}, False), ({"inner": True}, False), ({"quarantine": "2026-12-01"}, False)],
)
def test_a_grade_counts_unless_something_takes_it_out(keys, expected):
    assert grade(F, **keys).counts is expected


def test_a_row_counts_where_a_grade_does_or_nothing_was_asserted():
    assert [one(text).counts for text in ("P", "P-", "PP-", "F0", ".")] == [True, False, True, False, True]


@each(
    ("rule", "keys", "expected"),
    [
        (RATE, {}, True),
        (RATE, {"blocking": False}, False),
        (ADVICE, {"blocking": False}, True),
        (RATE, {"weight": 0.0}, False),
        (ADVICE, {"weight": 0.0}, False),
        (replace(RATE, select=Select(metric="a")), {}, False),
        (replace(RATE, select=Select(metric="a")), {"metric": "a"}, True),
        (EVERY, {"metric": "a"}, True),
    ],
)
def test_a_rule_selects_by_weight_blocking_and_pattern(rule, keys, expected):
    answer = row(grade(F, **keys))
    assert selects_grade(rule, answer, answer.grades[0]) is expected


@each(
    ("rule", "keys", "suite", "expected"),
    [
        (RATE, {}, "s", True),
        (RATE, {}, "t", False),
        (RATE, {"inner": True}, "s", False),
        (RATE, {"quarantine": "2026-12-01"}, "s", False),
        (ADVICE, {"quarantine": "2026-12-01"}, "s", True),
        (Rule("pace", suite="s", max_cost_increase=0.1), {}, "s", False),  # it looks at no verdict
    ],
)
def test_a_rule_takes_grades_of_its_suite(rule, keys, suite, expected):
    answer = row(grade(F, **keys))
    assert selects_grade(rule, replace(answer, suite=suite), answer.grades[0]) is expected


@each(
    ("text", "blocking", "suite", "expected"),
    [
        ("P", True, "s", True),
        ("P", True, "t", False),
        ("F-", True, "s", False),
        ("F-", False, "s", True),
        (".", True, "s", False),
        (".", False, "s", False),
        ("!", True, "s", True),
    ],
)
def test_a_rule_for_every_case_counts_what_has_grades_or_no_answer(text, blocking, suite, expected):
    assert counts_case(replace(EVERY, blocking=blocking), replace(one(text), suite=suite)) is expected


def test_counts_leave_errors_out_of_the_rate():
    found = Counts(3, 1, 4)
    assert (found.planned, found.pass_rate, Counts(0, 0, 4).pass_rate, Counts(0, 1, 0).pass_rate) == (8, 0.75, None, 0.0)


@each(("cases", "drop"), [(None, 0), (0, 0), (1, 1), (19, 1), (20, 1), (21, 2), (40, 2), (41, 3)])
def test_five_percent_of_the_cases_are_rounded_up(cases, drop):
    assert Power(cases=cases).five_percent == drop


def test_only_runs_of_one_key_are_decided_together():
    rows = [replace(one("P"), key=key, run=run) for key, run in ((b"a", 1), (b"a", 2), (b"a", 1), (b"b", 2), (b"b", 0), (b"b", 0))]
    assert [len(case) for case in runs_by_case(rows)] == [2, 1, 1, 1, 1]


@each(
    ("verdict", "runs", "of", "passed", "needed", "base", "expected"),
    [
        (P, 3, 3, 2, 2, (0, 0), "passed 2 of 3 runs"),
        (P, 1, 1, 1, 1, (0, 0), "passed 1 of 1 run"),
        (P, 3, 3, 2, 2, (3, 1), "passed 2 of 3 runs; on the base 1 of 3 passed"),
        (F, 3, 3, 1, 2, (0, 0), "failed: 1 of 3 runs passed, 2 needed"),
        (E, 2, 3, 1, 2, (0, 0), "error: 2 of 3 runs recorded, 1 passed"),  # a third might pass, and two would do
        (E, 2, 3, 0, 2, (0, 0), "error: 0 of 2 runs passed, 2 needed"),
        (E, 3, 3, 1, 2, (0, 0), "error: 1 of 3 runs passed, 2 needed"),
        (E, 2, 3, 2, 2, (3, 3), "error: 2 of 3 runs recorded, 2 passed; on the base 3 of 3 passed"),
    ],
)
def test_a_row_says_what_the_runs_of_its_case_came_to(verdict, runs, of, passed, needed, base, expected):
    found = replace(one("P"), verdict=verdict, runs=runs, of=of, passed=passed, needed=needed, base_runs=base[0], base_passed=base[1])
    assert found.runs_summary == expected


@each(
    ("text", "open_", "threshold", "expected"),
    [
        ("F", [0], None, [0]),
        ("F", [], None, []),
        ("P", [0], None, []),
        ("FF", [0], None, []),  # it fails by the second anyway
        ("FF", [0, 1], None, [0, 1]),
        ("FF", [1], 0.5, [1]),  # the mean decides: any may mend it
        ("FF-", [0], None, [0]),
        ("FF-", [1], None, []),
        ("F-F", [0], None, []),
        ("FE", [0], None, [0]),
    ],
)
def test_what_is_open_in_a_case_that_fails_by_nothing_else(text, open_, threshold, expected):
    assert open_in_case(replace(one(text), threshold=threshold), open_) == expected


@each(
    ("text", "position", "open_", "threshold", "expected"),
    [
        ("F", 0, [0], None, [0]),
        ("F", 0, [1], None, []),
        ("P", 0, [0], None, []),
        ("FsFiFi", 0, [1, 2], None, [1, 2]),
        ("FsFiFi", 0, [1], None, []),
        ("FsFiFi", 0, [1], 0.5, [1]),
        ("FsFiPi", 0, [1], None, [1]),
        ("FsFiF0i", 0, [1], None, [1]),  # what has no weight fails nothing
        ("FsFiF", 0, [1, 2], None, [1]),  # the third is no member
        ("FsFi", 0, [], None, []),
    ],
)
def test_what_is_open_in_a_set_that_fails_by_nothing_else(text, position, open_, threshold, expected):
    grades = one(text).grades
    whole = (replace(grades[0], threshold=threshold), *grades[1:])
    assert open_in_grade(whole, position, open_) == expected


def test_members_follow_their_set():
    grades = one("P PsPiPiPsPiP".replace(" ", "")).grades
    assert [list(member_positions(grades, place)) for place in (1, 4)] == [[2, 3], [5]]
    assert [set_position(grades, place) for place in range(7)] == [0, 1, 1, 1, 4, 4, 6]
    assert [len(leaf_grades(grades, place)) for place in (0, 1, 4)] == [1, 2, 1]
    assert list(member_positions(one("PsPi").grades, 0)) == [1]  # at the end


@each(
    ("text", "open_", "outcome", "expected"),
    [
        ("F", [0], F, True),
        ("F", [], F, False),
        ("FF", [0], F, False),
        ("FF", [0, 1], F, True),
        ("PF-", [1], P, False),  # it counts for nothing
        ("FF", [0, 1], P, True),  # the case tolerates its failures
        ("FF", [0], P, False),
        ("FE", [0], E, True),
        ("PE", [0], E, False),
    ],
)
def test_a_row_was_spared_where_each_of_its_failures_was(text, open_, outcome, expected):
    answer = one(text)
    grades = tuple(replace(it, unconfirmed=place in open_) for place, it in enumerate(answer.grades))
    found = replace(answer, grades=grades, outcome=outcome)
    assert (is_unconfirmed(found), unconfirmed_positions(found)) == (expected, frozenset(open_))


@each(("score", "strange"), [(0.0, False), (1.0, False), (-0.001, True), (1.001, True)])
def test_a_score_from_0_to_1_is_no_reason_to_doubt_a_mean(score, strange):
    assert bool(reason_without_mean(grade(P, score))) is strange


def test_an_unreadable_score_is_named_before_its_number():
    assert reason_without_mean(grade(P, 7.0, unread='"7/10"')) == 'the score "7/10" of contains is not a number, so no mean can be taken'


@each(
    ("text", "threshold", "outcome", "score"),
    [
        ("P0 F", 0.5, F, 0.0),
        ("P0", 0.5, P, None),  # without a weight there is no mean
        ("F0", 0.5, F, None),
        ("PsFi", 0.5, P, 1.0),  # the set decides in place of its members
        ("F- P", 0.5, P, 1.0),
        ("P E", 0.5, E, 1.0),
        ("F E", 0.5, E, 0.0),
        ("F E", 0.51, F, 0.0),
        ("E", 0.5, E, None),
    ],
)
def test_the_mean_of_a_case_is_of_what_counts_and_errors_might_give_all(text, threshold, outcome, score):
    found = conclude_case([it for word in make_rows(text) for it in word.grades], threshold)
    assert (found.outcome, found.score) == (outcome, score)


def test_a_metric_wins_over_a_returned_score_of_its_name():
    code = grade(P, 0.5, type="javascript", metric="m", evidence={"named_scores": {"m": 0.1, "n": 0.2}})
    assert [astuple(it) for it in named_scores([code])] == [("m", 0.5, 1.0), ("n", 0.2, 1.0)]
    assert [astuple(it) for it in named_scores([replace(code, assertion=replace(code.assertion, type="contains"))])] == [("m", 0.5, 1.0)]
    assert [astuple(it) for it in named_scores([replace(code, outcome=E)])] == []
    assert [astuple(it) for it in named_scores([replace(code, unread="x")])] == []


def test_members_of_a_set_have_its_weight_too():
    grades = [
        grade(P, 1.0, is_set=True, weight=3.0, metric="set"),
        grade(P, 0.5, inner=True, weight=2.0, metric="in"),
        grade(P, 0.25, weight=2.0, metric="out"),
    ]
    assert [astuple(it) for it in named_scores(grades)] == [("set", 1.0, 3.0), ("in", 0.5, 6.0), ("out", 0.25, 2.0)]


def test_a_case_that_passes_by_its_threshold_has_nothing_open():
    assert open_in_case(replace(one("FP"), outcome=P, threshold=0.5), [0]) == []
    assert open_in_case(replace(one("FP"), outcome=P), [0]) == []
