import pytest

from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.values.conversation import Message
from support.each import table
from support.fake_llm import FakeLlm, chat
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


@pytest.mark.parametrize(
    ("answer", "text", "finish", "refused"),
    [
        (chat("cut o", finish_reason="length"), "cut o", "length", False),
        (chat(None, finish_reason="length"), "", "length", False),
        (chat(None, finish_reason="content_filter"), "", "content_filter", True),
        (chat(None, message={"refusal": "I will not."}), "I will not.", "stop", True),
        (chat("", finish_reason="stop"), "", "stop", False),
        (chat("yes", message={"reasoning_content": "no, FAIL"}), "yes", "stop", False),
        (chat([{"type": "thinking", "text": "FAIL"}, {"type": "text", "text": "yes"}]), "yes", "stop", False),
        (
            chat(None, finish_reason="tool_calls", message={"tool_calls": [{"id": "c", "function": {"name": "f"}}]}),
            '[{"id": "c", "function": {"name": "f"}}]',
            "tool_calls",
            False,
        ),
    ],
)
def test_what_is_no_plain_answer_is_told_apart(llm: FakeLlm, answer, text, finish, refused):
    llm.reply = lambda path, body: answer
    reply = ask(gpt(llm))
    assert (reply.text, reply.finish_reason, reply.refused) == (text, finish, refused)


@pytest.mark.parametrize("answer", [{}, {"choices": []}, {"choices": [{}]}, {"choices": [7]}, chat(None), [1]])
def test_an_answer_without_a_message_is_none(llm: FakeLlm, answer):
    llm.reply = lambda path, body: answer if isinstance(answer, dict) else (200, answer)
    with pytest.raises(ProviderError) as caught:
        ask(gpt(llm))
    assert caught.value.trouble is Trouble.MALFORMED


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


@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_schema_is_not_sent_again(llm: FakeLlm, status: int):
    llm.reply = refusing("response_format", status=status, answer=CHAT)
    model = gpt(llm)
    assert [ask(model, schema=SCHEMA).text for _ in range(3)] == ["It is so."] * 3
    assert ["response_format" in body for body in llm.bodies] == [True, True, False, False, False]


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


@pytest.mark.parametrize(
    ("status", "error", "trouble", "words"),
    [
        (401, {"message": "Incorrect API key provided: sk-1"}, Trouble.SETUP, "(the key was refused): Incorrect API key"),
        (403, {"message": "no access"}, Trouble.SETUP, "(access was denied): no access"),
        (404, {"message": "The model `x` does not exist", "code": "model_not_found"}, Trouble.SETUP, "does not exist"),
        (400, {"message": "bad model", "code": "model_not_found"}, Trouble.SETUP, "bad model"),
        (400, {"message": "too long", "code": "context_length_exceeded"}, Trouble.STATUS, "too long"),
        (429, {"message": "quota", "code": "insufficient_quota"}, Trouble.STATUS, "429: quota"),
        (500, {"message": "The server had an error"}, Trouble.STATUS, "500: The server had an error"),
        (400, "plain words", Trouble.STATUS, "plain words"),
        (400, {"code": ["odd"], "details": "odd"}, Trouble.STATUS, "odd"),
        (307, None, Trouble.SETUP, "is not followed"),
    ],
)
def test_errors_in_the_vendors_words(llm: FakeLlm, status, error, trouble, words):
    llm.reply = lambda path, body: (status, {"error": error})
    with pytest.raises(ProviderError) as caught:
        ask(gpt(llm))
    assert (caught.value.trouble, caught.value.status) == (trouble, status)
    assert words in str(caught.value)


def test_an_error_inside_a_success_is_one(llm: FakeLlm):
    llm.reply = lambda path, body: {"error": {"message": "overloaded"}}
    with pytest.raises(ProviderError, match="overloaded"):
        ask(gpt(llm))


def test_no_key_is_a_mistake_before_any_call():
    with pytest.raises(ConfigError) as caught:
        build("openai:gpt-4o-mini")
    assert str(caught.value).startswith("promptfooconfig.yaml:7: no key for `openai:gpt-4o-mini` -> set OPENAI_API_KEY")


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
