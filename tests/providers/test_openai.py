import pytest

from gradegate.errors import ConfigError, ProviderError
from gradegate.values.conversation import Message
from support.each import table
from support.fake_llm import FakeLlm
from support.vendors import CHAT, PIXEL, SCHEMA, URL, ask, build, headers, path, refusing


def gpt(llm: FakeLlm, model: str = "gpt-4o-mini", **config):
    return build(f"openai:chat:{model}", {"apiBaseUrl": llm.base, "apiKey": "sk-1", **config})


def test_a_question_as_the_api_wants_it_and_its_answer(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    reply = ask(gpt(llm, max_tokens=100, seed=3, organization="org-1"), ("system", "Be brief."), ("user", "why?"))
    assert (reply.text, reply.finish_reason, reply.refused) == ("It is so.", "stop", False)
    assert path(llm) == "/v1/chat/completions"
    assert headers(llm)["authorization"] == "Bearer sk-1"
    assert headers(llm)["openai-organization"] == "org-1"
    assert llm.bodies[0] == {
        "model": "gpt-4o-mini",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "why?"}],
        "temperature": 0,
        "max_tokens": 100,
        "seed": 3,
    }


def test_tokens_are_priced_and_an_unknown_model_has_no_price(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    usage = ask(gpt(llm)).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (50, 10)
    assert usage.known_cost == pytest.approx(50 * 0.15e-6 + 10 * 0.6e-6)
    assert ask(gpt(llm, "gpt-4o-mini-2024-07-18")).usage.known_cost == usage.known_cost
    assert ask(gpt(llm, "my-own-model")).usage.known_cost is None
    assert ask(gpt(llm, "my-own-model", inputCost=1e-6, outputCost=2e-6)).usage.known_cost == pytest.approx(70e-6)
    assert ask(gpt(llm, cost=0)).usage.known_cost == 0


def test_images_follow_the_text(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    ask(gpt(llm), Message("user", "what is it?", (PIXEL, URL)))
    assert llm.bodies[0]["messages"][0]["content"] == [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": PIXEL}},
        {"type": "image_url", "image_url": {"url": URL}},
    ]


def test_structured_output_is_asked_for(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    ask(gpt(llm), schema=SCHEMA)
    wanted = {"name": "verdict", "strict": True, "schema": SCHEMA}
    assert llm.bodies[0]["response_format"] == {"type": "json_schema", "json_schema": wanted}


def test_a_question_that_is_refused_anyway_does_not_cost_the_schema(llm: FakeLlm):
    answers = iter([*[(400, {"error": "too long"})] * 3, CHAT])
    llm.reply = lambda path, body: next(answers)
    model = gpt(llm)
    with pytest.raises(ProviderError, match="too long"):
        ask(model, schema=SCHEMA)
    ask(model, schema=SCHEMA)
    assert ["response_format" in body for body in llm.bodies] == [True, True, False, True]


def test_the_response_format_of_the_config_is_kept(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    ask(gpt(llm, response_format={"type": "json_object"}), schema=SCHEMA)
    assert llm.bodies[0]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("model", ["o3-mini", "gpt-5", "gpt-5.6-luna", "gpt-6-astra", "openai/o1"])
def test_a_reasoning_model_gets_no_temperature_and_its_own_limit(llm: FakeLlm, model: str):
    llm.reply = lambda path, body: CHAT
    ask(gpt(llm, model, temperature=0.5, max_tokens=9), options={"temperature": 1})
    assert "temperature" not in llm.bodies[0]
    assert "max_tokens" not in llm.bodies[0]
    assert llm.bodies[0]["max_completion_tokens"] == 9


def test_a_model_that_takes_no_temperature_is_asked_without_from_then_on(llm: FakeLlm):
    llm.reply = refusing("temperature", answer=CHAT)
    model = gpt(llm, "brand-new")
    for _ in range(2):
        assert ask(model, options={"temperature": 1.0, "seed": 4}).text == "It is so."
    assert ["temperature" in body for body in llm.bodies] == [True, False, False]
    assert llm.bodies[2]["seed"] == 4


def test_a_temperature_of_the_users_is_not_dropped_in_silence(llm: FakeLlm):
    llm.reply = refusing("temperature", answer=CHAT)
    with pytest.raises(ProviderError, match="'temperature'"):
        ask(gpt(llm, "brand-new", temperature=0.3))


@pytest.mark.parametrize(("config", "env", "host"), table(__file__, "reports_show_where_the_key_goes"))
def test_reports_show_where_the_key_goes(config, env, host):
    assert build("openai:gpt-4o-mini", config, OPENAI_API_KEY="sk-1", **env).host == host


@pytest.mark.parametrize("written", ["localhost:8000/v1", "{{ base }}/v1", "ftp://host/v1", "https://", "http://[::1"])
def test_an_address_that_is_none_is_a_mistake(written: str):
    with pytest.raises(ConfigError, match="is not an address for `openai:chat:m`"):
        build("openai:chat:m", {"apiBaseUrl": written, "apiKey": "k"})


def test_a_key_of_another_variable(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    ask(build("openai:chat:m", {"apiBaseUrl": llm.base, "apiKeyEnvar": "OTHER"}, OTHER="sk-2", OPENAI_API_KEY="sk-1"))
    assert headers(llm)["authorization"] == "Bearer sk-2"


def test_own_headers_and_passthrough_win(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    ask(gpt(llm, headers={"Authorization": "Token t", "X-Team": 7}, passthrough={"temperature": 0.9, "top_k": 5}))
    assert (headers(llm)["authorization"], headers(llm)["x-team"]) == ("Token t", "7")
    assert (llm.bodies[0]["temperature"], llm.bodies[0]["top_k"]) == (0.9, 5)


@pytest.mark.parametrize("provider_id", ["openai:", "openai:chat", "openai:responses:", "openai:embeddings"])
def test_an_id_without_a_model_is_a_mistake(provider_id: str):
    with pytest.raises(ConfigError, match="names no model"):
        build(provider_id, {"apiKey": "k"})
