"""When a rule can change no more, and what is asked until then, against the vectors of the specification."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.policy import CaseRuns, Rule, Runs
from gradegate.gate.case_runs import OpenRow
from gradegate.gate.reasks.needs import CaseCount, RuleNeeds, RuleTally, is_missed, is_settled, wave_size
from gradegate.gate.rules import apply_rule
from gradegate.results.baseline import NEW_FAILURE, OPEN, PRE_EXISTING, UNDECIDED
from gradegate.results.grades import Counterpart, Grade, GradedAssertion, Outcome, Vote
from gradegate.results.rows import AnswerId, GradeId, Row
from gradegate.structs import replace
from support.each import each

CONFORMANCE = Path(__file__).parents[2] / "conformance"
VECTORS = json.loads((CONFORMANCE / "decisions.json").read_text())["settled"]
UNCONFIRMED = json.loads((CONFORMANCE / "history.json").read_text())["unconfirmed"]


def Opened(row, open_=frozenset()):  # noqa: N802
    return [(0, row, open_)]


class Waves:
    """The needs of rules; a grade is the number of its row, and its position there."""

    def __init__(self, rules, cases, compared=False):
        numbered = cases if isinstance(cases, dict) else dict(enumerate(cases))
        self._needs = RuleNeeds(rules, (open_case(number, case) for number, case in numbered.items()), compared)

    def update(self, number, case):
        self._needs.update(open_case(number, case))

    def __getattr__(self, name):
        return lambda: [(grade.answer.case, grade.position) for grade in getattr(self._needs, name)()]


def open_case(number, case):
    return [OpenRow(AnswerId(number + run, 0), row, open_) for run, row, open_ in case]


def tally(passed, failed, open_):
    return RuleTally(passed, failed, open=[CaseCount(FAIL, (GradeId(AnswerId(number, 0), 0),)) for number in range(open_)])


@each("vector", [vector for vector in VECTORS if "min_pass_rate" in vector], ids=lambda vector: json.dumps(vector)[:70])
def test_the_vectors(vector):
    rule = Rule("r", min_pass_rate=vector["min_pass_rate"])
    counted = tally(vector["passed"], vector["failed"], vector["open"])
    assert is_settled(rule, counted) == (vector["settled"] != "open")
    if vector["next_wave"] is not None:
        assert min(wave_size(rule, counted), vector["open"]) == vector["next_wave"]


PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR


def row(*outcomes, threshold=None, case=None):
    grades = tuple(Grade(GradedAssertion("llm-rubric"), it, None if it is ERROR else float(it is PASS)) for it in outcomes)
    whole = case or next((it for it in (FAIL, ERROR) if it in outcomes), PASS)
    return Row("s", "", "", "", "", {}, whole, "text", grades=grades, threshold=threshold)


EVERY = Rule("every", every_case=True, suite="s")


def test_of_a_missed_rule_the_first_fifty_cases_are_asked_to_their_end():
    for vector in UNCONFIRMED:
        rows = [Opened(row(PASS))] * vector["passed"] + [Opened(row(FAIL))] * vector["confirmed"]
        rows += [Opened(row(FAIL), frozenset([0]))] * vector["open"]
        waves = Waves([Rule("r", min_pass_rate=vector["min_pass_rate"], suite="s")], rows)
        assert waves.next_wave() == []
        asked = len(waves.last_wave())
        assert (asked, vector["open"] - asked) == (vector["asked_to_the_end"], vector["failed_once"])


def test_a_case_that_fails_by_something_else_is_not_asked_again():
    rows = [Opened(row(FAIL, FAIL), frozenset([0])), Opened(row(PASS))]
    assert Waves([EVERY], rows).next_wave() == []


def test_a_case_whose_threshold_decides_is_asked_whatever_else_fails():
    rows = [Opened(row(FAIL, FAIL, threshold=0.5), frozenset([0])), Opened(row(PASS))]
    assert Waves([EVERY], rows).next_wave() == [(0, 0)]


def test_an_advisory_rule_asks_nothing():
    rows = [Opened(row(FAIL), frozenset([0]))]
    advisory = Rule("a", min_pass_rate=1.0, blocking=False, suite="s")
    assert Waves([advisory], rows).next_wave() == []


def test_a_wave_is_eight_cases_or_what_would_miss_the_rule():
    rows = [Opened(row(FAIL), frozenset([0])) for _ in range(40)] + [Opened(row(PASS)) for _ in range(60)]
    assert Waves([EVERY], rows).next_wave() == [(number, 0) for number in range(8)]
    assert len(Waves([Rule("r", min_pass_rate=0.7, suite="s")], rows).next_wave()) == 31
    assert Waves([Rule("r", min_pass_rate=0.6, suite="s")], rows).next_wave() == []


def test_two_rules_take_the_union_in_plan_order():
    rows = [Opened(row(FAIL), frozenset([0])) for _ in range(20)]
    waves = Waves([Rule("a", min_pass_rate=1.0, suite="s"), Rule("b", min_pass_rate=0.5, suite="s")], rows)
    assert waves.next_wave() == [(number, 0) for number in range(11)]


@each(("compared", "more", "asked"), [(True, {}, 0), (False, {}, 3), (True, {"max_drop": 0.1}, 3)])
def test_a_rule_that_one_key_misses_asks_nothing_for_the_others(compared, more, asked):
    """Half of the cases fail for good, as they did on the base; three failures may be new."""
    old = row(FAIL)
    old = replace(old, grades=tuple(replace(grade, status=PRE_EXISTING) for grade in old.grades))
    rows = [Opened(old)] * 5 + [Opened(row(FAIL), frozenset([0]))] * 3 + [Opened(row(PASS))] * 2
    rule = Rule("r", min_pass_rate=0.9, max_new_failures=0, suite="s", **more)
    assert len(Waves([rule], rows, compared).next_wave()) == asked
    assert len(Waves([replace(rule, min_pass_rate=0.1)], rows, compared).next_wave()) == 3
    assert len(Waves([rule, EVERY], rows[5:], compared).next_wave()) == 3


@each(("said", "asked"), [((FAIL, PASS, FAIL, PASS), 1), ((FAIL, ERROR, ERROR), 0), ((), 0)])
def test_what_the_grader_contradicts_itself_on_may_be_new(said, asked):
    torn, votes = row(ERROR), tuple(Vote(outcome) for outcome in said)
    torn = replace(torn, grades=tuple(replace(grade, votes=votes, status=UNDECIDED) for grade in torn.grades))
    rule = Rule("r", max_new_failures=1, suite="s")
    assert len(Waves([rule], [Opened(torn), Opened(row(FAIL), frozenset([0]))], True).next_wave()) == asked


def test_a_mean_is_never_met_early():
    rows = [Opened(row(FAIL), frozenset([0]))] + [Opened(row(PASS)) for _ in range(99)]
    assert Waves([Rule("r", min_score=0.1, suite="s")], rows).next_wave() == [(0, 0)]


@each(("undone", "asked"), [(0, 0), (1, 0), (2, 4)])
def test_a_rule_that_what_is_undone_might_meet_is_not_missed(undone, asked):
    """Of four that pass, two that fail and four that are open, and of what is undone: 10 of 12 would do."""
    left = row(ERROR)
    left = replace(left, grades=tuple(replace(grade, undone=True) for grade in left.grades))
    rows = [Opened(row(PASS))] * 4 + [Opened(row(FAIL))] * 2 + [Opened(row(FAIL), frozenset([0]))] * 4
    rule = Rule("r", min_pass_rate=0.83, suite="s")
    assert len(Waves([rule], [*rows, *[Opened(left)] * undone, Opened(row(ERROR))]).all_needed()) == asked


def test_what_is_undone_counts_beside_what_is_open_in_the_same_answer():
    torn = row(ERROR, FAIL)
    torn = replace(torn, grades=(replace(torn.grades[0], undone=True), torn.grades[1]))
    rows = [Opened(row(FAIL))] * 2 + [Opened(torn, frozenset([1]))] * 2
    assert Waves([Rule("r", min_pass_rate=0.5, suite="s")], rows).all_needed() == [(2, 1), (3, 1)]  # 2 of 4 at best
    assert Waves([Rule("r", min_pass_rate=0.6, suite="s")], rows).all_needed() == []


def test_what_is_undone_makes_no_enough_cases_of_too_few():
    left = row(ERROR)
    left = replace(left, grades=tuple(replace(grade, undone=True) for grade in left.grades))
    rows = [Opened(row(FAIL))] * 3 + [Opened(row(FAIL), frozenset([0]))]
    rule = Rule("r", min_pass_rate=0.9, min_cases=5, suite="s")
    assert len(Waves([rule], [*rows, *[Opened(left)] * 9]).all_needed()) == 1
    assert Waves([replace(rule, min_cases=4)], [*rows, *[Opened(left)] * 9]).all_needed() == []


STATES = st.sampled_from(["pass", "fail", "error", "open"])
RULES = st.sampled_from(
    [
        EVERY,
        *(Rule("r", min_pass_rate=share, suite="s") for share in (0.0, 0.29, 0.5, 0.95, 1.0)),
        Rule("m", min_pass_rate=0.5, min_cases=5, suite="s"),
    ]
)


@given(st.lists(STATES, max_size=30), RULES, st.data())
def test_what_is_settled_cannot_change_and_what_is_not_can(states, rule, data):
    rows = [Opened(row(FAIL if state == "open" else Outcome(state)), frozenset([0] if state == "open" else [])) for state in states]
    wave = Waves([rule], rows).next_wave()
    open_ = [number for number, state in enumerate(states) if state == "open"]

    def told(ends):
        ended = dict(zip(open_, ends, strict=True))
        return apply_rule(rule, [row(ended.get(number, it[0][1].outcome)) for number, it in enumerate(rows)]).outcome

    drawn = data.draw(st.lists(st.sampled_from([PASS, FAIL]), min_size=len(open_), max_size=len(open_)))
    best, worst = told([PASS] * len(open_)), told([FAIL] * len(open_))
    if open_ and not wave:
        assert best is worst is told(drawn)
    if wave and best is not ERROR:
        assert (best, worst) == (PASS, FAIL)


def test_too_few_cases_are_said():
    rows = [row(PASS)] * 12 + [row(ERROR)] * 60
    assert apply_rule(Rule("r", min_pass_rate=0.5, min_cases=50, suite="s"), rows).reason == "only 12 of at least 50 cases graded"


def counted(passed=0, failed=0, open_=0, unsure=0, undone=0):
    return replace(tally(passed, failed, open_), unsure=unsure, undone=undone)


@each(
    ("keys", "passed", "failed", "open_", "undone", "expected"),
    [
        ({"min_pass_rate": 0.5}, 1, 2, 1, 0, False),  # 2 of 4 would do
        ({"min_pass_rate": 0.5}, 1, 3, 1, 0, True),
        ({"min_pass_rate": 0.5}, 1, 3, 1, 1, False),
        ({"min_pass_rate": 0.5}, 1, 3, 0, 1, True),
        ({"min_pass_rate": 0.5, "min_cases": 5}, 0, 4, 0, 0, False),
        ({"min_pass_rate": 0.5, "min_cases": 4}, 0, 4, 0, 0, True),
        ({"max_new_failures": 2}, 0, 2, 9, 0, False),
        ({"max_new_failures": 2}, 0, 3, 9, 0, True),
        ({"max_new_failures": 2, "max_drop": 0.1}, 0, 3, 9, 0, False),
        ({"max_drop": 0.1}, 0, 3, 9, 0, False),
    ],
)
def test_a_rule_is_missed_only_beyond_its_limit(keys, passed, failed, open_, undone, expected):
    assert is_missed(Rule("r", suite="s", **keys), counted(passed, failed, open_, undone=undone)) is expected


@each(
    ("keys", "compared", "figures", "expected"),
    [
        ({"min_pass_rate": 0.5}, False, (2, 1, 1, 0), True),  # 2 of 4 if it stands
        ({"min_pass_rate": 0.5}, False, (2, 1, 2, 0), False),
        ({"min_pass_rate": 0.5, "min_score": 0.1}, False, (2, 1, 1, 0), False),
        ({"max_new_failures": 3}, True, (0, 1, 2, 0), True),
        ({"max_new_failures": 3}, True, (0, 1, 3, 0), False),
        ({"max_new_failures": 3}, True, (0, 1, 1, 1), True),
        ({"max_new_failures": 3}, True, (0, 1, 2, 1), False),
        ({"max_new_failures": 3}, True, (0, 4, 9, 0), True),
        ({"max_new_failures": 3}, False, (0, 4, 9, 0), False),
        ({"max_new_failures": 3, "max_drop": 0.1}, True, (0, 0, 0, 0), False),
        ({"max_drop": 0.1}, True, (0, 0, 0, 0), False),
    ],
)
def test_a_rule_is_settled_at_its_limit(keys, compared, figures, expected):
    passed, failed, open_, unsure = figures
    assert is_settled(Rule("r", suite="s", **keys), counted(passed, failed, open_, unsure), compared) is expected


@each(
    ("keys", "figures", "expected"),
    [
        ({"max_new_failures": 6}, (0, 0, 40), 8),
        ({"max_new_failures": 7}, (0, 0, 40), 8),
        ({"max_new_failures": 8}, (0, 0, 40), 9),
        ({"max_new_failures": 10}, (0, 2, 40), 9),
        ({"max_new_failures": 10, "max_drop": 0.1}, (0, 2, 40), 40),
        ({"every_case": True}, (60, 0, 40), 8),
        ({"min_pass_rate": 0.9}, (60, 0, 40), 11),
        ({"min_pass_rate": 0.9}, (60, 2, 38), 9),
        ({"min_pass_rate": 0.9}, (60, 3, 37), 8),
        ({"min_pass_rate": 0.9, "min_score": 0.5}, (60, 0, 40), 40),
        ({"min_score": 0.5}, (60, 0, 40), 40),
    ],
)
def test_a_wave_is_as_wide_as_what_would_miss_the_rule(keys, figures, expected):
    assert wave_size(Rule("r", suite="s", **keys), counted(*figures)) == expected


def test_at_last_what_missed_rules_left_is_asked():
    rows = [Opened(row(FAIL), frozenset([0])) for _ in range(40)] + [Opened(row(PASS)) for _ in range(60)]
    missed_ = [*rows, Opened(row(FAIL))]
    assert Waves([EVERY], missed_).next_wave() == []
    assert len(Waves([EVERY], missed_).last_wave()) == 40


def test_what_is_no_longer_open_is_counted_as_it_is_now():
    waves = Waves([EVERY], [Opened(row(FAIL), frozenset([0])), Opened(row(FAIL), frozenset([0]))])
    waves.update(0, Opened(row(PASS)))
    assert waves.next_wave() == [(1, 0)]
    waves.update(1, Opened(row(FAIL)))
    assert (waves.next_wave(), waves.last_wave()) == ([], [])


def new(*outcomes, status=NEW_FAILURE, **more):
    made = row(*outcomes, **more)
    return replace(made, grades=tuple(replace(grade, status=status) for grade in made.grades))


@each(
    ("settled_", "allowed", "asked"),
    [
        ([Opened(new(FAIL))], 0, 0),  # missed for good
        ([Opened(new(FAIL))], 1, 1),
        ([Opened(new(FAIL))], 2, 0),  # met if it stands
        ([Opened(new(FAIL, status=PRE_EXISTING))], 0, 1),
        ([Opened(new(FAIL, status=PRE_EXISTING))], 1, 0),
        ([Opened(new(FAIL, status=OPEN))], 0, 1),
    ],
)
def test_new_failures_are_asked_again_until_their_limit_is_passed_or_out_of_reach(settled_, allowed, asked):
    rule = Rule("r", max_new_failures=allowed, suite="s")
    waves = Waves([rule], [*settled_, Opened(new(FAIL, status=OPEN), frozenset([0]))], compared=True)
    assert len(waves.next_wave()) == asked


def runs(*outcomes, status=""):
    """The runs of a case of which two of three must pass, whose failures are open."""
    needs = CaseRuns(Runs(3, 2))
    made = [replace(new(it, status=status), needs=needs, run=number, key=b"k") for number, it in enumerate(outcomes, 1)]
    return [(number, it, frozenset([0] if it.outcome is FAIL else [])) for number, it in enumerate(made)]


@each(
    ("status", "open_", "max_new", "asked"),
    [(NEW_FAILURE, False, 0, []), (NEW_FAILURE, True, 0, [(0, 0), (1, 0)]), (PRE_EXISTING, True, 0, [(0, 0), (1, 0)])],
)
def test_the_open_runs_of_a_case_are_asked_together(status, open_, max_new, asked):
    case = runs(FAIL, FAIL, status=status)
    case = case if open_ else [(number, it, frozenset()) for number, it, _ in case]
    rule = Rule("r", max_new_failures=max_new, suite="s", runs=Runs(3, 2))
    assert Waves([rule], [(case)], compared=True).next_wave() == asked
    whole = Rule("r", min_pass_rate=1.0, suite="s", runs=Runs(3, 2))
    assert Waves([whole], [(case)]).next_wave() == asked


def test_a_case_whose_runs_pass_asks_nothing_and_a_failed_one_misses_its_rule():
    rule = Rule("r", max_new_failures=0, suite="s", runs=Runs(3, 2))
    other = Opened(new(FAIL, status=OPEN), frozenset([0]))
    assert Waves([rule], [(runs(FAIL, PASS, PASS))], compared=True).next_wave() == []
    failed = [(number, it, frozenset()) for number, it, _ in runs(FAIL, FAIL, status=NEW_FAILURE)]
    assert Waves([rule], {0: (failed), 2: other}, compared=True).next_wave() == []
    old = [(number, it, frozenset()) for number, it, _ in runs(FAIL, FAIL, status=PRE_EXISTING)]
    old = [(number, replace(it, base=FAIL), open_) for number, it, open_ in old]
    assert Waves([rule], {0: (old), 2: other}, compared=True).next_wave() == [(2, 0)]


@each(
    ("threshold", "case_base", "grade_base", "asked"),
    [
        (None, PASS, FAIL, []),  # it failed before
        (None, FAIL, PASS, [(0, 0)]),
        (None, PASS, None, [(0, 0)]),
        (0.5, FAIL, FAIL, []),
        (0.5, PASS, FAIL, [(0, 0)]),  # that the whole case fails is new
        (0.5, FAIL, PASS, [(0, 0)]),
    ],
)
def test_what_failed_before_is_not_asked_again_unless_its_case_is_new(threshold, case_base, grade_base, asked):
    answer = row(FAIL, threshold=threshold)
    said = grade_base and Counterpart(grade_base, grade_base)
    status = PRE_EXISTING if grade_base is FAIL else OPEN
    answer = replace(answer, base=case_base, grades=(replace(answer.grades[0], base=said, status=status),))
    rule = Rule("r", max_new_failures=0, suite="s")
    waves = Waves([rule], [Opened(answer, frozenset([0])), Opened(row(PASS))], compared=True)
    assert waves.next_wave() == asked
    drop = Rule("r", max_drop=0.1, suite="s")  # a drop compares what was old, too
    assert Waves([drop], [Opened(answer, frozenset([0]))], compared=True).next_wave() == [(0, 0)]


def test_a_case_that_is_an_error_until_it_is_asked_again_is_asked_unless_the_rule_is_missed():
    unclear = runs(FAIL, ERROR, ERROR)
    for least, others, asked in ((0.0, [], [(0, 0)]), (1.0, [], [(0, 0)]), (1.0, [Opened(row(FAIL))], [])):
        rule = Rule("r", min_pass_rate=least, suite="s", runs=Runs(3, 2))
        assert Waves([rule], [unclear, *others]).next_wave() == asked, (least, asked)


def test_a_failure_beside_a_contradiction_is_not_asked_where_the_rule_is_met_anyway():
    answer = new(ERROR, FAIL, status=OPEN, case=FAIL)
    votes = tuple(Vote(outcome) for outcome in (FAIL, PASS, FAIL, PASS))
    torn = replace(answer, grades=(replace(answer.grades[0], votes=votes, status=UNDECIDED), answer.grades[1]))
    for allowed, asked in ((5, []), (0, [(0, 1)])):
        rule = Rule("r", max_new_failures=allowed, suite="s")
        assert Waves([rule], [Opened(torn, frozenset([1]))], compared=True).next_wave() == asked, allowed
