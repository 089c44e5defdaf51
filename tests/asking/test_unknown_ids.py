"""Ids that nobody serves: each is one mistake, and its cure names an id that is served."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.asking.provider import PROVIDERS, split_id
from gradegate.asking.unknown_ids import check, nearest
from gradegate.errors import ConfigError
from gradegate.values.suite import ProviderSpec
from support.graded import mistakes

NEAREST = [
    ("gpt-4.1-mini", "openai:chat:gpt-4.1-mini"),
    ("openai/gpt-4o", "openai:gpt-4o"),
    ("anthropic/claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
    ("gpt-5", "openai:chat:gpt-5"),
    ("chatgpt-4o-latest", "openai:chat:chatgpt-4o-latest"),
    ("o3-mini", "openai:chat:o3-mini"),
    ("ft:gpt-4o:org::id", "openai:chat:ft:gpt-4o:org::id"),
    ("gpt:gpt-4o", "openai:chat:gpt-4o"),
    ("text-embedding-3-large", "openai:embedding:text-embedding-3-large"),
    ("omni-moderation-latest", "openai:moderation:omni-moderation-latest"),
    ("claude-sonnet-4-5-20250929", "anthropic:messages:claude-sonnet-4-5-20250929"),
    ("claude:claude-haiku-4-5", "anthropic:messages:claude-haiku-4-5"),
    ("gemini-2.5-flash", "google:gemini-2.5-flash"),
    ("gemini:gemini-2.5-flash", "google:gemini-2.5-flash"),
    ("mistral-large-latest", "mistral:mistral-large-latest"),
    ("codestral-latest", "mistral:codestral-latest"),
    ("mistral-embed", "mistral:embedding:mistral-embed"),
    ("grok-4", "xai:grok-4"),
    ("deepseek-chat", "deepseek:deepseek-chat"),
    ("sonar-pro", "perplexity:sonar-pro"),
    ("command-r-plus", "cohere:command-r-plus"),
    ("kimi-k2", "moonshot:kimi-k2"),
    ("qwen-max", "alibaba:qwen-max"),
    ("voyage-3-large", "voyage:voyage-3-large"),
    ("llama3", "ollama:chat:llama3"),
    ("llama3.2:3b", "ollama:chat:llama3.2:3b"),
    ("deepseek-r1:7b", "ollama:chat:deepseek-r1:7b"),
    ("qwen2.5-coder:latest", "ollama:chat:qwen2.5-coder:latest"),
    ("phi4", "ollama:chat:phi4"),
    ("nomic-embed-text", "ollama:embedding:nomic-embed-text"),
    ("together_ai:meta-llama/x", "together:meta-llama/x"),
    ("lm_studio:m", "lmstudio:m"),
    ("anthropic/claude-sonnet-4", "anthropic:claude-sonnet-4"),
    ("gemini/gemini-2.5-flash", "google:gemini-2.5-flash"),
    ("models/gemini-2.5-pro", "google:gemini-2.5-pro"),
    ("OpenAI:chat:gpt-5", "openai:chat:gpt-5"),
    ("openai.chat.gpt-4.1", "openai:chat:gpt-4.1"),
    ("openai-chat:gpt-5", "openai:chat:gpt-5"),
    ("meta-llama/llama-3.3-70b-instruct", "openrouter:meta-llama/llama-3.3-70b-instruct"),
]


@pytest.mark.parametrize(("written", "served"), NEAREST)
def test_the_nearest_way_is_named_and_served(written, served):
    said = nearest(written)
    assert re.match(rf"write {re.escape(served)}(,|$)", said), said
    assert split_id(served)


@pytest.mark.parametrize(
    ("written", "near"),
    [("opnai:chat:a", "openai:chat:a"), ("ehco", "echo"), ("antropic:messages:m", "anthropic:messages:m"), ("olama:x", "ollama:x")],
)
def test_a_slip_of_the_pen_is_asked_about(written, near):
    assert nearest(written) == f'did you mean "{near}"?'


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("localhost:8000/v1", "http://localhost:8000/v1"),
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("api.example.com/v1/chat", "https://api.example.com/v1/chat"),
        ("gateway.example:8443", "https://gateway.example:8443"),
    ],
)
def test_an_address_is_an_application_or_a_server_of_openais_api(written, url):
    said = nearest(written)
    assert f"write {url} and a `body`" in said
    assert f"openai:chat:MODEL with `apiBaseUrl: {url}`" in said


def test_what_is_not_http_is_told_the_two_ways():
    said = nearest("grpc://host/x")
    assert "write the id `http` with `url`" in said
    assert "gradegate cases" in said


@pytest.mark.parametrize("written", ["nobody", "nobody:x", "", ":", "my-model-7"])
def test_what_says_nothing_is_told_the_forms_and_not_a_list_of_all(written):
    said = nearest(written)
    assert said.startswith("write VENDOR:MODEL, such as openai:chat:MODEL")
    assert "apiBaseUrl" in said
    assert len(said) < 250


def test_a_vendor_without_the_form_names_its_forms():
    assert nearest("azure:gpt-4o").startswith("write one of azure:chat:MODEL, azure:embedding:MODEL")
    assert "huggingface:chat:MODEL" in nearest("huggingface:sentence-similarity:m")


@given(st.text() | st.from_regex(r"[a-z]{1,9}[:/.-][a-z0-9:/.-]{0,20}", fullmatch=True))
def test_any_text_gets_a_cure(written: str):
    assert nearest(written)


AGENTS = [
    "anthropic:claude-agent-sdk", "anthropic:claude-agent-sdk:x", "anthropic:claude-code", "openai:codex-sdk",
    "openai:codex-sdk:gpt-5", "openai:agents:my-agent", "openai:assistant:asst_1", "openai:chatkit:wf", "opencode:sdk",
    "opencode", "openclaw:x", "a2a:https://host", "browser", "mcp", "mcp:server", "n8n:https://host", "slack:C1",
    "azure:assistant:x", "azure:foundry-agent:x", "promptfoo:simulated-user", "bedrock-agent:x",
    "bedrock:kb:x", "bedrock:agents:x",
]  # fmt: skip
MEDIA = [
    "openai:realtime", "openai:realtime:gpt-realtime", "openai:image:dall-e-3", "openai:tts:x", "openai:gpt-4o-mini-tts",
    "openai:gpt-4o-realtime-preview", "openai:gpt-live-1", "elevenlabs:tts:rachel", "xai:image:grok-2-image", "fal:image:x",
    "google:live:gemini-2.0-flash-live", "google:gemini-2.5-flash-image", "hyperbolic:audio:m", "azure:realtime:d",
    "bedrock:nova-sonic", "bedrock:amazon.nova-sonic-v1:0", "bedrock:video:x", "vertex:video:veo-3", "vertex:gemini-2.5-flash-image",
]  # fmt: skip


@pytest.mark.parametrize("written", AGENTS + MEDIA)
def test_what_is_no_model_is_told_of_answers_made_elsewhere(written):
    with pytest.raises(ConfigError, match="gradegate run --answers FILE") as caught:
        check(ProviderSpec(written))
    assert len(caught.value.mistakes) == 1


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("bedrock:embeddings:amazon.titan-embed-text-v2:0", "such as openai:embedding:MODEL"),
        ("vertex:embedding:text-embedding-005", "such as openai:embedding:MODEL"),
        ("bedrock:messages:anthropic.claude-x", "asks another API of that vendor"),
        ("bedrock:mantle:openai.gpt-oss-20b", "asks another API of that vendor"),
        ("sagemaker:x", "its cloud's own credentials, which gradegate cannot do yet"),
        ("github:openai/gpt-4.1", "was closed in July 2026, its API too -> name the vendor of the model"),
        ("palm:chat-bison", "-> write google:MODEL"),
        ("replicate:meta/llama", "-> write the id `http` with the header `Prefer: wait`"),
        ("watsonx:chat:ibm/granite", "has an API of its own"),
        ("portkey:gpt-4o", "`apiBaseUrl: https://api.portkey.ai/v1`"),
        ("llama", "http://localhost:8080/v1"),
        ("webhook:https://host/x", "is plain HTTP -> write the id `http`"),
        ("wss://host/x", "is asked over a WebSocket"),
        ("promptfoo:redteam:goat", "run red teaming as its own job"),
        ("openai:completion:davinci", "takes no messages -> name a chat model of the same vendor"),
        ("sequence", "-> write the conversation as `turns` of a test"),
        ("golang:main.go", "in a language that gradegate does not run -> serve it over HTTP"),
        ("ruby:main.rb", "in a language that gradegate does not run"),
        ("azure:moderation:text-content-safety", "-> name openai:moderation"),
        ("groq:responses:m", "asks another API of that vendor"),
        ("transformers:text-generation:m", "inside promptfoo's own process"),
    ],
)
def test_what_promptfoo_has_and_gradegate_has_not_is_named(written, said):
    with pytest.raises(ConfigError) as caught:
        check(ProviderSpec(written))
    assert said in str(caught.value)


def test_what_is_served_is_not_objected_to():
    for name, _ in PROVIDERS:
        check(ProviderSpec(f"{name}:model"))
    for written in ("openai:gpt-4o", "anthropic:claude-sonnet-4-5", "ollama:completion:m", "ollama:llama3", "https://host/x", "echo"):
        check(ProviderSpec(written))


def test_an_agent_with_many_options_is_one_mistake(gate):
    options = {"working_dir": "./src", "permission_mode": "plan", "append_allowed_tools": ["Read"], "model": "x"}
    provider = {"id": "anthropic:claude-agent-sdk", "config": options}
    config = {"prompts": ["hi"], "providers": [provider], "tests": [{"assert": [{"type": "contains", "value": "x"}]}]}
    ran = gate(config)
    assert "`anthropic:claude-agent-sdk` is an agent or a tool" in mistakes(ran)
    assert "1 mistake; nothing was asked" in ran.err


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("openai:chatt:gpt-5", "openai:chat:gpt-5"),
        ("openai:response:gpt-5", "openai:responses:gpt-5"),
        ("anthropic:message:claude-haiku-4-5", "anthropic:messages:claude-haiku-4-5"),
        ("mistral:Chat:m", "mistral:chat:m"),
        ("ollama:embeding:m:8b", "ollama:embedding:m:8b"),
    ],
)
def test_a_near_miss_of_a_form_is_no_name_of_a_model(written, meant):
    with pytest.raises(ConfigError, match=f'did you mean "{meant}"'):
        check(ProviderSpec(written))


@pytest.mark.parametrize("written", ["openai:ft:gpt-5:org::id", "ollama:llama3.2:3b", "openai:gpt-5", "groq:a:b"])
def test_a_model_may_have_colons(written):
    check(ProviderSpec(written))


def test_ids_with_commas_between_them_are_several(gate):
    with pytest.raises(ConfigError, match="names 2 models in one"):
        check(ProviderSpec("openai:chat:a,anthropic:messages:b"))
    for written in ("exec:python a.py 1,openai:chat:b", "openai:chat:a,b", "http://127.0.0.1/?a=1,openai:chat:b"):
        check(ProviderSpec(written))
    config = {"prompts": ["a"], "providers": ["echo"], "tests": [{"assert": [{"type": "llm-rubric", "value": "a"}]}]}
    said = mistakes(gate(config, "--grader", "openai:chat:a,openai:chat:b"))
    assert "`openai:chat:a,openai:chat:b` names 2 models in one -> name each by itself" in said
