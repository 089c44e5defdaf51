"""assert-set: members, its own threshold, weight and metric, and what an ERROR among them does."""

import pytest

from support.graded import Script, config, mistakes

GOOD, BAD = {"type": "contains", "value": "answer"}, {"type": "contains", "value": "absent"}
RUBRIC = {"type": "llm-rubric", "value": "is good"}


def ran(gate, llm, *members, reply="no verdict", kind="assert-set", others=(), test=None, **keys):
    llm.reply = Script(reply)
    found = config(llm, {"type": kind, "assert": list(members), **keys}, *others)
    found["tests"][0] |= test or {}
    return gate(found)


@pytest.mark.parametrize(
    ("members", "keys", "outcome", "score"),
    [
        ([GOOD, GOOD], {}, "pass", 1),
        ([GOOD, BAD], {}, "fail", 0.5),
        ([GOOD, BAD], {"threshold": 0.5}, "pass", 0.5),
        ([GOOD, BAD], {"threshold": 0.51}, "fail", 0.5),
        ([{**GOOD, "weight": 3}, BAD], {"threshold": 0.75}, "pass", 0.75),
        ([GOOD, {**BAD, "weight": 0}], {}, "pass", 1),
        ([{**BAD, "weight": 0}], {}, "fail", None),  # counts for nothing, and shows what it has
        ([{**BAD, "blocking": False}, RUBRIC], {}, "error", None),
        ([GOOD, {**BAD, "blocking": False}], {}, "pass", 1),
        ([BAD, BAD], {"threshold": 0}, "pass", 0),
    ],
)
def test_members_and_threshold(gate, llm, members, keys, outcome, score):
    grades = ran(gate, llm, *members, **keys).grades
    assert (grades[0]["assertion"], grades[0]["outcome"], grades[0]["score"]) == ("assert-set", outcome, score)
    assert [grade["assertion"] for grade in grades[1:]] == [member["type"] for member in members]


@pytest.mark.parametrize("advice", [{"blocking": False}, {"weight": 0}])
def test_a_set_of_which_nothing_counts_blocks_nothing_and_earns_no_pass(gate, llm, advice):
    failing = ran(gate, llm, {**BAD, **advice}, others=[GOOD])
    assert (failing.code, failing.results["outcome"], failing.grades[0]["outcome"]) == (0, "advisory", "fail")
    alone = ran(gate, llm, {**BAD, **advice})
    assert (alone.code, alone.results["outcome"], alone.results["rules"]) == (0, "advisory", [])
    unclear = ran(gate, llm, {**RUBRIC, **advice})
    assert (unclear.code, unclear.results["outcome"]) == (3, "inconclusive")


def test_the_set_decides_in_the_place_of_its_members(gate, llm):
    found = ran(gate, llm, GOOD, BAD, threshold=0.5)
    assert (found.code, found.cases[0]["outcome"]) == (0, "pass")
    assert [grade["outcome"] for grade in found.grades] == ["pass", "pass", "fail"]
    assert ran(gate, llm, GOOD, BAD).code == 1


@pytest.mark.parametrize(
    ("members", "threshold", "said"),
    [
        ([GOOD, BAD], 0.6, "the weighted mean 0.5 is below the threshold 0.6 of the set"),
        (
            [BAD, {**BAD, "weight": 2}, RUBRIC],
            0.6,
            "the weighted mean 0 is below the threshold 0.6 of the set, and 0.25 at most, whatever the errors would give",
        ),
    ],
)
def test_a_mean_that_misses_the_threshold_whatever_errors_come_to_is_the_score_that_is_shown(gate, llm, members, threshold, said):
    grade = ran(gate, llm, *members, threshold=threshold).grades[0]
    assert (grade["outcome"], grade["reason"].partition(";")[0]) == ("fail", said)
    assert f"the weighted mean {grade['score']:g} " in said


def test_a_mean_that_an_error_may_lift_to_the_threshold_is_an_error(gate, llm):
    grade = ran(gate, llm, GOOD, BAD, RUBRIC, threshold=0.6).grades[0]
    assert (grade["outcome"], grade["score"]) == ("error", 0.5)


def test_the_reason_names_what_failed(gate, llm):
    assert ran(gate, llm, GOOD, BAD).grades[0]["reason"] == 'contains: the answer does not hold "absent"'


@pytest.mark.parametrize(("weight", "outcome"), [(1, "fail"), (0, "pass")])
def test_weight_of_the_set(gate, llm, weight, outcome):
    found = ran(gate, llm, BAD, weight=weight, others=[GOOD])
    assert found.cases[0]["outcome"] == outcome
    assert found.grades[0]["outcome"] == "fail"


def test_the_set_weighs_in_the_threshold_of_the_test(gate, llm):
    for threshold, outcome in ((0.7, "pass"), (0.8, "fail")):  # (0.5 * 2 + 1 * 2) / 4
        found = ran(gate, llm, GOOD, BAD, weight=2, others=[{**GOOD, "weight": 2}], test={"threshold": threshold})
        assert found.cases[0]["outcome"] == outcome


@pytest.mark.parametrize("keys", [{}, {"threshold": 0.5}, {"threshold": 0}])
def test_an_error_among_the_members_makes_the_set_and_the_case_an_error(gate, llm, keys):
    found = ran(gate, llm, GOOD, RUBRIC, **keys)
    assert [grade["outcome"] for grade in found.grades] == ["error", "pass", "error"]
    assert (found.code, found.cases[0]["outcome"]) == (3, "error")
    assert "llm-rubric: the grader's reply contains no verdict" in found.grades[0]["reason"]
    assert found.results["summary"]["planned"] == 3


def test_an_error_of_a_member_without_weight_is_reported_and_does_not_count(gate, llm):
    found = ran(gate, llm, GOOD, {**RUBRIC, "weight": 0})
    assert [grade["outcome"] for grade in found.grades] == ["pass", "pass", "error"]
    assert found.cases[0]["outcome"] == "pass"


@pytest.mark.parametrize(
    ("members", "keys", "outcome", "score"),
    [([BAD], {}, "pass", 1), ([GOOD], {}, "fail", 0), ([GOOD, BAD], {}, "pass", 0.5), ([GOOD, BAD], {"threshold": 0.5}, "fail", 0.5), ([RUBRIC], {}, "error", None), ([BAD, RUBRIC], {}, "error", None), ([BAD, RUBRIC], {"threshold": 0.9}, "error", None)],
)  # fmt: skip
def test_not_turns_the_set_round_and_leaves_errors(gate, llm, members, keys, outcome, score):
    grades = ran(gate, llm, *members, kind="not-assert-set", **keys).grades
    assert (grades[0]["outcome"], grades[0]["score"]) == (outcome, score)


@pytest.mark.parametrize(("member", "reason"), [(GOOD, "must not be true, but is (not-assert-set)"), (BAD, "")])
def test_a_set_that_is_turned_round_says_why_it_failed(gate, llm, member, reason):
    assert ran(gate, llm, member, kind="not-assert-set").grades[0]["reason"] == reason


def test_a_rule_can_select_the_metric_of_a_set_and_never_that_of_a_member(gate, llm):
    llm.reply = Script("x")
    members = [{**BAD, "metric": "part"}, GOOD]
    found = config(llm, {"type": "assert-set", "metric": "whole {{said}}", "assert": members, "threshold": 0.5})
    rule = {"name": "r", "select": {"metric": "whole the answer"}, "min-pass-rate": 1}
    again = gate({**found, "gate": {"rules": [rule]}})
    assert [grade["metric"] for grade in again.grades][:2] == ["whole the answer", "part"]
    assert again.code == 0
    rule["select"] = {"metric": "part"}
    assert "the rule `r` selects nothing" in mistakes(gate({**found, "gate": {"rules": [rule]}}))


def test_not_members_and_model_graded_members(gate, llm):
    grades = ran(gate, llm, {**BAD, "type": "not-contains"}, RUBRIC, reply={"pass": True, "score": 0.9}).grades
    assert [grade["score"] for grade in grades] == [pytest.approx(0.95), 1, 0.9]


def test_a_target_that_is_down_makes_the_set_and_its_members_errors(gate, llm):
    llm.reply = lambda path, body: (400, {"error": {"message": "no"}})
    found = config(llm, {"type": "assert-set", "assert": [GOOD, BAD]})
    found["providers"] = [llm.spec()]
    again = gate(found)
    assert [grade["outcome"] for grade in again.grades] == ["error"] * 3
    assert again.results["summary"]["errored"] == 3


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"assert": []}, "the assert-set is empty"),
        ({"assert": [{"type": "assert-set", "assert": [GOOD]}]}, "`assert-set` cannot be in an assert-set"),
        ({"assert": [{"type": "not-select-best", "value": "x"}]}, "cannot be in an assert-set"),
        ({"assert": [{"type": "not-assert-set", "assert": [GOOD]}]}, "cannot be in an assert-set"),
        ({"assert": [{"type": "contians", "value": "x"}]}, 'did you mean "contains"?'),
        ({"assert": [GOOD], "value": "x"}, "`assert-set` takes no `value`"),
        ({"type": "contains", "value": "a", "assert": [GOOD]}, "`contains` takes no members"),
    ],
)
def test_mistakes(gate, llm, keys, words):
    llm.reply = Script("x")
    assert words in mistakes(gate(config(llm, {"type": "assert-set", **keys})))
    assert llm.requests == []
