"""The table of deepeval-and-aegis F.1, and what goes beyond it."""

import pytest

from support.conversations import Script, case, config, turns
from support.each import each, table
from support.fake_llm import FakeLlm

BASE = turns(("q1", "a1", "doc1"))
THREE = turns(("q1", "c1", "DOC1"), ("q2", "c2", "DOC2"), ("q3", "c3", "DOC3"))


def ten(wrong: int) -> tuple[list, dict]:
    return turns(*((f"q{n}", f"c{n}", f"doc{n}") for n in range(1, 11))), {f"c{wrong}": "no"}


def judged(gate, llm: FakeLlm, script: Script, conversation: list, *arguments: str, **assertion):
    llm.reply = script
    ran = gate(config(llm, case(conversation, **assertion)), *arguments)
    assert len(ran.grades) == 1, ran.err
    return ran.grades[0]


@pytest.mark.parametrize(("claims", "words", "assertion", "score", "passes"), table(__file__, "one_exchange"))
def test_one_exchange(gate, llm: FakeLlm, claims, words, assertion, score, passes):
    script = Script(claims=lambda text: claims, words=words)
    grade = judged(gate, llm, script, BASE, **assertion)
    assert grade["score"] == pytest.approx(score, abs=1e-6)
    assert grade["outcome"] == ("pass" if passes else "fail")
    assert sum(script.calls.values()) == (3 if claims else 2)


@each("it", table(__file__, "a_conversation_is_judged"))
def test_a_conversation_is_judged(gate, llm: FakeLlm, it):
    script = Script(**it.get("script", {}), **({"claims": lambda text: it["claims"]} if "claims" in it else {}))
    script.replies = {kind: tuple(reply) if isinstance(reply, list) else reply for kind, reply in script.replies.items()}
    conversation = turns(*it.get("turns", [["q1", "a1", "doc1"]]))
    for place, more in it.get("beside", {}).items():
        conversation[place:place] = [more] if place == len(conversation) else []
        conversation[place] = {**conversation[place], **more}
    grade = judged(gate, llm, script, conversation, **it.get("keys", {}))
    prompts = dict(script.prompts)
    found = {**grade, **grade["evidence"], "calls": dict(script.calls)}
    found["held"] = [window["truths"] for window in grade["evidence"].get("windows", ())]
    then = it["then"] | ({"score": pytest.approx(it["score"], abs=1e-6)} if "score" in it else {})
    assert {key: found[key] for key in then} == then
    for where, text in ((grade["reason"], "said"), (prompts.get("truths", ""), "in truths"), (prompts.get("verdicts", ""), "in verdicts")):
        assert all(part in where for part in it.get(text, ())), (text, where)
        assert not any(part in where for part in it.get(f"not {text}", ())), (text, where)


@pytest.mark.parametrize("conversation", table(__file__, "tf7_no_complete_exchange_is_a_mistake_and_no_call"))
def test_tf7_no_complete_exchange_is_a_mistake_and_no_call(gate, llm: FakeLlm, conversation):
    ran = gate(config(llm, case(conversation)))
    assert "has no complete exchange" in ran.mistakes
    assert "promptfooconfig.yaml:9" in ran.err
    assert llm.requests == []


@pytest.mark.parametrize("overlap", ["deepeval", "last"])
@pytest.mark.parametrize("documents", [[], [""], ["", " \n"]])
def test_tf8_a_conversation_without_any_retrieval_context_is_a_mistake(gate, llm: FakeLlm, overlap, documents):
    conversation = turns(("q1", "a1", ""))
    conversation[-1]["retrieval_context"] = documents
    ran = gate(config(llm, case(conversation, config={"overlap": overlap})))
    assert (ran.code, llm.requests) == (2, [])
    assert "no answer of the conversation has a `retrieval_context`" in ran.err


def test_an_unreadable_reply_is_asked_for_once_more(gate, llm: FakeLlm):
    script = Script(claims=lambda text: ["c1"], words={"c1": "no"})
    seen = []

    def reply(path, body):
        first = "You hold each" in body["messages"][0]["content"] and not seen
        seen.extend([1] if first else [])
        return "I think so" if first else script(path, body)

    llm.reply = reply
    ran = gate(config(llm, case(BASE)), "--grader-retries", "1")
    assert (ran.grades[0]["outcome"], ran.grades[0]["score"]) == ("fail", 0.0)
    assert ran.results["summary"]["grader"]["reasks"] == 1


@pytest.mark.parametrize(("options", "score", "passes"), table(__file__, "three_exchanges_the_first_wrong"))
def test_three_exchanges_the_first_wrong(gate, llm: FakeLlm, options, score, passes):
    script = Script(words={"c1": "no"})
    grade = judged(gate, llm, script, THREE, config=options)
    assert grade["score"] == pytest.approx(score, abs=1e-6)
    assert grade["outcome"] == ("pass" if passes else "fail")
    assert grade["threshold"] == (1 if options.get("strict_mode") else 0.5)


@pytest.mark.parametrize(("wrong", "options", "score"), table(__file__, "tf16_ten_exchanges_in_thirty_calls"))
def test_tf16_ten_exchanges_in_thirty_calls(gate, llm: FakeLlm, wrong, options, score):
    conversation, words = ten(wrong)
    script = Script(words=words)
    grade = judged(gate, llm, script, conversation, config=options)
    assert grade["score"] == pytest.approx(score, abs=1e-6)
    assert sum(script.calls.values()) == 30


# --- beyond the table -----------------------------------------------------------------------------------------


def test_truths_and_claims_are_asked_for_at_once(gate, llm: FakeLlm):
    llm.together = 4
    judged(gate, llm, Script(), THREE)
    assert llm.peak >= 4


def test_a_long_conversation(gate, llm: FakeLlm):
    conversation = turns(*((f"q{n}", f"c{n}", f"d{n}") for n in range(100)))
    grade = judged(gate, llm, Script(words={"c99": "no"}), conversation, config={"window_size": 1})
    assert grade["score"] == pytest.approx(0.99, abs=1e-6)


def test_model_names_the_grader(gate, llm: FakeLlm):
    llm.reply = Script(claims=lambda text: ["c1"])
    ran = gate({"env": {"OPENAI_BASE_URL": llm.base, "OPENAI_API_KEY": "k"}, "tests": [case(BASE, config={"model": "gpt-4.1"})]})
    assert ran.grades[0]["outcome"] == "pass"
    assert {body["model"] for body in llm.bodies} == {"gpt-4.1"}


@pytest.mark.parametrize(("options", "said"), table(__file__, "a_wrong_option_is_a_mistake_before_any_call"))
def test_a_wrong_option_is_a_mistake_before_any_call(gate, llm: FakeLlm, options, said):
    assert said in gate(config(llm, case(BASE, config=options))).mistakes
    assert llm.requests == []


def test_verbose_mode_prints_the_steps_and_no_workflow_command(gate, llm: FakeLlm):
    llm.reply = Script(claims=lambda text: ["c1\n::error::boo"])
    ran = gate(config(llm, case(BASE, config={"verbose_mode": True})))
    assert "truth: t" in ran.out
    assert "claim: c1" in ran.out
    assert not any(line.strip().startswith("::") for line in ran.out.splitlines())


def test_a_single_answer_is_a_conversation_of_one_exchange(gate, llm: FakeLlm):
    llm.reply = Script(claims=lambda text: ["c1"], words={"c1": "no"})
    test = {"vars": {"context": "doc1"}, "providerOutput": "a1", "assert": [{"type": "turn-faithfulness"}]}
    assert gate(config(llm, test)).grades[0]["score"] == 0.0
    assert any("doc1" in prompt for kind, prompt in llm.reply.prompts if kind == "truths")
