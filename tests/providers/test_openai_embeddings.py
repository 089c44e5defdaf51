import pytest

from gradegate.errors import ProviderError
from support.fake_llm import FakeLlm
from support.vendors import build, embeddings, headers, path


def embedder(llm: FakeLlm, provider_id: str = "openai:embeddings:text-embedding-3-small", **config):
    return build(provider_id, {"apiBaseUrl": llm.base, "apiKey": "sk-1", **config})


@pytest.mark.parametrize("prefix", ["openai:embeddings", "openai:embedding"])
def test_one_request_for_all_texts(llm: FakeLlm, prefix: str):
    llm.reply = lambda path, body: embeddings([1.0, 0], [0, 2.5])
    found, usage = embedder(llm, f"{prefix}:text-embedding-3-small", dimensions=2).embed(["a", "b"])
    assert found == [[1.0, 0.0], [0.0, 2.5]]
    assert path(llm) == "/v1/embeddings"
    assert headers(llm)["authorization"] == "Bearer sk-1"
    assert llm.bodies == [{"model": "text-embedding-3-small", "input": ["a", "b"], "dimensions": 2}]
    assert (usage.calls, usage.prompt_tokens, usage.known_cost) == (1, 8, pytest.approx(8 * 0.02e-6))


def test_vectors_come_back_in_the_order_of_the_texts(llm: FakeLlm):
    llm.reply = lambda path, body: embeddings([1.0], [2.0], [3.0], order=(2, 0, 1))
    assert embedder(llm).embed(["a", "b", "c"])[0] == [[1.0], [2.0], [3.0]]


def test_a_server_that_does_not_number_them_keeps_their_order(llm: FakeLlm):
    llm.reply = lambda path, body: {"data": [{"embedding": [1]}, {"embedding": [2]}]}
    assert embedder(llm).embed(["a", "b"])[0] == [[1.0], [2.0]]


def test_more_texts_than_a_request_may_hold_are_asked_in_turn(llm: FakeLlm):
    llm.reply = lambda path, body: embeddings(*([float(text)] for text in body["input"]))
    texts = [str(number) for number in range(2050)]
    found, usage = embedder(llm).embed(texts)
    assert found == [[float(text)] for text in texts]
    assert [len(body["input"]) for body in llm.bodies] == [2048, 2]
    assert (usage.calls, usage.prompt_tokens) == (2, 16)


def test_an_embedding_model_is_no_chat_model(llm: FakeLlm):
    model = embedder(llm)
    assert model.kinds == ("embedding",)
    with pytest.raises(ProviderError, match="is not a provider of the kind classification"):
        model.classify("a")
