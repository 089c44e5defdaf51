import pytest

from gradegate.values.conversation import Message
from support.each import table
from support.fake_llm import FakeLlm
from support.vendors import PIXEL, SCHEMA, URL, ask, build, claude, headers, path, refusing


def sonnet(llm: FakeLlm, model: str = "claude-sonnet-4-5", **config):
    return build(f"anthropic:messages:{model}", {"apiBaseUrl": llm.base.removesuffix("/v1"), "apiKey": "k-1", **config})


def text(words: str) -> dict:
    return {"type": "text", "text": words, "citations": None}


SO = claude(text("It is so."))


def test_a_question_as_the_api_wants_it_and_its_answer(llm: FakeLlm):
    llm.reply = lambda path, body: SO
    reply = ask(sonnet(llm), ("system", "Be brief."), ("developer", "Be kind."), ("user", "why?"), ("assistant", "so"))
    assert (reply.text, reply.finish_reason, reply.refused) == ("It is so.", "stop", False)
    assert path(llm) == "/v1/messages"
    assert headers(llm)["x-api-key"] == "k-1"
    assert llm.bodies[0] == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 8192,
        "system": "Be brief.\n\nBe kind.",
        "messages": [{"role": "user", "content": "why?"}, {"role": "assistant", "content": "so"}],
        "temperature": 0,
    }
    assert reply.usage.known_cost == pytest.approx(50 * 3e-6 + 10 * 15e-6)


def test_tokens_that_went_through_the_cache_count(llm: FakeLlm):
    usage = {"input_tokens": 50, "output_tokens": 10, "cache_read_input_tokens": 7, "cache_creation_input_tokens": None}
    llm.reply = lambda path, body: {**SO, "usage": usage}
    assert ask(sonnet(llm)).usage.prompt_tokens == 57


@pytest.mark.parametrize(("model", "version"), table(__file__, "temperature_goes_to_the_models_and_in_the_version_that_have_one"))
def test_temperature_goes_to_the_models_and_in_the_version_that_have_one(llm: FakeLlm, model: str, version: str):
    llm.reply = lambda path, body: SO
    ask(sonnet(llm, model))
    assert headers(llm)["anthropic-version"] == version
    assert ("temperature" in llm.bodies[0]) == (version == "2023-06-01")


def test_a_model_that_takes_no_temperature_after_all_is_asked_without(llm: FakeLlm):
    llm.reply = refusing("temperature", answer=SO)
    model = sonnet(llm)
    assert [ask(model, options={"temperature": 1.0, "seed": 3}).text for _ in range(2)] == ["It is so."] * 2
    assert ["temperature" in body for body in llm.bodies] == [True, False, False]
    assert headers(llm)["anthropic-version"] == "2026-10-21"
    assert all("seed" not in body for body in llm.bodies)  # the API has none


def test_thinking_is_asked_for_and_is_no_part_of_the_answer(llm: FakeLlm):
    thought = {"type": "thinking", "thinking": "FAIL it", "signature": "s"}
    hidden = {"type": "redacted_thinking", "data": "x"}
    llm.reply = lambda path, body: claude(thought, hidden, text("It is "), text("so."))
    reply = ask(sonnet(llm, thinking={"type": "enabled", "budget_tokens": 1024}))
    assert reply.text == "It is so."
    assert llm.bodies[0]["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    assert "temperature" not in llm.bodies[0]


def test_tool_calls_are_given_as_they_are(llm: FakeLlm):
    call = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Rome"}}
    llm.reply = lambda path, body: claude(call, stop_reason="tool_use")
    reply = ask(sonnet(llm, tools=[{"name": "weather", "input_schema": {"type": "object"}}]))
    assert '"input": {"city": "Rome"}' in reply.text
    assert reply.finish_reason == "tool_calls"


def test_structured_output_is_asked_for(llm: FakeLlm):
    llm.reply = lambda path, body: claude(text('{"reason": "r", "pass": true}'))
    ask(sonnet(llm, "claude-opus-5-5", effort="low"), schema=SCHEMA)
    assert llm.bodies[0]["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}


def test_a_forced_tool_where_there_is_no_structured_output(llm: FakeLlm):
    verdict = {"reason": "r", "pass": True}
    call = {"type": "tool_use", "id": "toolu_1", "name": "give_verdict", "input": verdict}
    llm.reply = refusing("output_config", answer=claude(call, stop_reason="tool_use"))
    model = sonnet(llm)
    assert [ask(model, schema=SCHEMA).text for _ in range(2)] == ['{"reason": "r", "pass": true}'] * 2
    assert ["output_config" in body for body in llm.bodies] == [True, False, False]
    assert llm.bodies[2]["tool_choice"] == {"type": "tool", "name": "give_verdict"}
    assert llm.bodies[2]["tools"][0]["input_schema"] == SCHEMA


def test_an_endpoint_that_refuses_both_is_asked_plainly(llm: FakeLlm):
    llm.reply = refusing("output_config", "tools", answer=SO)
    model = sonnet(llm)
    for _ in range(2):
        assert ask(model, schema=SCHEMA).text == "It is so."
    assert ["output_config" in body or "tools" in body for body in llm.bodies] == [True, True, False, False]


def test_images_in_the_form_of_this_api(llm: FakeLlm):
    llm.reply = lambda path, body: SO
    ask(sonnet(llm), Message("user", "what is it?", (PIXEL, URL)))
    assert llm.bodies[0]["messages"][0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        {"type": "image", "source": {"type": "url", "url": URL}},
        {"type": "text", "text": "what is it?"},
    ]


def test_a_prompt_of_the_system_alone_is_put_as_the_users(llm: FakeLlm):
    llm.reply = lambda path, body: SO
    ask(sonnet(llm), ("system", "Say so."))
    assert llm.bodies[0]["messages"] == [{"role": "user", "content": "Say so."}]
    assert "system" not in llm.bodies[0]


def test_beta_headers_and_the_users_own(llm: FakeLlm):
    llm.reply = lambda path, body: SO
    ask(sonnet(llm, beta=["a-1", "b-2"], headers={"anthropic-version": "2023-06-01"}, extra_body={"x": 1}))
    assert (headers(llm)["anthropic-beta"], headers(llm)["anthropic-version"]) == ("a-1,b-2", "2023-06-01")
    assert llm.bodies[0]["x"] == 1


@pytest.mark.parametrize(
    ("env", "host"), [({}, "api.anthropic.com"), ({"ANTHROPIC_BASE_URL": "https://gate.example.com"}, "gate.example.com")]
)
def test_reports_show_where_the_key_goes(env, host):
    assert build("anthropic:claude-haiku-4-5", ANTHROPIC_API_KEY="k", **env).host == host


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (claude(text("I will not judge."), stop_reason="refusal"), "declined to grade: I will not judge."),
        (claude(text('{"pass": true'), stop_reason="max_tokens"), "was cut off at its token limit"),
        ((401, {"type": "error", "error": {"type": "x", "message": "invalid x-api-key"}}), "invalid x-api-key"),
    ],
)
def test_a_grader_that_does_not_judge_is_an_error_and_no_verdict(gate, llm: FakeLlm, answer, words):
    llm.reply = lambda path, body: answer
    config = {"apiBaseUrl": llm.base, "apiKey": "k"}
    rubric = {"type": "llm-rubric", "value": "is polite", "provider": {"id": "anthropic:claude-opus-5", "config": config}}
    ran = gate({"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [rubric]}]})
    assert ran.code in (2, 3)
    assert ran.grades[0]["outcome"] == "error"
    assert words in ran.grades[0]["reason"]
