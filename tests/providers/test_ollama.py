import pytest

from gradegate.errors import ConfigError, ProviderError
from gradegate.values.conversation import Message
from support.fake_llm import FakeLlm
from support.vendors import PIXEL, SCHEMA, URL, ask, build, headers, ollama, path, refusing


def llama(llm: FakeLlm, provider_id: str = "ollama:chat:llama3.2:3b", **config):
    return build(provider_id, config, OLLAMA_BASE_URL=llm.base.removesuffix("/v1"))


def test_a_question_as_the_api_wants_it_and_its_answer(llm: FakeLlm):
    llm.reply = lambda path, body: ollama("It is so.", thinking="FAIL it")
    model = llama(llm, num_ctx=4096, think=False, keep_alive="5m", max_tokens=9)
    reply = ask(model, ("system", "Be brief."), Message("user", "what?", (PIXEL,)), options={"seed": 3}, schema=SCHEMA)
    assert (reply.text, reply.finish_reason) == ("It is so.", "stop")
    assert path(llm) == "/api/chat"
    assert "authorization" not in headers(llm)
    assert llm.bodies[0] == {
        "model": "llama3.2:3b",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "what?", "images": ["iVBORw0KGgo="]}],
        "stream": False,
        "options": {"temperature": 0, "num_ctx": 4096, "num_predict": 9, "seed": 3},
        "think": False,
        "keep_alive": "5m",
        "format": SCHEMA,
    }


def test_a_model_of_ones_own_costs_nothing(llm: FakeLlm):
    llm.reply = lambda path, body: ollama("yes")
    usage = ask(llama(llm)).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.known_cost) == (50, 10, 0.0)


def test_the_short_form_names_the_same_model(llm: FakeLlm):
    llm.reply = lambda path, body: ollama("yes")
    ask(llama(llm, "ollama:llama3.2:3b"))
    assert llm.bodies[0]["model"] == "llama3.2:3b"


def test_tool_calls_are_given_as_they_are(llm: FakeLlm):
    llm.reply = lambda path, body: ollama("", tool_calls=[{"function": {"name": "f", "arguments": {"a": 1}}}])
    assert ask(llama(llm)).text == '[{"function": {"name": "f", "arguments": {"a": 1}}}]'


def test_the_fallback_without_a_schema(llm: FakeLlm):
    llm.reply = refusing("format", answer=ollama("yes"))
    model = llama(llm)
    for _ in range(2):
        ask(model, schema=SCHEMA)
    assert ["format" in body for body in llm.bodies] == [True, False, False]


def test_an_image_by_its_address_cannot_be_shown(llm: FakeLlm):
    with pytest.raises(ProviderError, match="takes images as data"):
        ask(llama(llm), Message("user", "what?", (URL,)))
    assert llm.requests == []


@pytest.mark.parametrize("prefix", ["ollama:embeddings", "ollama:embedding"])
def test_one_request_for_all_texts(llm: FakeLlm, prefix: str):
    llm.reply = lambda path, body: {"model": "m", "embeddings": [[1, 2], [3, 4]], "prompt_eval_count": 6}
    found, usage = llama(llm, f"{prefix}:nomic-embed-text", truncate=False).embed(["a", "b"])
    assert found == [[1.0, 2.0], [3.0, 4.0]]
    assert path(llm) == "/api/embed"
    assert llm.bodies == [{"model": "nomic-embed-text", "input": ["a", "b"], "truncate": False}]
    assert (usage.prompt_tokens, usage.known_cost) == (6, 0.0)


def test_where_the_server_is():
    assert build("ollama:chat:m").host == "localhost:11434"
    assert build("ollama:chat:m", {"apiBaseUrl": "http://gpu:11434/"}).host == "gpu:11434"
    with pytest.raises(ConfigError, match="names no model"):
        build("ollama:chat")
