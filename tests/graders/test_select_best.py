import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.graders.select_best import form
from support.compared import BEST, TWO, compared, of
from support.each import table
from support.graded import Script, mistakes
from support.readers import read


def test_the_chosen_output_passes_and_the_others_fail(gate, llm):
    llm.reply = Script({"reason": "funnier", "index": 1})
    ran = gate(compared(llm))
    assert [(grade["outcome"], grade["score"]) for grade in of(ran)] == [("fail", 0), ("pass", 1)]
    assert [case["outcome"] for case in ran.cases] == ["fail", "pass"]
    assert of(ran)[0]["reason"] == "output 1 of 2, counted from 0, was chosen: funnier"
    assert (ran.code, len(llm.requests)) == (1, 1)


def test_outputs_are_shown_in_config_order_whatever_finishes_first(gate, llm):
    def reply(path, body):
        asked = body["messages"][-1]["content"]
        return "0" if "choose" in asked else asked

    llm.reply = reply
    llm.latency = 0.01
    ran = gate(compared(llm, prompts=[f"text {n}" for n in range(6)], providers=[llm.spec("a"), llm.spec("b")]), "-j", "12")
    asked = next(prompt for prompt in llm.prompts if "choose" in prompt)
    shown = re.findall(r"<output (\d+) \w+>\n(.*)\n", asked)
    assert shown == [(str(n), case["output"]) for n, case in enumerate(ran.cases)]
    assert [case["provider"] for case in ran.cases] == ["openai:chat:a"] * 6 + ["openai:chat:b"] * 6


def test_an_earlier_failure_stays_and_the_usage_is_booked_once(gate, llm):
    llm.reply = Script("1")
    ran = gate(compared(llm, {"type": "contains", "value": "first"}, BEST))
    assert [[grade["outcome"] for grade in case["grades"]] for case in ran.cases] == [["pass", "fail"], ["fail", "pass"]]
    assert [case["outcome"] for case in ran.cases] == ["fail", "fail"]
    assert len(llm.requests) == 1


def test_a_threshold_of_the_test_weighs_the_comparison_like_any_other(gate, llm):
    llm.reply = Script("0")
    ran = gate(compared(llm, {"type": "contains", "value": "about"}, BEST, threshold=0.5))
    assert [case["outcome"] for case in ran.cases] == ["pass", "pass"]
    ran = gate(compared(llm, {"type": "contains", "value": "about"}, BEST, threshold=0.6))
    assert [case["outcome"] for case in ran.cases] == ["pass", "fail"]


def test_weight_zero_reports_the_choice_without_counting_it(gate, llm):
    llm.reply = Script("0")
    ran = gate(compared(llm, {"type": "contains", "value": "about"}, {**BEST, "weight": 0}))
    assert [case["outcome"] for case in ran.cases] == ["pass", "pass"]
    assert [grade["outcome"] for grade in of(ran)] == ["pass", "fail"]


def test_not_select_best_passes_whatever_is_not_chosen(gate, llm):
    llm.reply = Script("0")
    assert [grade["outcome"] for grade in of(gate(compared(llm, {**BEST, "type": "not-select-best"})))] == ["fail", "pass"]


@pytest.mark.parametrize("kind", ["select-best", "not-select-best"])
@pytest.mark.parametrize("reply", ["", "none", "2", "Both 0 and 1", '{"index": -1}', '{"best": 1}', (500, {"error": "x"})])
def test_no_index_is_an_error_for_every_output(gate, llm, kind, reply):
    llm.reply = Script(reply)
    ran = gate(compared(llm, {**BEST, "type": kind}))
    assert [grade["outcome"] for grade in of(ran)] == ["error", "error"]
    assert ran.code == 3


def test_a_target_without_an_answer_makes_the_comparison_an_error_of_that_case_only(gate, llm):
    def reply(path, body):
        asked = body["messages"][-1]["content"]
        if "choose" in asked:
            return "0"
        return (400, {"error": {"message": "broken"}}) if asked == "second about bananas" else asked

    llm.reply = reply
    one = compared(llm, providers=[llm.spec()])
    other = {**one["tests"][0], "vars": {"topic": "nyc"}}
    ran = gate({**one, "tests": [*one["tests"], other]})
    assert [grade["outcome"] for grade in of(ran)] == ["error", "error", "pass", "fail"]
    assert "not compared: an answer to this case is missing" in of(ran)[0]["reason"]
    assert ran.results["summary"] == {**ran.results["summary"], "planned": 4, "passed": 1, "failed": 1, "errored": 2}


def test_repetitions_are_compared_apart(gate, llm):
    llm.reply = Script("0", "1")
    ran = gate(compared(llm), "--repeat", "2", "-j", "1")
    assert sorted(grade["outcome"] for grade in of(ran)) == ["fail", "fail", "pass", "pass"]
    assert len(llm.requests) == 2


def test_fewer_than_two_outputs_is_a_mistake_at_the_assertions_line(gate, llm):
    for found in (compared(llm, prompts=TWO[:1]), compared(llm, prompts=TWO)):
        if len(found["prompts"]) > 1:
            found["tests"][0]["prompts"] = [TWO[0]]
        ran = gate(found)
        written = (ran.folder / "promptfooconfig.yaml").read_text().splitlines()
        place = f"promptfooconfig.yaml:{written.index('  - type: select-best') + 1}"
        assert f"{place}: `select-best` compares the outputs of a test, and this test has only one" in mistakes(ran)
    assert llm.requests == []


def test_it_cannot_stand_in_a_set(gate, llm):
    text = mistakes(gate(compared(llm, {"type": "assert-set", "assert": [BEST]})))
    assert "`select-best` cannot be in an assert-set -> move it out" in text


@pytest.mark.parametrize(("text", "index"), table(__file__, "an_index"))
def test_an_index(text, index):
    assert read(form(3), text).verdict == index


@pytest.mark.parametrize(
    "text",
    table(__file__, "no_index"),
)  # fmt: skip
def test_no_index(text):
    with pytest.raises(Unreadable):
        read(form(3), text)


@given(st.text(alphabet=st.characters(blacklist_categories=["Nd"])))
def test_text_without_a_digit_names_no_output(text):
    with pytest.raises(Unreadable):
        read(form(3), text)
