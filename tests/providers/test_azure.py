import pytest

from support.each import table
from support.fake_llm import FakeLlm, chat
from support.vendors import CHAT, SCHEMA, ask, build, embeddings, headers, path


def azure(llm: FakeLlm, provider_id: str = "azure:chat:my-gpt", **config):
    base = llm.base.removesuffix("/v1")
    return build(provider_id, {"apiBaseUrl": base, "apiKey": "az-1", **config})


@pytest.mark.parametrize("prefix", ["azure:chat", "azureopenai:chat"])
def test_a_deployment_is_asked_under_its_name(llm: FakeLlm, prefix: str):
    llm.reply = lambda path, body: CHAT
    reply = ask(azure(llm, f"{prefix}:my-gpt"), schema=SCHEMA)
    assert path(llm) == "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21"
    assert headers(llm)["api-key"] == "az-1"
    assert "authorization" not in headers(llm)
    assert llm.bodies[0]["response_format"]["type"] == "json_schema"
    assert reply.text == "It is so."


@pytest.mark.parametrize(("config", "asked"), table(__file__, "versions"))
def test_versions(llm: FakeLlm, config: dict, asked: str):
    llm.reply = lambda path, body: CHAT
    ask(azure(llm, **config))
    assert path(llm) == asked
    assert llm.bodies[0]["model"] == "my-gpt"


def test_the_v1_api_by_its_address(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    ask(azure(llm, apiBaseUrl=llm.base.removesuffix("/v1") + "/openai/v1/"))
    assert path(llm) == "/openai/v1/chat/completions"


def test_the_price_is_that_of_the_model_behind_the_deployment(llm: FakeLlm):
    llm.reply = lambda path, body: {**CHAT, "model": "gpt-4o-2024-08-06"}
    assert ask(azure(llm)).usage.known_cost == pytest.approx(50 * 2.5e-6 + 10 * 10e-6)
    assert ask(azure(llm, modelName="gpt-4o-mini")).usage.known_cost == pytest.approx(50 * 0.15e-6 + 10 * 0.6e-6)
    llm.reply = lambda path, body: chat("no model is named")
    assert ask(azure(llm)).usage.known_cost is None


BLOCKED = table(__file__, "BLOCKED")


def test_a_blocked_prompt_is_a_refusal_and_costs_one_call(llm: FakeLlm):
    llm.reply = lambda path, body: (400, BLOCKED)
    reply = ask(azure(llm), schema=SCHEMA)
    assert (reply.refused, reply.finish_reason) == (True, "content_filter")
    assert "content management policy" in reply.text
    assert len(llm.requests) == 1


def test_a_reasoning_model_is_said_to_be_one(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    ask(azure(llm, isReasoningModel=True, max_tokens=7))
    assert llm.bodies[0]["max_completion_tokens"] == 7
    assert "temperature" not in llm.bodies[0]


@pytest.mark.parametrize("prefix", ["azure:embeddings", "azure:embedding", "azureopenai:embeddings"])
def test_embeddings_of_a_deployment(llm: FakeLlm, prefix: str):
    llm.reply = lambda path, body: embeddings([1.0], [2.0], order=(1, 0))
    found, usage = azure(llm, f"{prefix}:my-ada").embed(["a", "b"])
    assert found == [[1.0], [2.0]]
    assert path(llm) == "/openai/deployments/my-ada/embeddings?api-version=2024-10-21"
    assert usage.known_cost == pytest.approx(8 * 0.02e-6)


@pytest.mark.parametrize(("config", "env", "host"), table(__file__, "host_and_key_of_config_and_environment"))
def test_host_and_key_of_config_and_environment(config, env, host):
    assert build("azure:chat:d", config, **env).host == host
