import pytest

from gradegate.asking.provider import PROVIDERS
from gradegate.asking.service import Service
from gradegate.errors import ConfigError
from support.each import table
from support.fake_llm import FakeLlm, chat
from support.vendors import CHAT, SCHEMA, ask, build, embeddings, headers, path, refusing

SERVICES = table(__file__, "SERVICES")
OWN = table(__file__, "OWN")
EMBEDDING = [name for name, build in PROVIDERS if isinstance(build, Service) and build.embeds]


@pytest.mark.parametrize(("service", "variable", "host"), SERVICES)
def test_each_service_has_its_host_and_its_key(llm: FakeLlm, service, variable, host):
    assert build(f"{service}:org/model:free", **{variable: "k"}).host == host
    with pytest.raises(ConfigError, match=f"no key for `{service}:m` -> set "):
        build(f"{service}:m", OPENAI_API_KEY="not-for-others")
    llm.reply = lambda path, body: CHAT
    reply = ask(build(f"{service}:org/model:free", {"apiBaseUrl": llm.base}, **{variable: "k-9"}))
    assert (path(llm), reply.text) == ("/v1/chat/completions", "It is so.")
    assert headers(llm)["authorization"] == "Bearer k-9"
    assert llm.bodies[0]["model"] == "org/model:free"


@pytest.mark.parametrize(("service", "variable", "address", "url"), OWN)
def test_a_server_of_ones_own_is_where_it_listens_or_the_environment_says(llm: FakeLlm, service, variable, address, url):
    assert build(f"{service}:m").url == url
    llm.reply = lambda path, body: CHAT
    ask(build(f"{service}:chat:m", **{address: f"{llm.base}/", variable: "k"}))
    assert headers(llm)["authorization"] == "Bearer k"
    assert path(llm).endswith("/chat/completions")
    assert llm.bodies[-1]["model"] == "m"
    ask(build(f"{service}:m", {"apiBaseUrl": llm.base}))
    assert "authorization" not in headers(llm)


def test_every_service_is_among_these():
    known = {name for name, *_ in (*SERVICES, *OWN)} | {
        "databricks",
        "cloudflare-ai",
        "mlflow-gateway",
        "envoy",
        "voyage",
        "cloudera",
        "helicone",
    }
    assert {name for name, build in PROVIDERS if isinstance(build, Service)} == known


@pytest.mark.parametrize("service", EMBEDDING)
@pytest.mark.parametrize("kind", ["embedding", "embeddings"])
def test_embeddings_of_a_service_have_its_host_and_its_key(llm: FakeLlm, service, kind):
    llm.reply = lambda path, body: embeddings([1.0, 0.0])
    model = build(f"{service}:{kind}:org/m:1", {"apiBaseUrl": llm.base, "apiKey": "k-9", "accountId": "a", "dimensions": 2})
    assert model.kinds == ("embedding",)
    assert model.embed(["a"])[0] == [[1.0, 0.0]]
    assert (path(llm), headers(llm)["authorization"]) == ("/v1/embeddings", "Bearer k-9")
    assert llm.bodies == [{"model": "org/m:1", "input": ["a"], "dimensions": 2}]


def test_a_service_of_embeddings_alone(llm: FakeLlm):
    assert build("voyage:voyage-3", VOYAGE_API_KEY="k").url == "https://api.voyageai.com/v1/embeddings"
    assert build("voyage:embedding:voyage-3", VOYAGE_API_KEY="k", VOYAGE_API_BASE_URL=llm.base).url.startswith(llm.base)
    with pytest.raises(ConfigError, match="names no model -> write voyage:MODEL"):
        build("voyage:", VOYAGE_API_KEY="k")


def test_embeddings_of_a_service_that_has_none():
    with pytest.raises(ConfigError, match="Groq serves no embeddings -> name another vendor's, such as openai:embedding"):
        build("groq:embedding:m", GROQ_API_KEY="k")


@pytest.mark.parametrize(("model", "variables", "config", "url"), table(__file__, "where_a_service_is_that_has_an_address_for_each_user"))
def test_where_a_service_is_that_has_an_address_for_each_user(model, variables, config, url):
    assert build(model, {"apiKey": "k", **config}, **variables).url == f"{url}/chat/completions"


@pytest.mark.parametrize(("model", "said"), table(__file__, "an_address_that_nobody_gives_is_a_mistake"))
def test_an_address_that_nobody_gives_is_a_mistake(model, said):
    with pytest.raises(ConfigError, match=said):
        build(model, {"apiKey": "k"})


@pytest.mark.parametrize("cost", [0.00125, {"input_tokens_cost": 0.001, "total_cost": 0.00125}])
@pytest.mark.parametrize("service", ["openrouter", "perplexity"])
def test_some_say_what_a_call_cost(llm: FakeLlm, service, cost):
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "cost": cost}
    llm.reply = lambda path, body: {**CHAT, "usage": usage}
    config = {"apiBaseUrl": llm.base, "apiKey": "k"}
    assert ask(build(f"{service}:some/model", config)).usage.known_cost == 0.00125
    assert ask(build("groq:some-model", config)).usage.known_cost is None


@pytest.mark.parametrize("cost", [-1, True, "0", None, float("inf"), float("nan"), {}, {"total_cost": -1}])
def test_what_cannot_be_a_cost_is_none(llm: FakeLlm, cost):
    """A server that says it owes us something would else make room in a budget."""
    llm.reply = lambda path, body: {**CHAT, "usage": {"prompt_tokens": 5, "completion_tokens": 2, "cost": cost}}
    assert ask(build("openrouter:some/model", {"apiBaseUrl": llm.base, "apiKey": "k"})).usage.known_cost is None


def test_a_service_without_structured_output_is_asked_plainly(llm: FakeLlm):
    llm.reply = refusing("response_format", answer=chat("yes"))
    model = build("deepseek:deepseek-chat", {"apiBaseUrl": llm.base, "apiKey": "k"})
    for _ in range(2):
        assert ask(model, schema=SCHEMA).text == "yes"
    assert len(llm.requests) == 4


def test_a_key_that_a_config_says_is_not_required(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    ask(build("groq:m", {"apiBaseUrl": llm.base, "apiKeyRequired": False}))
    assert "authorization" not in headers(llm)


def test_an_address_of_another_api_of_a_service_is_a_mistake():
    with pytest.raises(ConfigError, match="`baseUrl` of `vercel:v/m` is not supported -> write `apiBaseUrl`"):
        build("vercel:v/m", {"apiKey": "k", "baseUrl": "https://ai-gateway.vercel.sh/v3/ai"})


def test_parameters_of_a_service_go_into_the_request(llm: FakeLlm):
    llm.reply = lambda path, body: CHAT
    config = {"apiBaseUrl": llm.base, "apiKey": "k", "top_k": 5}
    ask(build("vllm:m", {**config, "guided_choice": ["a", "b"], "stream": True, "maxRetries": 3}))
    assert (llm.bodies[-1]["top_k"], llm.bodies[-1]["guided_choice"]) == (5, ["a", "b"])
    assert not {"stream", "maxRetries", "apiKey", "apiBaseUrl"} & set(llm.bodies[-1])
    ask(build("vercel:v/m", {**config, "maxTokens": 7, "stopSequences": ["x"]}))
    assert (llm.bodies[-1]["max_tokens"], llm.bodies[-1]["stop"]) == (7, ["x"])
    ask(build("groq:m", config))
    assert "top_k" not in llm.bodies[-1]


@pytest.mark.parametrize(
    ("provider", "option", "variable"), table(__file__, "a_key_goes_where_the_service_or_the_environment_says_and_not_where_a_config_does")
)
def test_a_key_goes_where_the_service_or_the_environment_says_and_not_where_a_config_does(
    gate, llm: FakeLlm, monkeypatch, provider, option, variable
):
    monkeypatch.setenv(variable, "key-123456789")
    target = {"id": provider, "config": {option: llm.base}}
    similar = {"assert": [{"type": "similar", "value": "x"}], "options": {"provider": {"embedding": target}}}
    plain = {"assert": [{"type": "contains", "value": "x"}]}
    config = {"prompts": ["hi"], "providers": ["echo"], "tests": [similar]}
    config = config if ":embedding" in provider else {**config, "providers": [target], "tests": [plain]}
    ran = gate(config, "--allowed-hosts", "elsewhere.example")
    assert (ran.code, llm.requests) == (2, [])
    assert f"would send {variable} to 127.0.0.1:{llm.port}, which is not a host of that key" in ran.err


@pytest.mark.parametrize(("provider", "key", "address"), table(__file__, "an_address_of_the_environment_is_one_that_the_key_may_go_to"))
def test_an_address_of_the_environment_is_one_that_the_key_may_go_to(gate, llm, monkeypatch, provider, key, address):
    monkeypatch.setenv(key, "key-123456789")
    monkeypatch.setenv(address, llm.base)
    llm.reply = lambda path, body: chat("x")
    config = {"prompts": ["hi"], "providers": [provider], "tests": [{"assert": [{"type": "contains", "value": "x"}]}]}
    assert gate(config, "--allowed-hosts", "elsewhere.example").code == 0
    assert headers(llm)["authorization"] == "Bearer key-123456789"
