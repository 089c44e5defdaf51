"""Two planned gates compared, made by hand: equal limits are no finding, and the right one of two stands for the other."""

from datetime import date

from gradegate.core.policy import Limits, Policy, Rule, Runs, Select
from gradegate.errors import Mistake, Origin
from gradegate.gate.changes.comparison import compare_gates
from gradegate.gate.changes.weakening import compare_grades, compare_means, compare_models, is_milder_mode, threshold_strictness
from gradegate.planning.counterparts import match_by_keys
from gradegate.planning.snapshot import AnswerTerms, CaseInput, GateSnapshot, GradeTerms, ModelTerms
from gradegate.structs import replace
from support.each import each

GRADE = GradeTerms("contains", b"v", b"o", b"r", "", 0.5, 1.0, True)
MODEL = ModelTerms("openai:chat:m", "app", "api.openai.com", "model", ())
ANSWER = AnswerTerms(CaseInput((b"q",), b""), 0, 0, b"", (b"",) * 4, Runs(1, 1), 1, None, (GRADE,), description="one", name="one")
POLICY = Policy(())
GATE = GateSnapshot("c.yaml", "d", (POLICY,), {}, {}, ("short",), (MODEL,), (ANSWER,))


def grade(**own):
    return replace(GRADE, **own)


def a_set(*members, **own):
    return replace(GRADE, type="assert-set", members=members, **own)


def less(base, head, threshold=None):
    """The findings between the assertions of two answers."""
    return [f"{found.kind.value}: {found.subject} {found.text}" for found in compare_grades(base, head, threshold)]


def find_changes(base, head, problems=()):
    """The findings between two gates."""
    one = [[gate] if isinstance(gate, GateSnapshot) else gate for gate in (base, head)]
    return [f"{change.kind.value}: {change.text}" for change in compare_gates(*one, problems, {})]


def answers(before, now):
    """The findings between two gates of one answer each."""
    return find_changes(replace(GATE, answers=(before,)), replace(GATE, answers=(now,)))


def ruled(*before, now):
    """The findings between two gates with rules."""
    gates = [replace(GATE, policies=(Policy(tuple(rules)),)) for rules in (before, now)]
    return find_changes(*gates)


def policies(before, now):
    """The findings between two gates of one policy each."""
    return find_changes(replace(GATE, policies=(before,)), replace(GATE, policies=(now,)))


@each(
    ("old", "new", "expected"),
    [
        (None, None, []),
        (0.5, 0.5, []),
        (0.5, 0.6, []),
        (0.5, 0.4, ["weaker: is weaker: threshold 0.5 became 0.4"]),
        (0.5, None, ["weaker: its threshold 0.5 is gone"]),
        (None, 0.5, ["weaker: now the mean decides, with threshold 0.5; before, every assertion had to pass"]),
        (0.0, 0.0, []),
        (0.1, 0.0, ["weaker: is weaker: threshold 0.1 became 0"]),
    ],
)
def test_a_mean_with_the_same_threshold_is_as_strict(old, new, expected):
    assert [f"{kind.value}: {what}" for kind, what in compare_means(old, new)] == expected


def test_limits_are_ordered_by_how_much_they_ask_for():
    rising = [grade(limit=0.0), grade(limit=None), grade(limit=0.1), grade(limit=0.2)]
    assert [threshold_strictness(it) for it in rising] == [(0.0, False), (0.0, True), (0.1, False), (0.2, False)]
    assert [threshold_strictness(it) for it in rising] == sorted(threshold_strictness(it) for it in rising)


@each(
    ("type", "most", "limits"),
    [("similar", False, (0.2, 0.3)), ("latency", True, (0.3, 0.2)), ("not-similar", False, (0.3, 0.2)), ("not-latency", True, (0.2, 0.3))],
)
def test_a_limit_from_above_and_a_negated_one_are_stricter_the_lower_they_are(type, most, limits):  # noqa: A002
    weaker, stricter = (grade(type=type, most=most, limit=limit) for limit in limits)
    assert less([weaker], [stricter]) == less([weaker], [weaker]) == []
    assert less([stricter], [weaker]) == [f"weaker: `{type}` is weaker: threshold {limits[1]:g} became {limits[0]:g}"]


@each(
    ("old", "new", "expected"),
    [
        ({}, {}, []),
        ({"limit": None}, {"limit": None}, []),
        ({"limit": None}, {"limit": 0.5}, ["changed: `contains` its score now decides, too, with threshold 0.5"]),
        ({"limit": 0.5}, {"limit": None}, ["weaker: `contains` is weaker: threshold 0.5 became none"]),
        ({}, {"blocking": False}, ["weaker: `contains` no longer blocks"]),
        ({"blocking": False}, {}, []),
        ({"blocking": False}, {"blocking": False}, []),
        ({"reask": "off", "mode": "off"}, {"reask": "off", "mode": "off"}, []),
        ({"mode": "off"}, {"mode": "grader"}, []),  # the gate says so, and is told apart
        (
            {"reask": "off", "mode": "off"},
            {"reask": "grader", "mode": "grader"},
            ["weaker: `contains` its failures are re-asked in a milder way: off became grader"],
        ),
        ({"reask": "grader", "mode": "grader"}, {"reask": "off", "mode": "off"}, []),
        ({"reask": "", "mode": "grader"}, {"reask": "grader", "mode": "grader"}, []),
        ({}, {"metric": "m"}, ["changed: `contains` counts for the metric `m`, not ``"]),
        ({}, {"value": b"w"}, ["changed: `contains` has a different value"]),
        ({}, {"type": "equals"}, ["removed: `contains` gone"]),
    ],
)
def test_what_an_assertion_asks_for_is_compared_with_what_it_asked_for(old, new, expected):
    assert less([grade(**old)], [grade(**new)]) == expected


@each(
    ("old", "new", "expected"),
    [
        (0.5, 0.5, []),
        (0.5, 0.4, []),  # under `not-`, a lower threshold is reached by more, and fails more
        (0.4, 0.5, ["weaker: `not-assert-set` its negated assertions changed"]),
        (None, 0.5, ["weaker: `not-assert-set` its negated assertions changed"]),
        (0.5, None, ["weaker: `not-assert-set` its negated assertions changed"]),
        (None, None, []),
    ],
)
def test_a_negated_set_may_only_get_a_lower_threshold(old, new, expected):
    sets = [replace(a_set(grade(), limit=limit), type="not-assert-set") for limit in (old, new)]
    assert less(sets[:1], sets[1:]) == expected


def test_a_negated_set_of_other_members_changed_and_its_members_are_not_compared():
    base, head = (replace(a_set(*members, limit=0.5), type="not-assert-set") for members in ([grade()], [grade(), grade()]))
    assert less([base], [head]) == ["weaker: `not-assert-set` its negated assertions changed"]
    lower = replace(head, limit=0.4)
    assert less([base], [lower]) == ["weaker: `not-assert-set` its negated assertions changed"]


def test_a_set_with_another_threshold_and_members_is_held_to_both():
    base, head = a_set(grade(limit=0.5), limit=0.5), a_set(grade(limit=0.4), limit=0.4)
    assert less([base], [head]) == [
        "weaker: `assert-set` is weaker: threshold 0.5 became 0.4",
        "weaker: `contains` is weaker: threshold 0.5 became 0.4",
    ]
    assert less([base], [base]) == []


def test_a_set_goes_with_the_one_that_has_most_of_its_members():
    one, two, three, four = (grade(value=name) for name in (b"1", b"2", b"3", b"4"))
    base = a_set(one, two, three)
    near, far = a_set(one, two, grade(value=b"3", limit=0.4)), a_set(one, four)
    for head in ([near, far], [far, near]):
        assert less([base], head) == ["weaker: `contains` is weaker: threshold 0.5 became 0.4"]


def test_each_set_of_the_head_stands_for_one_of_the_base():
    one, two, three = (grade(value=name) for name in (b"1", b"2", b"3"))
    first, second = a_set(one, two), a_set(one, three)
    assert less([first, second], [a_set(one)]) == ["removed: `assert-set` gone", "removed: `contains` gone"]


def test_the_strictest_of_the_base_goes_with_the_strictest_of_the_head():
    loose, strict = grade(limit=0.3), grade(limit=0.7)
    for base in ([loose, strict], [strict, loose]):
        assert less(base, [loose, grade(limit=0.6)]) == ["weaker: `contains` is weaker: threshold 0.7 became 0.6"]
        assert less(base, [strict, grade(limit=0.4)]) == []
    advice, blocks = grade(limit=0.9, blocking=False), grade(limit=0.3)
    assert less([advice, blocks], [grade(limit=0.3), grade(limit=0.8, blocking=False)]) == [
        "weaker: `contains` is weaker: threshold 0.9 became 0.8"
    ]


@each(
    ("old", "new", "threshold", "expected"),
    [
        ((1, 1), (1, 1), 0.5, []),
        ((1, 1), (2, 2), 0.5, []),  # half of the mean as before
        ((1, 1), (0, 1), 0.5, ["weaker: `contains` no longer counts: its weight became 0"]),
        ((0, 1), (0, 1), 0.5, []),
        ((0, 1), (1, 1), None, []),
        # Its failure leaves 0.5 of 1: that missed 0.6, and 0.6 is reached with 0.4 of the weight.
        ((1, 1), (2, 3), 0.6, ["weaker: `contains` counts for less of the mean: 50 % became 40 %"]),
        ((1, 1), (2, 3), 0.61, ["changed: `contains` counts for less of the mean: 50 % became 40 %"]),
        ((1, 1), (2, 3), 0.5, ["changed: `contains` counts for less of the mean: 50 % became 40 %"]),
        ((1, 1), (2, 3), 0.51, ["weaker: `contains` counts for less of the mean: 50 % became 40 %"]),
        ((2, 2), (1, 2), 0.1, ["weaker: `contains` counts for less of the mean: 50 % became 33.3 %"]),
        ((2, 2), (1, 1), 0.5, ["changed: `contains` weighs less: 2 became 1"]),
        ((2, 2), (1, 2), None, ["changed: `contains` weighs less: 2 became 1"]),
        ((2, 2), (2, 2), None, []),
        ((1, 2), (2, 2), None, []),
    ],
)
def test_a_weight_is_less_where_its_share_of_the_mean_is(old, new, threshold, expected):
    sides = [[grade(weight=float(one)), grade(type="equals", weight=float(other))] for one, other in (old, new)]
    assert [it for it in less(*sides, threshold) if "contains" in it] == expected


def test_only_weights_that_count_are_a_part_of_the_mean():
    advice = grade(type="equals", blocking=False)
    assert less([grade(), advice], [grade(), replace(advice, weight=9.0)], 0.5) == []
    assert less([advice, grade()], [replace(advice, weight=0.5), grade()], 0.5) == ["changed: `equals` weighs less: 1 became 0.5"]


@each(
    ("new", "expected"),
    [
        ({}, []),
        ({"source": "file"}, ["weaker: `app` gives replies from a file; `app` gave replies from a model"]),
        ({"id": "echo"}, ["changed: `echo` replaces `openai:chat:m`"]),
        ({"id": "echo", "host": "x.org"}, ["changed: `echo` at x.org replaces `openai:chat:m`"]),
        ({"host": "x.org"}, ["weaker: `openai:chat:m` is asked at x.org, not at api.openai.com"]),
        ({"host": ""}, ["weaker: `openai:chat:m` is asked at this machine, not at api.openai.com"]),
        ({"options": (("b", b"1"), ("a", b"1"))}, ["changed: `app` has different settings: `a`, `b`"]),
    ],
)
def test_a_model_is_compared_with_the_one_before(new, expected):
    assert [f"{kind.value}: {what}" for kind, what in compare_models(MODEL, replace(MODEL, **new))] == expected


def test_replies_that_were_never_of_a_model_are_only_changed():
    ways = compare_models(replace(MODEL, source="file"), replace(MODEL, source="program"))
    assert [kind.value for kind, _ in ways] == ["changed"]
    from_here = compare_models(replace(MODEL, host=""), MODEL)
    assert [what for _, what in from_here] == ["`openai:chat:m` is asked at api.openai.com, not at this machine"]


def test_a_grader_is_compared_by_what_it_is_needed_for_and_where_it_is_named():
    at = Origin("c.yaml", 7)
    old = grade(models=(("text", MODEL),), origin=Origin("c.yaml", 1))
    other = replace(MODEL, id="echo", origin=at)
    (found_,) = compare_grades([old], [replace(old, models=(("text", other),))], None)
    assert (found_.text, found_.origin) == ("is graded differently: `echo` replaces `openai:chat:m`", at)
    (found_,) = compare_grades([old], [replace(old, models=(("text", replace(other, origin=Origin("c.yaml"))),))], None)
    assert found_.origin == Origin("c.yaml", 1)
    (found_,) = compare_grades([old], [replace(old, models=(("embedding", MODEL),))], None)
    assert (found_.text, found_.origin) == ("is graded differently: no text model is asked", Origin("c.yaml", 1))


def test_how_failures_are_asked_again_is_milder_from_off_to_answers():
    modes = ("off", "grader", "answers")
    assert [[is_milder_mode(old, new) for new in modes] for old in modes] == [
        [False, True, True],
        [False, False, True],
        [False, False, False],
    ]


def test_what_is_most_alike_is_matched_first_and_of_equals_the_first():
    keys = (lambda it: it, lambda it: it[0])
    assert match_by_keys(["ax", "ay"], ["ay", "az"], keys) == {1: 0, 0: 1}
    assert match_by_keys(["ax", "ax", "ax"], ["ax", "ax"], keys) == {0: 0, 1: 1}
    assert match_by_keys(["ax", "bx"], ["by", "az", "aw"], keys) == {0: 1, 1: 0}


# --- whole gates ------------------------------------------------------------------------------------------------


@each(
    ("old", "new", "expected"),
    [
        ({}, {}, []),
        ({}, {"recorded": b"1"}, ["weaker: `one`: its answer is recorded now, and no model is asked"]),
        ({"recorded": b"1"}, {"recorded": b"2"}, ["changed: `one`: its recorded answer changed"]),
        ({"recorded": b"1"}, {}, ["changed: `one`: its recorded answer changed"]),
        ({"runs": Runs(2, 2)}, {"runs": Runs(1, 1)}, ["weaker: `one`: runs 1 time, not 2"]),
        ({"runs": Runs(3, 2)}, {"runs": Runs(3, 1)}, ["weaker: `one`: needs 1 of 3 runs to pass, and needed 2 of 3"]),
        ({"runs": Runs(3, 3)}, {"runs": Runs(3, 2)}, ["weaker: `one`: needs 2 of 3 runs to pass, and needed 3 of 3"]),
        ({"runs": Runs(3, 2)}, {"runs": Runs(3, 3)}, []),
        ({"runs": Runs(3, 2)}, {"runs": Runs(4, 3)}, []),
        ({"runs": Runs(3, 2)}, {"runs": Runs(6, 4)}, []),
        ({"quarantine": date(2026, 12, 1)}, {"quarantine": date(2026, 12, 1)}, []),
        ({"quarantine": date(2026, 12, 2)}, {"quarantine": date(2026, 12, 1)}, []),
        ({"quarantine": date(2026, 12, 1)}, {}, []),
        (
            {"quarantine": date(2026, 12, 1)},
            {"quarantine": date(2026, 12, 2)},
            ["weaker: `one`: in quarantine until 2026-12-02, and before until 2026-12-01"],
        ),
        ({}, {"quarantine": date(2026, 12, 2)}, ["weaker: `one`: in quarantine until 2026-12-02, and before in none"]),
        ({"threshold": 0.5}, {"threshold": 0.5}, []),
        ({"threshold": 0.5}, {"threshold": 0.6}, []),
        ({"threshold": 0.6}, {"threshold": 0.5}, ["weaker: `one`: is weaker: threshold 0.6 became 0.5"]),
        ({}, {"apart": (b"", b"1", b"", b"")}, ["changed: `one`: the conversation before it changed"]),
        ({}, {"description": "two"}, []),
        ({}, {"target": 1}, ["removed: `one`: runs less often, or with fewer prompts, on `app`"]),
        ({}, {"question": CaseInput((b"q", b"more"), b"")}, ["changed: `one`: has more variables"]),
        ({}, {"question": CaseInput((b"q", b"more"), b"t")}, ["removed: `one`: its question is gone, because its variables changed"]),
        (
            {"question": CaseInput((b"q", b"r"), b"")},
            {"question": CaseInput((b"q",), b"")},
            ["removed: `one`: its question is gone, because its variables changed"],
        ),
        ({}, {"question": CaseInput((b"x",), b""), "description": "two"}, ["removed: `one`: gone"]),
        ({"description": ""}, {"question": CaseInput((b"x",), b""), "description": ""}, ["removed: `one`: gone"]),
    ],
)
def test_an_answer_is_compared_with_the_one_before(old, new, expected):
    assert answers(replace(ANSWER, **old), replace(ANSWER, **new)) == expected


def test_of_several_answers_to_a_question_the_one_with_most_of_the_same_assertions_stands_for_the_old_one():
    other, weak = grade(value=b"w"), grade(limit=0.4)
    old = replace(ANSWER, grades=(GRADE, other))
    same, near, far = (replace(ANSWER, grades=grades) for grades in ((GRADE, grade(value=b"x")), (weak, other), (weak,)))
    for head in ((far, near), (near, far)):
        assert find_changes(replace(GATE, answers=(old,)), replace(GATE, answers=head)) == [
            "weaker: `contains` of `one`: is weaker: threshold 0.5 became 0.4"
        ]
    assert find_changes(replace(GATE, answers=(old,)), replace(GATE, answers=(far, same))) == [
        "changed: `contains` of `one`: has a different value"
    ]


def test_of_answers_that_are_alike_the_one_of_the_same_name_stands_for_the_old_one():
    old = replace(ANSWER, threshold=0.9)
    same, other = replace(ANSWER, threshold=0.8), replace(ANSWER, threshold=0.7, description="two")
    for head in ((same, other), (other, same)):
        assert find_changes(replace(GATE, answers=(old,)), replace(GATE, answers=head)) == [
            "weaker: `one`: is weaker: threshold 0.9 became 0.8"
        ]


def test_three_tests_are_named_and_the_others_counted():
    for count, said in (
        (1, "`t0`"),
        (3, "`t0`, `t1`, `t2`"),
        (4, "`t0`, `t1`, `t2` and 1 more tests"),
        (5, "`t0`, `t1`, `t2` and 2 more tests"),
    ):
        base = [replace(ANSWER, question=CaseInput((bytes([n]),), b""), name=f"t{n}") for n in range(count)]
        head = [replace(it, grades=(grade(blocking=False),)) for it in base]
        assert find_changes(replace(GATE, answers=base), replace(GATE, answers=head)) == [f"weaker: `contains` of {said}: no longer blocks"]


@each(
    ("before", "now", "expected"),
    [
        ({"min_pass_rate": 0.9}, {"min_pass_rate": 0.9}, []),
        ({"min_pass_rate": 0.9}, {"min_pass_rate": 0.95}, []),
        ({"min_pass_rate": 0.9}, {"min_pass_rate": 0.8}, ["weaker: the rule `r` is weaker: min-pass-rate 0.9 became 0.8"]),
        ({"min_pass_rate": 0.9}, {}, ["weaker: the rule `r` is weaker: min-pass-rate 0.9 became nothing"]),
        ({}, {"min_pass_rate": 0.9}, []),
        ({"min_score": 0.9}, {"min_score": 0.8}, ["weaker: the rule `r` is weaker: min-score 0.9 became 0.8"]),
        ({"min_cases": 9}, {"min_cases": 9}, []),
        ({"min_cases": 9}, {"min_cases": 8}, ["weaker: the rule `r` is weaker: min-cases 9 became 8"]),
        ({"max_new_failures": 1}, {"max_new_failures": 1}, []),
        ({"max_new_failures": 1}, {"max_new_failures": 0}, []),
        ({"max_new_failures": 1}, {"max_new_failures": 2}, ["weaker: the rule `r` is weaker: max-new-failures 1 became 2"]),
        ({"max_new_failures": 0}, {}, ["weaker: the rule `r` is weaker: max-new-failures 0 became nothing"]),
        ({}, {"blocking": False}, ["weaker: the rule `r` no longer blocks"]),
        ({"blocking": False}, {}, []),
        ({"runs": Runs(3, 2)}, {"runs": Runs(3, 2)}, []),
        ({"runs": Runs(3, 2)}, {"runs": Runs(3, 1)}, ["weaker: the rule `r` is weaker: runs 2/3 became 1/3"]),
        ({"runs": Runs(3, 2)}, {}, []),
        ({}, {"runs": Runs(3, 1)}, []),
        ({}, {"select": Select(metric="m")}, ["weaker: the rule `r` selects other assertions"]),
        ({}, {"by_metric": True}, ["weaker: the rule `r` selects other assertions"]),
        ({}, {"name": "s"}, ["changed: the rule `r` is now named `s`"]),
        ({}, {"name": "s", "select": Select(metric="m")}, ["removed: the rule `r` is gone"]),
        ({}, {"every_case": True}, ["removed: the rule `r` is gone"]),
    ],
)
def test_a_rule_is_compared_with_the_one_before(before, now, expected):
    assert ruled(Rule("r", **before), now=[replace(Rule("r"), **now)]) == expected


def test_of_two_rules_of_one_name_the_strictest_stands_for_the_strictest():
    def rule(**keys):
        return Rule("r", **{"min_pass_rate": 0.5, **keys})

    pairs = [
        ({"min_pass_rate": 0.9}, {"min_pass_rate": 0.8}, "min-pass-rate 0.9 became 0.8"),
        ({"max_new_failures": 1}, {"max_new_failures": 2}, "max-new-failures 1 became 2"),
    ]
    for strict, weaker, said in pairs:
        loose = rule(min_pass_rate=0.5)
        for base in ([rule(**strict), loose], [loose, rule(**strict)]):
            assert ruled(*base, now=[rule(**weaker), loose]) == [f"weaker: the rule `r` is weaker: {said}"], said
            assert ruled(*base, now=[loose, rule(**weaker)]) == [f"weaker: the rule `r` is weaker: {said}"], said
    advice = rule(min_pass_rate=0.9, blocking=False)
    assert ruled(advice, rule(), now=[rule(), rule(min_pass_rate=0.8, blocking=False)]) == [
        "weaker: the rule `r` is weaker: min-pass-rate 0.9 became 0.8"
    ]


@each(
    ("before", "now", "expected"),
    [
        ({}, {}, []),
        ({"errors": "block"}, {"errors": "block"}, []),
        ({"errors": "inconclusive"}, {"errors": "block"}, []),
        ({"errors": "block"}, {"errors": "inconclusive"}, ["weaker: errors count for less than before (`gate.errors`)"]),
        ({"errors": "inconclusive"}, {"errors": "ignore"}, []),  # up to no share
        ({"errors": "ignore"}, {"errors": "inconclusive"}, []),
        ({"errors": "ignore"}, {"errors": "ignore", "errors_up_to": 0.1}, ["weaker: errors count for less than before (`gate.errors`)"]),
        ({"errors": "ignore", "errors_up_to": 0.1}, {"errors": "ignore", "errors_up_to": 0.1}, []),
        ({"errors": "ignore", "errors_up_to": 0.2}, {"errors": "ignore", "errors_up_to": 0.1}, []),
        ({"noise": 0.1}, {"noise": 0.1}, []),
        ({"noise": 0.1}, {"noise": 0.05}, []),
        ({"noise": 0.1}, {"noise": 0.2}, ["weaker: more flips of the grader are allowed: `gate.reask.noise` 0.1 became 0.2"]),
        ({"reask": "grader"}, {"reask": "grader"}, []),
        ({"reask": "grader"}, {"reask": "off"}, []),
        ({"reask": "grader"}, {"reask": "answers"}, ["weaker: failures are re-asked in a milder way: `gate.reask` grader became answers"]),
        ({"weakening": "block"}, {"weakening": "block"}, []),
        ({"weakening": "report"}, {"weakening": "block"}, []),
        ({"weakening": "block"}, {"weakening": "report"}, ["weaker: a weaker gate no longer blocks (`gate.weakening`)"]),
        ({"budget": Limits(calls=9)}, {"budget": Limits(calls=8)}, ["changed: the budget is smaller: `gate.budget.calls` 9 became 8"]),
        ({"budget": Limits(calls=9)}, {"budget": Limits(calls=9)}, []),
        (
            {"budget": Limits(calls=9)},
            {"budget": Limits(calls=8), "errors": "ignore"},
            ["changed: the budget is smaller: `gate.budget.calls` 9 became 8"],  # no error is ignored
        ),
    ],
)
def test_a_policy_is_compared_with_the_one_before(before, now, expected):
    assert policies(replace(POLICY, **before), replace(POLICY, **now)) == expected


def test_of_several_policies_of_a_config_the_most_lenient_one_counts():
    strict, lenient = replace(POLICY, errors="block"), replace(POLICY, errors="ignore", errors_up_to=0.5)
    both = replace(GATE, policies=(strict, lenient))
    assert find_changes(both, replace(GATE, policies=(lenient, strict))) == []
    assert find_changes(replace(GATE, policies=(strict, strict)), both) == ["weaker: errors count for less than before (`gate.errors`)"]


@each(
    ("problems", "said"),
    [
        ([Mistake("it is broken", Origin("c.yaml", 3), "")], "it is broken (c.yaml:3)"),
        ([Mistake("it is broken", None, "")], "it is broken"),
        ([Mistake("one", None, "")] * 2, "one, and 1 more mistake"),
        ([Mistake("one", None, "")] * 3, "one, and 2 more mistakes"),
    ],
)
def test_a_base_that_cannot_be_compared_says_the_first_reason(problems, said):
    assert find_changes(GATE, GATE, problems) == [f"weaker: not all of the base can be compared: {said}"]


def test_what_is_gone_comes_before_what_asks_for_less_and_that_before_what_is_another():
    head = replace(GATE, policies=(replace(POLICY, noise=0.25),), env={"A": b"1"}, prompts=("long",), targets=())
    base = replace(GATE, policies=(replace(POLICY, noise=0.1),))
    assert [line.split(":")[0] for line in find_changes(base, head)] == ["removed", "weaker", "changed"]


def test_a_config_with_another_name_is_the_one_with_the_same_content():
    old, other = replace(GATE, file="old.yaml", digest="1"), replace(GATE, file="kept.yaml", digest="1")
    moved = replace(GATE, file="new.yaml", digest="1")
    assert find_changes([old, other], [other, moved]) == ["changed: the config `old.yaml` is now named `new.yaml`"]
    assert find_changes([old, other], [other]) == ["removed: the config `old.yaml` no longer runs"]
    again = replace(old, file="older.yaml")
    assert find_changes([old, again], [moved]) == [
        "removed: the config `older.yaml` no longer runs",
        "changed: the config `old.yaml` is now named `new.yaml`",
    ]


def test_that_a_prompt_or_target_is_gone_is_said_once():
    base = replace(GATE, prompts=("short", "long"), answers=(ANSWER, replace(ANSWER, prompt=1)))
    assert find_changes(base, replace(GATE, prompts=("long",))) == ["removed: the prompt `short` is no longer used"]
    base = replace(GATE, targets=(replace(MODEL, name="a", id="a"), MODEL), answers=(ANSWER, replace(ANSWER, target=1)))
    assert find_changes(base, GATE) == ["removed: the target `a` is no longer used"]
    recorded = replace(ANSWER, prompt=-1, recorded=b"1")
    assert find_changes(replace(GATE, answers=(recorded,)), replace(GATE, answers=())) == ["removed: `one`: gone"]


def test_a_rule_loses_only_what_is_still_there():
    rule = Rule("named", Select(description="one"), min_pass_rate=1.0)
    base = replace(GATE, policies=(Policy((rule,)),))
    both = replace(ANSWER, grades=(GRADE, grade()))
    renamed = replace(ANSWER, description="two")
    assert find_changes(base, replace(base, answers=(renamed,))) == ["weaker: `contains` of `one`: the rule `named` no longer selects it"]
    assert find_changes(base, replace(base, answers=(replace(ANSWER, grades=()),))) == ["removed: `contains` of `one`: gone"]
    assert find_changes(replace(base, answers=(both,)), base) == ["removed: `contains` of `one`: gone"]
    advice = replace(ANSWER, grades=(grade(blocking=False),))
    assert find_changes(base, replace(base, answers=(advice,))) == ["weaker: `contains` of `one`: no longer blocks"]
    for unread in (replace(rule, blocking=False), replace(rule, every_case=True)):
        gate = replace(GATE, policies=(Policy((unread,)),))
        assert find_changes(gate, replace(gate, answers=(renamed,))) == []


def test_budgets_are_compared_only_with_a_base_that_is_known_as_a_whole():
    less_calls = replace(GATE, policies=(replace(POLICY, budget=Limits(calls=8)),))
    assert find_changes([], less_calls) == []
    assert find_changes(GATE, less_calls) == ["changed: the budget is smaller: `gate.budget.calls` none became 8"]
    assert find_changes(GATE, less_calls, [Mistake("one", None, "")]) == ["weaker: not all of the base can be compared: one"]


def test_a_set_of_another_type_stands_for_none_of_the_base():
    negated = replace(a_set(grade(value=b"w")), type="not-assert-set")
    assert less([a_set(grade())], [negated]) == ["removed: `assert-set` gone"]
