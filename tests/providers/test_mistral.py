import pytest

from support.fake_llm import FakeLlm, chat
from support.vendors import SCHEMA, ask, build, embeddings, headers, path


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


def test_embeddings_in_order_128_at_a_time(llm: FakeLlm):
    llm.reply = lambda path, body: embeddings(*([float(text)] for text in body["input"]))
    texts = [str(number) for number in range(130)]
    found, usage = small(llm, "mistral:embeddings:mistral-embed").embed(texts)
    assert found == [[float(text)] for text in texts]
    assert path(llm) == "/v1/embeddings"
    assert [len(body["input"]) for body in llm.bodies] == [128, 2]
    assert usage.known_cost == pytest.approx(16 * 0.1e-6)


def test_reports_show_where_the_key_goes():
    assert build("mistral:m", MISTRAL_API_KEY="k").host == "api.mistral.ai"
    assert build("mistral:m", MISTRAL_API_KEY="k", MISTRAL_API_HOST="m.example.com").host == "m.example.com"
