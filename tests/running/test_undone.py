"""What a budget, a signal or an outage leaves undone: never a pass, and never a failure that the whole run would not have."""

import pytest

from support.fake_llm import chat
from support.flips import BAD, GOOD, case_in, scripted, suite

IGNORED = {"errors": {"ignore-up-to": 0.02}}


def decided(ran):
    return ran.code, ran.results["outcome"]


# --- errors that a policy ignores -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replies", "arguments", "said"),
    [
        ("FEE", (), "1 verdict could not be reached; the first: failed, and could not be asked again: "),
        ("FPFPFPFPFPFP", (), "the grader contradicts itself on 1 case (6 of 12 asks fail)"),
        *(("FFFF", ("--max-calls", str(most)), f"the budget of {most} calls is used up") for most in (49, 50, 52)),
    ],
)
@pytest.mark.parametrize(
    "rules", [{}, {"rules": [{"name": "r", "min-pass-rate": 0.99}]}, {"rules": [{"name": "r", "max-new-failures": 0}]}]
)
def test_a_failure_is_ignored_up_to_no_share(gate, llm, replies, arguments, said, rules):
    """One of fifty cases always fails; with `ignore-up-to: 0.02` an outage of one is ignored."""
    written = suite(llm.spec(), 50, gate={**IGNORED, **rules})
    llm.reply = scripted({7: "FFFFF"})
    assert gate(written, confirm="").code == 1
    llm.reply = lambda path, body: (500, {}) if case_in(body) == 7 else GOOD
    assert gate(written, confirm="").code == 0
    llm.reply = scripted({7: replies})
    ran = gate(written, *arguments, "-j", "1", confirm="")
    assert decided(ran) == (3, "inconclusive")
    assert said in ran.results["reason"]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (chat(BAD[:-20], finish_reason="length"), "was cut off at its token limit"),
        (chat("I would rather not.", finish_reason="content_filter"), "declined to grade"),
        ("It fails, I cannot say by how much.", "holds no verdict"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", "answered something that is not JSON"),
        ((401, {"error": {"message": "no such key"}}), "no such key"),
        ((400, {"error": {"message": "too long", "code": "context_length_exceeded"}}), "too long"),
        ((200, {"error": {"message": "not this one"}}), "not this one"),
    ],
    ids=["cut", "declined", "no verdict", "no JSON", "401", "400", "an error in a 200"],
)
def test_what_came_and_is_no_verdict_may_be_a_failure_and_is_ignored_up_to_no_share(gate, llm, reply, said):
    llm.reply = lambda path, body: reply if case_in(body) == 7 else GOOD
    ran = gate(suite(llm.spec(), 50, gate=IGNORED), confirm="")
    assert (ran.code in (2, 3), said in ran.out + ran.err) == (True, True)


@pytest.mark.parametrize("beside", [{"type": "contains", "value": "NOPE"}, {"type": "llm-rubric", "value": "is short"}])
def test_no_error_is_left_out_where_it_keeps_a_failure_of_its_case_out_of_every_count(gate, llm, beside):
    """The threshold of the case makes the whole an error, so that the failure beside it is in no count of cases."""
    llm.reply = lambda path, body: (500, {}) if case_in(body) == 7 and "is good" in str(body) else BAD if case_in(body) == 7 else GOOD
    written = suite(llm.spec(), 50, gate=IGNORED)
    written["tests"][7] |= {"threshold": 0.5, "assert": [beside]}
    ran = gate(written, confirm="")
    assert decided(ran) == (3, "inconclusive")


def test_what_was_never_run_is_ignored_up_to_no_share_either(gate, llm):
    llm.reply = lambda path, body: GOOD
    written = suite(llm.spec(), 50, gate=IGNORED)
    ran = gate(written, "--max-calls", "49", "-j", "1", confirm="")
    assert decided(ran) == (3, "inconclusive")
    assert [case["grades"][0]["undone"] for case in ran.cases] == [False] * 49 + [True]
    assert gate(written, "--max-calls", "50", "-j", "1", confirm="").code == 0
    llm.reply = lambda path, body: (500, {}) if case_in(body) == 3 else GOOD
    assert gate(written, confirm="").code == 0


def test_nor_is_a_target_that_was_not_asked(gate, llm):
    llm.reply = lambda path, body: "an answer"
    tests = [{"vars": {"q": f"case {n}"}, "assert": [{"type": "contains", "value": "a"}]} for n in range(50)]
    written = {"prompts": ["{{q}}"], "providers": [llm.spec()], "tests": tests, "gate": IGNORED}
    ran = gate(written, "--max-calls", "49", "-j", "1")
    assert decided(ran) == (3, "inconclusive")
    assert [(case["undone"], case["grades"][0]["undone"]) for case in ran.cases[48:]] == [(False,) * 2, (True,) * 2]
    assert gate(written, "--max-calls", "50", "-j", "1").code == 0
    llm.reply = lambda path, body: (500, {}) if case_in(body) == 3 else "an answer"
    assert gate(written, "-j", "1").code == 0


def test_nor_is_an_answer_of_which_nothing_was_asserted(gate, llm):
    llm.reply = lambda path, body: GOOD
    written = suite(llm.spec("judge"), 49, gate=IGNORED)
    written["tests"].append({"vars": {"q": "case 49"}, "assert": [], "options": {"disableDefaultAsserts": True}})
    written["providers"] = [llm.spec("target")]
    ran = gate(written, "--max-calls", "98", "-j", "1", confirm="")
    assert (ran.cases[-1]["grades"], ran.cases[-1]["undone"]) == ([], True)
    assert decided(ran) == (3, "inconclusive")


def test_what_waits_for_an_answer_that_is_undone_is_undone(gate, llm):
    """The second test fills in what the first one stores, and brings an answer of its own: it is never asked."""
    llm.reply = lambda path, body: "kiwi"
    first = {"vars": {"q": "a fruit?"}, "options": {"storeOutputAs": "fruit"}}
    second = {"vars": {"q": "Why {{fruit}}?"}, "providerOutput": "because"}
    fillers = [{"vars": {"q": f"case {n}"}} for n in range(98)]
    written = {"prompts": ["{{q}}"], "providers": [llm.spec()], "gate": {"errors": {"ignore-up-to": 0.02}}}
    written |= {"tests": [*fillers, first, second], "defaultTest": {"assert": [{"type": "regex", "value": "."}]}}
    assert gate(written, "-j", "1").code == 0
    ran = gate(written, "--max-calls", "98", "-j", "1")
    assert decided(ran) == (3, "inconclusive")
    assert [case["undone"] for case in ran.cases[97:]] == [False, True, True]
    assert ran.cases[-1]["grades"][0]["undone"]
    llm.reply = lambda path, body: (500, {}) if "fruit" in str(body) else "kiwi"
    ran = gate(written, "-j", "1")
    assert (ran.code, [case["undone"] for case in ran.cases[98:]]) == (0, [False, False])


@pytest.mark.parametrize(
    ("arguments", "broken", "undone"),
    [
        (("--max-calls", "1"), "", [[False, True], [True, True]]),  # of both answers one was not asked for
        (("--max-calls", "2"), "", [[False, True], [False, True]]),  # they were not compared
        ((), "second", [[False, False], [False, False]]),  # an outage
    ],
)
def test_what_is_not_compared_is_undone_where_the_run_left_it_so(gate, llm, arguments, broken, undone):
    llm.reply = lambda path, body: (500, {}) if broken and broken in str(body) else "an answer, 0"
    rivals = [{"type": "contains", "value": "a"}, {"type": "select-best", "value": "best", "provider": llm.spec()}]
    tests = [{"vars": {"q": "x"}, "assert": rivals}]
    written = {"prompts": ["first {{q}}", "second {{q}}"], "providers": [llm.spec("t")], "tests": tests}
    ran = gate(written, *arguments, "-j", "1")
    assert ran.code == 3
    found = [[grade["undone"] for grade in case["grades"]] for case in ran.cases]
    assert found == undone


# --- rules that a budget would miss ---------------------------------------------------------------------------


def test_a_rule_is_not_missed_where_what_a_budget_left_might_meet_it(gate, llm):
    """Five of 100 always fail, and five are torn, and pass in the end."""
    replies = dict.fromkeys(range(5), "FFFFF") | dict.fromkeys(range(5, 10), "FFPPP")
    written = suite(llm.spec(), 100, gate={"rules": [{"name": "facts", "min-pass-rate": 0.95}]})
    llm.reply = scripted(replies)
    whole = gate(written, "-j", "4", confirm="")
    assert (whole.code, whole.results["budget"]["calls"]) == (0, 140)
    for most in (100, 121, 139):
        llm.reply = scripted(replies)
        ran = gate(written, "--max-calls", str(most), "-j", "4", confirm="")
        assert decided(ran) == (3, "inconclusive"), most
    (rule,) = ran.results["rules"]
    assert (rule["outcome"], rule["failed"]) == ("error", 5)
    assert rule["reason"].endswith(" so far, of 99 graded; 1 more was not run to the end, and might meet it")


@pytest.mark.parametrize("most", [1, 2, 5, 9])
def test_nor_is_a_mean_score(gate, llm, most):
    low = '{"pass": true, "score": 0.6, "reason": "so"}'
    llm.reply = lambda path, body: low if case_in(body) == 0 else GOOD
    written = suite(llm.spec(), 10, gate={"rules": [{"name": "r", "min-score": 0.7}]})
    assert gate(written, confirm="").code == 0
    ran = gate(written, "--max-calls", str(most), "-j", "1", confirm="")
    assert decided(ran) == (3, "inconclusive")


@pytest.mark.parametrize(("most", "code"), [(2, 3), (10, 3), (39, 3), (40, 0)])
def test_nor_a_pass_rate_over_answers_that_no_model_grades(gate, llm, most, code):
    llm.reply = lambda path, body: "bad" if case_in(body) < 2 else "an answer"
    tests = [{"vars": {"q": f"case {n}"}, "assert": [{"type": "contains", "value": "answer"}]} for n in range(40)]
    rules = [{"name": "r", "min-pass-rate": 0.9}]
    written = {"prompts": ["{{q}}"], "providers": [llm.spec()], "tests": tests, "gate": {"rules": rules}}
    assert gate(written, "--max-calls", str(most), "-j", "1").code == code
    llm.reply = lambda path, body: "bad" if case_in(body) < 5 else "an answer"
    assert gate(written, "--max-calls", str(most), "-j", "1").code == (1 if most >= 10 else 3)


def test_a_failure_that_a_rule_needs_now_that_others_are_undone_is_an_error(gate, llm):
    """Two fail for good, two for the first time, and 26 are not run: 90 % of them all might pass."""
    llm.reply = lambda path, body: BAD if "judge" in body["model"] and case_in(body) < 4 else GOOD
    written = suite(llm.spec("judge"), 30, gate={"rules": [{"name": "r", "min-pass-rate": 0.9}]})
    off = {"assert": [{"type": "llm-rubric", "value": "is good", "confirm": "off"}], "options": {"disableDefaultAsserts": True}}
    written["tests"][:2] = [test | off for test in written["tests"][:2]]
    ran = gate(written, "--max-calls", "10", "-j", "1", confirm="")
    assert decided(ran) == (3, "inconclusive")
    assert [grade["outcome"] for grade in ran.grades[:4]] == ["fail", "fail", "error", "error"]
    assert all(grade["undone"] for grade in ran.grades[2:4])


# --- errors that decide nothing -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        ("I cannot say.", 0),
        ((500, {"error": "down"}), 3),  # no grader answered at all
        ((401, {"error": "a wrong key"}), 2),
    ],
)
def test_an_error_that_no_rule_looks_at_is_advice_unless_no_call_was_answered(gate, llm, broken, code):
    llm.reply = lambda path, body: broken
    both = [{"type": "contains", "value": "case", "metric": "a"}, {"type": "llm-rubric", "value": "x", "metric": "b"}]
    written = suite(llm.spec(), 3, gate={"rules": [{"name": "r", "select": {"metric": "a"}, "min-pass-rate": 1}]})
    written["defaultTest"]["assert"] = both
    ran = gate(written, confirm="")
    assert (ran.code, ran.results["summary"]["errored"]) == (code, 3)
    if not code:
        assert (ran.results["outcome"], ran.results["reason"]) == ("advisory", "3 advisory findings")
    llm.reply = lambda path, body: GOOD if case_in(body) == 0 else broken
    assert gate(written, confirm="").code == 0
