import pytest

from gradegate.errors import ConfigError
from support.each import table
from support.fake_llm import FakeLlm, chat
from support.scenes import scenes
from support.vendors import build

EVERY = table(__file__, "EVERY")


@pytest.mark.parametrize("provider_id", EVERY)
def test_a_slip_of_the_pen_is_a_mistake_with_a_suggestion(provider_id: str):
    with pytest.raises(ConfigError) as caught:
        build(provider_id, {"apiKey": "k", "apiKeyEnvvar": "X", "headrs": {}})
    assert str(caught.value).splitlines() == [
        f'promptfooconfig.yaml:7: `{provider_id}` has no option `apiKeyEnvvar` -> did you mean "apiKeyEnvar"?',
        f'promptfooconfig.yaml:7: `{provider_id}` has no option `headrs` -> did you mean "headers"?',
    ]


test_values = scenes(__file__)


@pytest.mark.parametrize(
    ("option", "near"), [("baseUrl", "apiBaseUrl"), ("base_url", "apiBaseUrl"), ("maxTokens", "max_tokens"), ("api_key", "apiKey")]
)
def test_a_name_of_another_spelling_is_a_slip_too(option: str, near: str):
    with pytest.raises(ConfigError, match=f'has no option `{option}` -> did you mean "{near}"'):
        build("openai:chat:m", {"apiKey": "k", option: "x"})


@pytest.mark.parametrize("option", ["serverUrl", "hostname", "httpProxy", "access_token", "client_secret"])
def test_what_says_where_a_question_goes_is_a_mistake(option: str):
    with pytest.raises(ConfigError, match=f"has no option `{option}` -> its options are apiBaseUrl, apiHost, "):
        build("openai:moderation", {"apiKey": "k", option: "x"})
    with pytest.raises(ConfigError, match=f"`echo` has no option `{option}` -> it takes no options"):
        build("echo", {option: "x"})


def test_what_nobody_knows_has_no_effect_and_is_said_once(gate, llm: FakeLlm):
    llm.reply = lambda path, body: chat("yes")
    target = llm.spec(zzz=1, top_k=3)
    test = {"assert": [{"type": "contains", "value": "yes"}]}
    ran = gate({"prompts": ["hi"], "providers": [target], "tests": [test, test]})
    assert ran.code == 0
    assert not {"zzz", "top_k"} & set(llm.bodies[0])
    what = "knows no option `zzz`, so it has no effect; `passthrough` sends further options to the vendor"
    assert ran.out.count(what) == 1
    assert "`top_k`" not in ran.out  # other vendors have it: a config for several may name it


def test_a_service_whose_parameters_are_open_is_sent_them_without_a_word(gate, llm: FakeLlm):
    llm.reply = lambda path, body: chat("yes")
    target = {"id": "vllm:m", "config": {"apiBaseUrl": llm.base, "zzz": 1}}
    test = {"assert": [{"type": "contains", "value": "yes"}]}
    ran = gate({"prompts": ["hi"], "providers": [target], "tests": [test]})
    assert llm.bodies[0]["zzz"] == 1
    assert "zzz" not in ran.out


@pytest.mark.parametrize("provider_id", EVERY)
def test_what_promptfoo_knows_is_passed_over(provider_id: str):
    config = {"apiKey": "k", "showThinking": False, "maxRetries": 3, "basePath": "x", "functionToolCallbacks": {}}
    assert build(provider_id, config)


def test_what_promptfoo_gives_the_model_is_a_mistake_where_it_is_not_had():
    for option in ({"mcp": {"enabled": True, "server": {}}}, {"functionToolCallbacks": {"f": "x"}}, {"dataSources": [{}]}):
        with pytest.raises(ConfigError, match="gives the model something that gradegate lacks"):
            build("openai:chat:m", {"apiKey": "k", **option})
    assert build("openai:chat:m", {"apiKey": "k", "mcp": {"enabled": False, "server": {}}, "tool_resources": {}})


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
    assert 'has no option `temprature` -> did you mean "temperature"?' in ran.mistakes
    assert 'has no option `max_token` -> did you mean "max_tokens"?' in ran.err
    assert llm.requests == []


def test_an_option_is_listed_once():
    with pytest.raises(ConfigError) as caught:
        build("google:m", {"apiKey": "k", "proxyUrl": 1})
    assert str(caught.value).count("passthrough") == 1


@pytest.mark.parametrize("provider_id", [*EVERY, "bedrock:m", "vertex:gemini-x", "azure:chat:d", "http://127.0.0.1:1/"])
@pytest.mark.parametrize("written", [["a"], "Authorization: x", 5, [{"A": "x"}]])
def test_headers_that_are_no_mapping_are_a_mistake(provider_id: str, written):
    with pytest.raises(ConfigError, match=r"^promptfooconfig.yaml:7: `headers` of `.*` is not a mapping -> write "):
        build(provider_id, {"apiKey": "k", "headers": written})


@pytest.mark.parametrize("written", [None, {}, ""])
def test_no_headers_are_none(written):
    build("openai:chat:m", {"apiKey": "k", "headers": written})
