"""Our requests and the replies that the other tests are built on, read by the vendors' own types."""

import json
import re
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import TypeAdapter

from gradegate.assertions.judge.form import Form
from gradegate.core.conversation import Message
from gradegate.providers.api.anthropic_messages import MESSAGE_FORM
from gradegate.providers.api.chat_api import vendor_schema
from support import vendors
from support.fake_llm import FakeLlm
from support.vendors import CHAT, PIXEL, SCHEMA, ask, build, claude, embeddings, gemini, make_message, ollama, output_text, responses

pytestmark = pytest.mark.slow  # the SDKs take seconds to import
TALK = (("system", "Be brief."), Message("user", "what?", (PIXEL,)), ("assistant", "a dot"), ("user", "sure?"))


def sent(llm: FakeLlm, provider_id: str, answer: dict, base: str = "apiBaseUrl", **config) -> dict[str, Any]:
    """The body of a question with a conversation, an image and a shape."""
    llm.reply = lambda path, body: answer
    ask(build(provider_id, {base: llm.base, "apiKey": "k", **config}), *TALK, schema=SCHEMA)
    return llm.bodies[-1]


def test_openai(llm: FakeLlm):
    openai = import_module("openai.types")
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as Chat
    from openai.types.embedding_create_params import EmbeddingCreateParams
    from openai.types.responses import Response
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as Ask

    body = sent(llm, "openai:chat:gpt-4o", CHAT, max_tokens=5, seed=1, stop=["x"])
    assert not set(body) - set(Chat.__annotations__ | openai.chat.completion_create_params.CompletionCreateParamsBase.__annotations__)
    TypeAdapter(Chat).validate_python(body)
    openai.chat.ChatCompletion.model_validate(CHAT, strict=True)
    answer = responses(vendors.THOUGHT, make_message(output_text("yes")))
    body = sent(llm, "openai:responses:gpt-4o", answer, max_output_tokens=5)
    TypeAdapter(Ask).validate_python(body)
    assert Response.model_validate(answer).output_text == "yes"
    openai.CreateEmbeddingResponse.model_validate(embeddings([1.0]), strict=True)
    llm.reply = lambda path, body: embeddings([1.0])
    build("openai:embeddings:m", {"apiBaseUrl": llm.base, "dimensions": 1}).embed(["a"])
    TypeAdapter(EmbeddingCreateParams).validate_python(llm.bodies[-1])


def test_anthropic(llm: FakeLlm):
    types = import_module("anthropic.types")
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Ask

    answer = claude({"type": "text", "text": "yes", "citations": None})
    types.Message.model_validate(answer, strict=True)
    body = sent(llm, "anthropic:claude-opus-5-5", answer, stop_sequences=["x"])
    known = types.message_create_params.MessageCreateParamsBase.__annotations__
    assert not set(body) - set(known)  # a key of ours that the API does not have
    TypeAdapter(Ask).validate_python(body)
    own = {get_args(get_type_hints(part)["type"])[0] for part in get_args(types.ContentBlockParam)}
    assert set(MESSAGE_FORM.vendor_parts) == own  # the parts that a chat prompt may have


@pytest.mark.parametrize("service", ["openrouter", "perplexity", "fireworks", "litellm", "vllm", "cloudflare-ai"])
def test_services_with_openais_api(llm: FakeLlm, service):
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as Chat
    from openai.types.embedding_create_params import EmbeddingCreateParams

    account = {"accountId": "a"} if service == "cloudflare-ai" else {}
    body = sent(llm, f"{service}:m", CHAT, max_tokens=5, seed=1, **account)
    TypeAdapter(Chat).validate_python(body)
    assert set(body) <= {"model", "messages", "max_tokens", "seed", "temperature", "response_format"}
    if service != "perplexity":
        llm.reply = lambda path, body: embeddings([1.0])
        build(f"{service}:embedding:m", {"apiBaseUrl": llm.base, "apiKey": "k", **account}).embed(["a"])
        TypeAdapter(EmbeddingCreateParams).validate_python(llm.bodies[-1])


def test_google(llm: FakeLlm):
    types = import_module("google.genai.types")
    answer = gemini({"text": "thought", "thought": True}, {"text": "yes"})
    assert types.GenerateContentResponse.model_validate(answer).text == "yes"
    body = sent(llm, "google:gemini-2.5-flash", answer, maxOutputTokens=5, stopSequences=["x"])
    types.GenerationConfig.model_validate(body["generationConfig"])  # forbids what it does not know
    TypeAdapter(list[types.Content]).validate_python(body["contents"])
    types.Content.model_validate(body["systemInstruction"])
    vectors = {"embeddings": [{"values": [1.0, 0.0]}], "usageMetadata": {"promptTokenCount": 2}}
    assert types.EmbedContentResponse.model_validate(vectors).embeddings[0].values == [1.0, 0.0]
    llm.reply = lambda path, body: vectors
    build("google:embedding:m", {"apiBaseUrl": llm.base, "apiKey": "k", "taskType": "X", "title": "t"}).embed(["a"])
    request = llm.bodies[-1]["requests"][0]
    types.Content.model_validate(request["content"])
    types.EmbedContentConfig.model_validate({key: request[key] for key in ("taskType", "title")})


def test_mistral(llm: FakeLlm):
    client = import_module("mistralai.client.models")
    client.ChatCompletionResponse.model_validate(CHAT)
    body = sent(llm, "mistral:mistral-small-latest", CHAT, random_seed=1, max_tokens=5)
    fields = {field.alias or name for name, field in client.ChatCompletionRequest.model_fields.items()}
    assert not set(body) - fields
    client.ChatCompletionRequest.model_validate(body)


def test_ollama(llm: FakeLlm):
    client = import_module("ollama")
    assert client.ChatResponse.model_validate(ollama("yes", thinking="hm")).message.content == "yes"
    body = sent(llm, "ollama:chat:m", ollama("yes"), num_ctx=1, keep_alive="1m")
    from ollama._types import ChatRequest

    assert not set(body) - set(ChatRequest.model_fields)
    assert not set(body["options"]) - set(client.Options.model_fields)
    ChatRequest.model_validate(body)


def test_what_openai_documents_is_sent():
    """All but what names the question, and what needs a stream, a voice or a wait."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsBase
    from openai.types.responses.response_create_params import ResponseCreateParamsBase

    from gradegate.providers.api.openai_chat import RESPONSES_SENT as RESPONSES
    from gradegate.providers.api.openai_chat import SENT

    left = {"model", "messages", "input", "audio", "image", "stream_options", "background", "background_options"}
    assert set(CompletionCreateParamsBase.__annotations__) - set(SENT) <= left
    assert set(ResponseCreateParamsBase.__annotations__) - set(RESPONSES) <= left


# --- the schemas of the graders, and the other ways to ask for JSON -------------------------------------------------


def schemas() -> dict[str, dict]:
    """Every schema that a grader asks for, by module and name."""
    packages = [import_module(name) for name in ("gradegate.assertions", "gradegate.assertions.judge", "gradegate.assertions.metrics")]
    modules = [import_module(f"{package.__name__}.{found.name}") for package in packages for found in iter_modules(package.__path__)]
    values = {f"{module.__name__}.{name}": value for module in modules for name, value in vars(module).items()}
    values |= {name: value.schema for name, value in values.items() if isinstance(value, Form)}
    return {
        name: value for name, value in values.items() if isinstance(value, dict) and value.get("type") == "object" and "properties" in value
    }


def objects(schema: Any) -> list[dict]:
    if isinstance(schema, list):
        return [found for item in schema for found in objects(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "object" else []
    return own + [found for item in schema.values() for found in objects(item)]


def test_vendors_take_the_graders_schemas_as_strict_ones():
    from anthropic import transform_schema
    from google.genai.types import JSONSchema, Schema

    found = schemas()
    assert len(found) > 20
    for name, schema in found.items():
        for part in objects(schema):  # https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
            assert part["required"] == list(part["properties"]), name
            assert part["additionalProperties"] is False, name
            assert next(iter(part["properties"])) not in ("pass", "verdict", "score", "category", "index"), name
        plain = vendor_schema(schema, takes_bounds=False)  # as Claude is asked; their package writes an enum without its type
        untyped = json.loads(re.sub('"type": "(?:string|integer)", "enum"', '"enum"', json.dumps(plain)))
        assert transform_schema(plain) == untyped, name
        Schema.from_json_schema(json_schema=JSONSchema.model_validate(schema), raise_error_on_unsupported_field=True)


def test_the_other_ways_to_ask_for_json(llm: FakeLlm):
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Claude
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as Chat
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as Ask

    answers = {
        "openai:chat:gpt-4o": (Chat, CHAT, "json_schema"),
        "openai:responses:gpt-4o": (Ask, responses(make_message(output_text("yes"))), "json_schema"),
        "anthropic:claude-opus-5-5": (Claude, claude({"type": "text", "text": "yes"}), "output_config"),
    }
    for provider_id, (form, answer, refused) in answers.items():
        llm.reply = vendors.refusing(refused, answer=answer)
        if refused == "json_schema":
            llm.reply = lambda path, body, answer=answer: (400, {"error": "x"}) if "json_schema" in str(body) else answer
        ask(build(provider_id, {"apiBaseUrl": llm.base, "apiKey": "k"}), *TALK, schema=SCHEMA)
        TypeAdapter(form).validate_python(llm.bodies[-1])
        assert "json_object" in str(llm.bodies[-1]) or llm.bodies[-1]["tools"][0]["input_schema"] == SCHEMA
