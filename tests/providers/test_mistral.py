import pytest

from gradegate.errors import ConfigError, ProviderError, Trouble
from support.fake_llm import FakeLlm, chat
from support.vendors import SCHEMA, ask, build, embeddings, headers, path, refusing


def small(llm: FakeLlm, provider_id: str = "mistral:mistral-small-2603", **config):
    return build(provider_id, {"apiBaseUrl": llm.base, "apiKey": "m-1", **config})


def test_a_question_as_the_api_wants_it_and_its_answer(llm: FakeLlm):
    llm.reply = lambda path, body: chat("It is so.")
    reply = ask(small(llm, safe_prompt=True), options={"seed": 5}, schema=SCHEMA)
    assert (reply.text, reply.usage.known_cost) == ("It is so.", pytest.approx(50 * 0.15e-6 + 10 * 0.6e-6))
    assert path(llm) == "/v1/chat/completions"
    assert headers(llm)["authorization"] == "Bearer m-1"
    wanted = {"name": "verdict", "strict": True, "schema": SCHEMA}
    assert llm.bodies[0] == {
        "model": "mistral-small-2603",
        "messages": [{"role": "user", "content": "is it so?"}],
        "temperature": 0,
        "random_seed": 5,
        "safe_prompt": True,
        "response_format": {"type": "json_schema", "json_schema": wanted},
    }


def test_reasoning_is_no_part_of_the_answer(llm: FakeLlm):
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "FAIL it"}]}
    llm.reply = lambda path, body: chat([thought, {"type": "text", "text": "It is so."}])
    assert ask(small(llm)).text == "It is so."


@pytest.mark.parametrize("reason", ["length", "model_length"])
def test_an_answer_that_was_cut_is_told_apart(llm: FakeLlm, reason: str):
    llm.reply = lambda path, body: chat("cut", finish_reason=reason)
    assert ask(small(llm)).finish_reason == "length"


def test_the_fallback_without_a_schema(llm: FakeLlm):
    llm.reply = refusing("json_schema", status=422, answer=chat("It is so."))
    model = small(llm)
    for _ in range(2):
        ask(model, schema=SCHEMA)
    assert [body["response_format"]["type"] for body in llm.bodies] == ["json_schema", "json_object", "json_object"]


@pytest.mark.parametrize(
    ("status", "error", "words", "trouble"),
    [
        (401, {"message": "Unauthorized", "request_id": "r"}, "Unauthorized", Trouble.SETUP),
        (
            422,
            {"object": "error", "message": {"detail": [{"loc": ["body"], "msg": "Extra inputs"}]}, "type": "x"},
            "Extra inputs",
            Trouble.MALFORMED,
        ),
        (400, {"detail": "Invalid model: x"}, "Invalid model: x", Trouble.MALFORMED),
    ],
)
def test_errors_in_the_vendors_words(llm: FakeLlm, status, error, words, trouble):
    llm.reply = lambda path, body: (status, error)
    with pytest.raises(ProviderError, match=words) as caught:
        ask(small(llm))
    assert caught.value.trouble is trouble


def test_embeddings_in_order_128_at_a_time(llm: FakeLlm):
    llm.reply = lambda path, body: embeddings(*([float(text)] for text in body["input"]))
    texts = [str(number) for number in range(130)]
    found, usage = small(llm, "mistral:embeddings:mistral-embed").embed(texts)
    assert found == [[float(text)] for text in texts]
    assert path(llm) == "/v1/embeddings"
    assert [len(body["input"]) for body in llm.bodies] == [128, 2]
    assert usage.known_cost == pytest.approx(16 * 0.1e-6)


@pytest.mark.parametrize(
    ("provider_id", "env", "what"),
    [
        ("mistral:mistral-small-latest", {}, "no key for `mistral:mistral-small-latest` -> set MISTRAL_API_KEY"),
        ("mistral", {"MISTRAL_API_KEY": "k"}, "names no model"),
        ("mistral:embeddings", {"MISTRAL_API_KEY": "k"}, "names no model"),
    ],
)
def test_what_is_missing_is_a_mistake(provider_id, env, what):
    with pytest.raises(ConfigError) as caught:
        build(provider_id, **env)
    assert what in str(caught.value)


def test_reports_show_where_the_key_goes():
    assert build("mistral:m", MISTRAL_API_KEY="k").host == "api.mistral.ai"
    assert build("mistral:m", MISTRAL_API_KEY="k", MISTRAL_API_HOST="m.example.com").host == "m.example.com"
