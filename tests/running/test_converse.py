"""Conversations as cases: recorded, held now, and prompts that see what was said before."""

import base64
import json

import pytest

from gradegate.asking.provider import PROVIDERS
from support.conversations import Script, case, config, turns
from support.each import table
from support.fake_llm import FakeLlm

RECORDED = turns(("q1", "c1", "d1"))
CONTAINS = {"assert": [{"type": "contains", "value": "q"}]}
PNG = "data:image/png;base64,iVBORw0KGgo="


def user(*texts: str, **more) -> list[dict]:
    return [{"role": "user", "content": text, **more} for text in texts]


# --- recorded -------------------------------------------------------------------------------------------------


def test_a_recorded_conversation_needs_no_provider_and_asks_no_target(gate, llm: FakeLlm):
    llm.reply = Script()
    ran = gate(config(llm, case(RECORDED)))
    assert (ran.code, ran.cases[0]["provider"]) == (0, "recorded")
    assert ran.results["summary"]["target"]["calls"] == 0
    assert ran.cases[0]["output"] == "c1"


def test_a_recorded_conversation_is_graded_once_whatever_the_targets(gate, llm: FakeLlm):
    llm.reply = Script()
    ran = gate(config(llm, case(RECORDED), providers=["echo", {"id": "echo", "label": "b"}], prompts=["a", "b"]))
    assert [row["provider"] for row in ran.cases] == ["recorded"]


def test_graders_of_a_single_answer_see_the_last_exchange(gate, llm: FakeLlm):
    llm.reply = lambda path, body: '{"reason": "r", "category": "C"}'
    conversation = [*RECORDED, *turns(("q2", "c2", "")), *user("q3")]
    ran = gate(config(llm, case(conversation, "factuality", value="ref"), prompts=['[{"role": "user", "content": {{q}}}]']))
    assert (ran.code, ran.cases[0]["prompt"], ran.cases[0]["output"]) == (0, "q2", "c2"), ran.err
    assert "q2" in llm.prompts[0]
    assert "q1" not in llm.prompts[0]
    assert "q3" not in llm.prompts[0]


def test_a_config_with_a_case_to_ask_still_needs_a_provider(gate, llm: FakeLlm):
    assert "names no provider" in gate(config(llm, case(RECORDED), {"vars": {"prompt": "q"}, **CONTAINS})).mistakes


@pytest.mark.parametrize(("file", "content"), table(__file__, "turns_in_a_file"))
def test_turns_in_a_file(gate, llm: FakeLlm, file, content):
    llm.reply = Script(words={"c1": "no"})
    ran = gate(config(llm, case(f"file://{file}")), **{file: content})
    assert ran.grades[0]["score"] == 0.0, ran.err
    assert any("d1" in prompt for kind, prompt in llm.reply.prompts if kind == "truths")


@pytest.mark.parametrize(("conversation", "said"), table(__file__, "a_conversation_that_cannot_be_graded_is_a_mistake"))
def test_a_conversation_that_cannot_be_graded_is_a_mistake(gate, llm: FakeLlm, conversation, said):
    assert said in gate(config(llm, case(conversation), providers=["echo"])).mistakes
    assert llm.requests == []


# --- held now -------------------------------------------------------------------------------------------------


def test_a_conversation_of_questions_is_held_turn_by_turn(gate, llm: FakeLlm):
    llm.reply = lambda path, body: f"answer {len(body['messages'])}"
    test = {"turns": user("q1", "q2"), "assert": [{"type": "contains", "value": "answer 4"}]}
    ran = gate({"providers": [llm.spec()], "prompts": ["Be brief."], "tests": [test]})
    assert ran.code == 0, ran.err
    first, second = (body["messages"] for body in llm.bodies)
    assert [m["content"] for m in first] == ["Be brief.", "q1"]
    assert [(m["role"], m["content"]) for m in second] == [
        ("system", "Be brief."),
        ("user", "q1"),
        ("assistant", "answer 2"),
        ("user", "q2"),
    ]
    assert [turn["content"] for turn in ran.cases[0]["turns"]] == ["q1", "answer 2", "q2", "answer 4"]
    assert ran.results["summary"]["target"]["calls"] == 2


def test_the_messages_of_a_chat_prompt_lead_and_empty_ones_are_left_out(gate, llm: FakeLlm):
    prompt = json.dumps([{"role": "system", "content": "Be {{tone}}."}, {"role": "user", "content": "{{question}}"}])
    test = {"vars": {"tone": "kind"}, "turns": user("q1"), "assert": [{"type": "contains", "value": "ok"}]}
    assert gate({"providers": [llm.spec()], "prompts": [prompt], "tests": [test]}).code == 0
    assert [m["content"] for m in llm.bodies[0]["messages"]] == ["Be kind.", "q1"]


def test_a_held_conversation_is_graded_turn_by_turn(gate, llm: FakeLlm):
    grader = Script(words={"c2": "no"})
    llm.reply = lambda path, body: grader(path, body) if body["model"] == "judge" else f"c{len(body['messages']) // 2 + 1}"
    test = {
        "turns": user("q1", "q2"),
        "vars": {"retrieval_context": ["what is known"]},
        "assert": [{"type": "turn-faithfulness", "config": {"window_size": 1}}],
    }
    ran = gate({"providers": [llm.spec("target")], "tests": [test], "defaultTest": {"options": {"provider": llm.spec("judge")}}})
    assert ran.grades[0]["score"] == 0.5
    assert ran.grades[0]["evidence"]["contradicted"] == [{"turn": 4, "claim": "c2", "reason": "about c2"}]


def test_a_target_that_fails_half_way_is_an_error(gate, llm: FakeLlm):
    llm.reply = lambda path, body: "ok" if len(body["messages"]) == 1 else (500, {"error": {"message": "down"}})
    ran = gate({"providers": [llm.spec()], "tests": [{"turns": user("q1", "q2"), **CONTAINS}]})
    assert ran.code == 3
    assert "down" in ran.grades[0]["reason"]


def in_json(context: str, *answers: str):
    """A target that answers with JSON, its documents beside the text; and the grader."""
    grader, left = Script(words={"c2": "no"}), list(answers)

    def reply(path: str, body: dict):
        if body["model"] == "judge":
            return grader(path, body)
        return json.dumps({"answer": left.pop(0), context: [f"doc of {len(left)}"] if left else []})

    return grader, reply


def test_the_documents_of_a_held_conversation_may_come_from_the_replies(gate, llm: FakeLlm):
    grader, llm.reply = in_json("context", "c1", "c2")
    assertion = {"type": "turn-faithfulness", "contextTransform": "JSON.parse(output).context", "config": {"window_size": 1}}
    ran = gate(
        {
            "providers": [llm.spec("target")],
            "tests": [{"turns": user("q1", "q2"), "assert": [assertion]}],
            "defaultTest": {"options": {"provider": llm.spec("judge")}},
        }
    )
    assert ran.grades[0]["score"] == 0.5, ran.grades[0]
    assert [prompt for kind, prompt in grader.prompts if kind == "truths" and "doc of 1" in prompt]
    assert "no retrieval context for turns 3-4" in ran.grades[0]["reason"]


def test_replies_without_what_context_transform_names_are_an_error(gate, llm: FakeLlm):
    _, llm.reply = in_json("documents", "c1")
    assertion = {"type": "turn-faithfulness", "contextTransform": "JSON.parse(output).context"}
    ran = gate(
        {
            "providers": [llm.spec("target")],
            "tests": [{"turns": user("q1"), "assert": [assertion]}],
            "defaultTest": {"options": {"provider": llm.spec("judge")}},
        }
    )
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")
    assert "leads nowhere: there is no `context`" in ran.grades[0]["reason"]


# --- _conversation --------------------------------------------------------------------------------------------

SO_FAR = "{% for c in _conversation %}[{{ c.input }}|{{ c.output }}]{% endfor %}{{ q }}"


def asked(llm: FakeLlm) -> list[str]:
    return [body["messages"][-1]["content"] for body in llm.bodies]


def test_a_prompt_sees_what_its_provider_answered_before(gate, llm: FakeLlm):
    llm.latency = 0.01
    llm.reply = lambda path, body: f"A{body['messages'][-1]['content'][-1]}"
    tests = [{"vars": {"q": f"Q{n}"}, "assert": [{"type": "contains", "value": f"A{n}"}]} for n in (1, 2, 3)]
    ran = gate({"providers": [llm.spec()], "prompts": [SO_FAR], "tests": tests}, "-j", "8")
    assert ran.code == 0, ran.err
    assert asked(llm) == ["Q1", "[Q1|A1]Q2", "[Q1|A1][[Q1|A1]Q2|A2]Q3"]
    assert ran.cases[1]["prompt"] == "[Q1|A1]Q2"
    assert [len(case["turns"]) for case in ran.cases] == [0, 4, 6]


def test_conversations_are_kept_apart_by_id_prompt_provider_and_repetition(gate, llm: FakeLlm):
    llm.reply = lambda path, body: "A"
    tests = [
        {"vars": {"q": f"{talk}{n}"}, "metadata": {"conversationId": talk}, "assert": [{"type": "contains", "value": "A"}]}
        for n in (1, 2)
        for talk in ("x", "y")
    ]
    providers = [llm.spec(), {**llm.spec(), "label": "other"}]
    ran = gate({"providers": providers, "prompts": [SO_FAR, "B " + SO_FAR], "tests": tests}, "--repeat", "2", "-j", "8")
    assert ran.code == 0
    for talk in ("x", "y"):
        for start in ("", "B "):
            second = f"{start}[{start}{talk}1|A]{talk}2"
            assert sorted(asked(llm)).count(f"{start}{talk}1") == 4
            assert sorted(asked(llm)).count(second) == 4


def test_jobs_of_one_conversation_run_in_order_and_others_at_once(gate, llm: FakeLlm):
    llm.latency, llm.together = 0.05, 4
    llm.reply = lambda path, body: "A"
    tests = [
        {"vars": {"q": f"{talk}{n}"}, "metadata": {"conversationId": talk}, "assert": [{"type": "contains", "value": "A"}]}
        for talk in range(4)
        for n in range(3)
    ]
    gate({"providers": [llm.spec()], "prompts": [SO_FAR], "tests": tests}, "-j", "8")
    assert llm.peak == 4


def test_chat_prompts_are_items_with_the_last_message_of_the_user(gate, llm: FakeLlm):
    prompt = (
        '[{"role": "system", "content": "S"},'
        '{% for c in _conversation %}{"role": "user", "content": {{ c.input | dump }}},'
        '{"role": "assistant", "content": {{ c.output | dump }}},{% endfor %}{"role": "user", "content": {{ q | dump }}}]'
    )
    llm.reply = lambda path, body: 'an "A"'
    tests = [{"vars": {"q": q}, "assert": [{"type": "contains", "value": "A"}]} for q in ("Q1", "Q2")]
    assert gate({"providers": [llm.spec()], "prompts": [prompt], "tests": tests}).code == 0
    assert [m["content"] for m in llm.bodies[1]["messages"]] == ["S", "Q1", 'an "A"', "Q2"]


def test_a_prompt_that_an_answer_breaks_is_an_error(gate, llm: FakeLlm):
    prompt = '[{% for c in _conversation %}{"role": "assistant", "content": "{{ c.output }}"},{% endfor %}{"role": "user", "content": "{{ q }}"}]'
    llm.reply = lambda path, body: 'an "A"'
    tests = [{"vars": {"q": q}, "assert": [{"type": "contains", "value": "A"}]} for q in ("Q1", "Q2")]
    ran = gate({"providers": [llm.spec()], "prompts": [prompt], "tests": tests})
    # The text does not start with a message once nothing was said before, so the first is sent as chat.
    assert [grade["outcome"] for grade in ran.grades] == ["pass", "error"]
    assert "not valid JSON once `_conversation` is filled in" in ran.grades[1]["reason"]


def test_graders_see_the_whole_conversation(gate, llm: FakeLlm):
    grader = Script(words={"c1": "no"})
    llm.reply = lambda path, body: grader(path, body) if body["model"] == "judge" else f"c{body['messages'][-1]['content'][-1]}"
    tests = [
        {
            "vars": {"q": f"Q{n}", "retrieval_context": "what is known"},
            "assert": [{"type": "turn-faithfulness", "config": {"window_size": 1}}],
        }
        for n in (1, 2)
    ]
    ran = gate(
        {
            "providers": [llm.spec("target")],
            "prompts": [SO_FAR],
            "tests": tests,
            "defaultTest": {"options": {"provider": llm.spec("judge")}},
        }
    )
    assert [grade["score"] for grade in ran.grades] == [0.0, 0.5]


def test_the_variable_can_be_turned_off(gate, llm: FakeLlm):
    llm.reply = lambda path, body: "A"
    options = {"disableConversationVar": True}
    tests = [{"vars": {"q": q}, "options": options, "assert": [{"type": "contains", "value": "A"}]} for q in ("Q1", "Q2")]
    assert gate({"providers": [llm.spec()], "prompts": [SO_FAR], "tests": tests}).code == 0
    assert sorted(asked(llm)) == ["Q1", "Q2"]


# --- images ---------------------------------------------------------------------------------------------------


def images(body: dict) -> list[str]:
    parts = body["messages"][-1]["content"]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"] if isinstance(parts, list) else []


def test_images_of_messages_and_documents_reach_the_grader(gate, llm: FakeLlm):
    llm.reply = Script()
    conversation = [
        {"role": "user", "content": "q", "images": ["pics/a.png", "https://example.com/b.jpg"]},
        {"role": "assistant", "content": "c1", "retrieval_context": ["d1", {"image": PNG}]},
    ]
    ran = gate(config(llm, case(conversation)), **{"pics/a.png": "x"})
    assert ran.code == 0, ran.err
    seen = {next(iter(body["response_format"]["json_schema"]["schema"]["properties"])): images(body) for body in llm.bodies}
    own = "data:image/png;base64," + base64.b64encode(b"x").decode()
    assert seen == {"truths": [PNG], "claims": [own, "https://example.com/b.jpg"], "verdicts": []}


def test_images_reach_the_target_of_a_held_conversation(gate, llm: FakeLlm):
    test = {"turns": user("q1", images=[PNG]), "assert": [{"type": "contains", "value": "ok"}]}
    assert gate({"providers": [llm.spec()], "tests": [test]}).code == 0
    assert images(llm.bodies[0]) == [PNG]


@pytest.mark.parametrize(("reference", "said"), table(__file__, "what_is_no_image"))
def test_what_is_no_image(gate, llm: FakeLlm, reference, said):
    assert said in gate(config(llm, case(user("q", images=[reference]) + RECORDED[1:]))).mistakes


def test_a_grader_that_cannot_see_is_a_mistake_before_the_run(gate, llm: FakeLlm):
    assert PROVIDERS.find("echo").sees is False
    conversation = [*user("q", images=[PNG]), RECORDED[1]]
    ran = gate(config(llm, case(conversation, provider="echo"), case(RECORDED, provider="echo")))
    assert "`turn-faithfulness` shows images to `echo`, which takes none" in ran.mistakes
    assert ran.err.count("takes none") == 1


def test_a_target_that_cannot_see_is_a_mistake_before_the_run(gate, llm: FakeLlm):
    ran = gate({"providers": ["echo"], "tests": [{"turns": user("q", images=[PNG]), **CONTAINS}]})
    assert "the target `echo` takes none" in ran.mistakes


# --- a conversation in the config -----------------------------------------------------------------------------

TOLD = [{"input": "What is it?", "output": "A lamp."}, {"prompt": "And that?", "output": "UNFIT"}]


def relevance(body: dict) -> str:
    """The judge: what holds UNFIT does not fit."""
    text = body["messages"][-1]["content"]
    return json.dumps({"reason": "r", "verdict": "no" if "UNFIT" in text else "yes"})


def conversing(llm: FakeLlm, told, *assertions: dict, prompt: str = "{{q}}") -> dict:
    llm.reply = lambda path, body: relevance(body) if body["model"] == "judge" else "UNFIT too"
    test = {"vars": {"q": "now?", "_conversation": told}, "assert": list(assertions)}
    grader = {"options": {"provider": llm.spec("judge")}}
    return {"providers": [llm.spec("target")], "prompts": [prompt], "tests": [test], "defaultTest": grader}


@pytest.mark.parametrize("prompt", ["{{q}}", "{% for c in _conversation %}{{c.output}};{% endfor %}{{q}}"])
def test_a_conversation_in_the_config_is_what_conversation_relevance_grades(gate, llm: FakeLlm, prompt):
    config = conversing(
        llm, TOLD, {"type": "conversation-relevance", "config": {"windowSize": 1}}, {"type": "contains", "value": "too"}, prompt=prompt
    )  # fmt: skip
    ran = gate(config)
    assert [(grade["outcome"], grade["score"]) for grade in ran.grades] == [("pass", 0.5), ("pass", 1.0)], ran.err
    assert ran.cases[0]["output"] == "UNFIT too"
    target = next(body for body in llm.bodies if body["model"] == "target")
    assert target["messages"][0]["content"] == ("now?" if prompt == "{{q}}" else "A lamp.;UNFIT;now?")


def test_the_answer_follows_a_conversation_in_the_config(gate, llm: FakeLlm):
    config = conversing(llm, [{"input": "q1", "output": "c1"}], {"type": "turn-relevancy"})
    llm.reply = lambda path, body: '{"verdict": "yes", "reason": "r"}' if body["model"] == "judge" else "c2"
    ran = gate(config)
    assert ran.code == 0, ran.err
    judged = [prompt for prompt, body in zip(llm.prompts, llm.bodies, strict=True) if body["model"] == "judge"]
    assert sorted([said for said in ("q1", "c1", "now?", "c2") if said in prompt] for prompt in judged) == [
        ["q1", "c1"],
        ["q1", "c1", "now?", "c2"],
    ]


@pytest.mark.parametrize("told", ["text", [{"output": "a"}], [{"input": "a"}], ["a"], {"input": "a", "output": "b"}])
def test_a_conversation_that_cannot_be_read_is_a_mistake(gate, llm: FakeLlm, told):
    ran = gate(conversing(llm, told, {"type": "conversation-relevance"}))
    assert (ran.code, llm.requests) == (2, [])
    assert "`_conversation` cannot be read: " in ran.err
