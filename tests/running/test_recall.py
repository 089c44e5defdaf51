"""Answers that tests store for the tests after them."""

import json

import pytest

from support.graded import mistakes


def config(llm, *tests, prompts=("{{message}}",), **more):
    return {"prompts": list(prompts), "providers": [llm.spec()], "tests": list(tests), **more}


def asked(message, *asserted, store=None, **more):
    options = {"storeOutputAs": store} if store else {}
    return {"vars": {"message": message}, "options": options, "assert": list(asserted) or [{"type": "regex", "value": "."}], **more}


def test_a_stored_answer_is_a_variable_of_later_tests(gate, llm):
    replies = {"a fruit?": "kiwi", "Why kiwi?": "because", "Mock: because, kiwi": "ha"}
    llm.reply = lambda path, body: replies[body["messages"][0]["content"]]
    tests = [
        asked("a fruit?", store="fruit"),
        asked("Why {{fruit}}?", {"type": "contains", "value": "{{reason}}because"}, store="why"),
        asked("Mock: {{why}}, {{fruit}}", {"type": "not-contains", "value": "{{fruit}}"}),
    ]
    tests[1]["vars"]["reason"] = ""
    ran = gate(config(llm, *tests), "-j", "8")
    assert ran.code == 0, ran.out + ran.err
    assert sorted(llm.prompts) == sorted(replies)
    assert ran.cases[2]["vars"]["fruit"] == "kiwi"
    assert ran.cases[2]["prompt"] == "Mock: because, kiwi"


def test_what_a_model_wrote_is_no_template(gate, llm):
    wrote = "{{ message }} {{ secret }} {% for x in range(9) %}x{% endfor %}"
    llm.reply = lambda path, body: wrote
    tests = [asked("first", store="said"), asked("again: {{said}}", {"type": "equals", "value": "{{said}}"})]
    tests[1]["vars"]["secret"] = "s3cret"
    ran = gate(config(llm, *tests))
    assert ran.code == 0, ran.out
    assert llm.prompts[1] == f"again: {wrote}"


def test_a_prompt_may_ask_for_it_and_a_chat_takes_it_as_data(gate, llm):
    llm.reply = lambda path, body: 'say "hi"\n'
    chat = json.dumps([{"role": "user", "content": "{{message}} after {{said}}"}])
    tests = [{**asked("one", store="said"), "prompts": ["first"]}, {**asked("two"), "prompts": ["second"]}]
    prompts = [{"raw": "{{message}}", "label": "first"}, {"raw": chat, "label": "second"}]
    ran = gate(config(llm, *tests, prompts=prompts))
    assert ran.code == 0, ran.out + ran.err
    assert llm.prompts[1] == 'two after say "hi"\n'


def test_without_the_answer_that_gives_it_a_test_is_an_error_and_not_asked(gate, llm):
    llm.reply = lambda path, body: (500, {"error": "down"})
    ran = gate(config(llm, asked("first", store="said"), asked("then {{said}}")))
    assert [case["outcome"] for case in ran.cases] == ["error", "error"]
    assert "there is no answer that was stored as `said`" in ran.cases[1]["error"]
    assert llm.prompts == ["first"]


def test_each_target_and_each_repetition_has_answers_of_its_own(gate, llm):
    count = iter("abcd")
    llm.reply = lambda path, body: body["model"] + next(count) if body["messages"][0]["content"] == "first" else "ok"
    both = {"providers": [llm.spec("x"), llm.spec("y")], "evaluateOptions": {"repeat": 2}}
    ran = gate({**config(llm, asked("first", store="said"), asked("then {{said}}")), **both})
    assert ran.code == 0, ran.out
    then = [body for body in llm.bodies if body["messages"][0]["content"] != "first"]
    firsts = {body["messages"][0]["content"].removeprefix("then ") for body in then}
    assert len(firsts) == 4
    assert all(body["messages"][0]["content"].startswith("then " + body["model"]) for body in then)


def test_a_conversation_beside_stored_answers_is_told_as_before(gate, llm):
    llm.reply = lambda path, body: str(len(llm.requests))
    prompt = "{% for turn in _conversation %}[{{ turn.output }}]{% endfor %}{{message}}"
    tests = [asked("a", store="first"), asked("b"), asked("c {{first}}")]
    assert gate(config(llm, *tests, prompts=[prompt])).code == 0
    assert llm.prompts == ["a", "[1]b", "[1][2]c 1"]


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ([asked("{{prompt}} {{said}}"), asked("x", store="said")], "said"),
        ([asked("x", store="two words")], "`storeOutputAs` is not the name of a variable"),
        ([{**asked("x"), "options": {"storeOutputsAs": "said"}}], 'did you mean "storeOutputAs"'),
    ],
)
def test_what_cannot_be_stored_is_a_mistake(gate, llm, tests, said):
    if "{{prompt}}" in tests[0]["vars"]["message"]:
        ran = gate(config(llm, *tests, prompts=["{{message}} {{said}}"]))
    else:
        ran = gate(config(llm, *tests))
    assert said in mistakes(ran)


def test_a_failure_is_asked_again_with_the_stored_answer(gate, llm):
    def reply(path, body):
        text = "\n".join(str(message["content"]) for message in body["messages"])
        if text == "first":
            return "kiwi"
        return '{"pass": false, "score": 0, "reason": "no"}' if "kiwi" in text and "rubric" in text.lower() else "an answer"

    llm.reply = reply
    test = asked("then {{said}}", {"type": "llm-rubric", "value": "names {{said}}", "provider": llm.spec("grader")})
    ran = gate(config(llm, asked("first", store="said"), test), confirm="")
    graded = [body for body in llm.bodies if body["model"] == "grader"]
    assert len(graded) > 1
    assert all("names kiwi" in json.dumps(body) for body in graded)
    assert ran.code == 1


def test_what_is_stored_before_is_compared_with_the_base(gate, llm, tmp_path):
    llm.reply = lambda path, body: "x"
    base = config(llm, asked("first", store="said"), asked("second", store="other"), asked("then {{said}} {{other}}"))
    (tmp_path / "base").mkdir()
    (tmp_path / "base/promptfooconfig.yaml").write_text(json.dumps(base))
    assert gate(base, "--base", "base").results["gate_changes"] == []
    swapped = json.loads(json.dumps(base))
    swapped["tests"][0]["options"], swapped["tests"][1]["options"] = (base["tests"][1]["options"], base["tests"][0]["options"])
    assert gate(swapped, "--base", "base").results["gate_changes"]
