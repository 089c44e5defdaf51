import pytest

from gradegate.errors import ConfigError
from support.fake_llm import FakeLlm, chat
from support.vendors import CHAT, SCHEMA, ask, build, headers, path, refusing

SERVICES = [
    ("openrouter", "OPENROUTER_API_KEY", "openrouter.ai"),
    ("groq", "GROQ_API_KEY", "api.groq.com"),
    ("xai", "XAI_API_KEY", "api.x.ai"),
    ("deepseek", "DEEPSEEK_API_KEY", "api.deepseek.com"),
    ("together", "TOGETHER_API_KEY", "api.together.xyz"),
    ("togetherai", "TOGETHER_API_KEY", "api.together.xyz"),
]


@pytest.mark.parametrize(("service", "variable", "host"), SERVICES)
def test_each_service_has_its_host_and_its_key(llm: FakeLlm, service, variable, host):
    assert build(f"{service}:org/model:free", **{variable: "k"}).host == host
    with pytest.raises(ConfigError, match=f"no key for `{service}:m` -> set {variable}"):
        build(f"{service}:m", OPENAI_API_KEY="not-for-others")
    llm.reply = lambda path, body: CHAT
    ask(build(f"{service}:org/model:free", {"apiBaseUrl": llm.base}, **{variable: "k-9"}))
    assert path(llm) == "/v1/chat/completions"
    assert headers(llm)["authorization"] == "Bearer k-9"
    assert llm.bodies[0]["model"] == "org/model:free"


def test_openrouter_says_what_a_call_cost(llm: FakeLlm):
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "cost": 0.00125}
    llm.reply = lambda path, body: {**CHAT, "usage": usage}
    config = {"apiBaseUrl": llm.base, "apiKey": "k"}
    assert ask(build("openrouter:some/model", config)).usage.known_cost == 0.00125
    assert ask(build("groq:some-model", config)).usage.known_cost is None


def test_a_service_without_structured_output_is_asked_plainly(llm: FakeLlm):
    llm.reply = refusing("response_format", answer=chat("yes"))
    model = build("deepseek:deepseek-chat", {"apiBaseUrl": llm.base, "apiKey": "k"})
    for _ in range(2):
        assert ask(model, schema=SCHEMA).text == "yes"
    assert len(llm.requests) == 3
