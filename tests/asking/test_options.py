import pytest

from gradegate.errors import ConfigError
from support.fake_llm import FakeLlm, chat
from support.vendors import build

EVERY = [
    "openai:chat:m",
    "openai:responses:m",
    "openai:embeddings:m",
    "openai:moderation",
    "anthropic:messages:m",
    "google:m",
    "mistral:m",
    "ollama:chat:m",
    "groq:m",
]


@pytest.mark.parametrize("provider_id", EVERY)
def test_a_slip_of_the_pen_is_a_mistake_with_a_suggestion(provider_id: str):
    with pytest.raises(ConfigError) as caught:
        build(provider_id, {"apiKey": "k", "apiKeyEnvvar": "X", "headrs": {}})
    assert str(caught.value).splitlines() == [
        f'promptfooconfig.yaml:7: `{provider_id}` has no option `apiKeyEnvvar` -> did you mean "apiKeyEnvar"?',
        f'promptfooconfig.yaml:7: `{provider_id}` has no option `headrs` -> did you mean "headers"?',
    ]


@pytest.mark.parametrize("name", ["description", "owner", "x-ticket", "notes", "rationale"])
def test_what_steers_nothing_is_passed_over_with_a_note(gate, llm: FakeLlm, name):
    llm.reply = lambda path, body: "ok"
    test = {"assert": [{"type": "contains", "value": "ok"}]}
    ran = gate({"prompts": ["hi"], "providers": [llm.spec(**{name: "us"})], "tests": [test]})
    assert ran.code == 0, ran.err
    assert f"passed over: `{name}`" in ran.out
    assert name not in llm.bodies[0]


@pytest.mark.parametrize(
    "name", ["base_url", "endpoint", "apiToken", "modelVersion", "maxOutput", "tool_list", "tempreature"]
)
def test_what_may_steer_something_stays_a_mistake(name):
    with pytest.raises(ConfigError, match=f"has no option `{name}`"):
        build("openai:chat:m", {"apiKey": "k", name: "x"})


def test_what_nobody_knows_is_a_mistake_that_lists_the_options():
    with pytest.raises(ConfigError, match="`echo` has no option `zzzUri` -> it takes no options"):
        build("echo", {"zzzUri": 1})
    with pytest.raises(ConfigError, match="has no option `zzzUri` -> its options are apiBaseUrl, apiHost, "):
        build("openai:moderation", {"apiKey": "k", "zzzUri": 1})


@pytest.mark.parametrize("provider_id", EVERY)
def test_what_promptfoo_knows_is_passed_over(provider_id: str):
    config = {"apiKey": "k", "showThinking": False, "maxRetries": 3, "basePath": "x", "functionToolCallbacks": {}}
    assert build(provider_id, config)


def test_an_address_that_would_be_ignored_is_a_mistake():
    """Else the key and the prompts would go to the vendor in place of the user's own gateway."""
    for provider_id in ("anthropic:m", "ollama:m"):
        with pytest.raises(ConfigError, match="has no option `apiHost`"):
            build(provider_id, {"apiKey": "k", "apiHost": "gateway.internal"})


def test_passthrough_holds_anything(llm: FakeLlm):
    assert build("openai:chat:m", {"apiKey": "k", "passthrough": {"anything": {"goes": 1}}})


def test_all_mistakes_of_a_run_are_said_before_any_call(gate, llm: FakeLlm):
    llm.reply = lambda path, body: chat("yes")
    target = llm.spec(temprature=1)
    grader = llm.spec("judge", max_token=5)
    ran = gate(
        {
            "prompts": ["hi"],
            "providers": [target],
            "defaultTest": {"options": {"provider": grader}},
            "tests": [{"assert": [{"type": "llm-rubric", "value": "is polite"}]}],
        }
    )
    assert ran.code == 2
    assert 'has no option `temprature` -> did you mean "temperature"?' in ran.err
    assert 'has no option `max_token` -> did you mean "max_tokens"?' in ran.err
    assert llm.requests == []


def test_an_option_is_listed_once():
    with pytest.raises(ConfigError) as caught:
        build("google:m", {"apiKey": "k", "zzzUri": 1})
    assert str(caught.value).count("passthrough") == 1
