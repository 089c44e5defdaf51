"""The Converse API of Amazon Bedrock: one API for the models of all vendors there.

API: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, as in the service model of ``botocore`` 1.44. The
names that promptfoo takes for its options, model by model, are translated to those of ``inferenceConfig``.
"""

import json
from collections.abc import Sequence
from typing import Any

from gradegate.core.conversation import Image, Request
from gradegate.errors import ProviderError, Trouble
from gradegate.providers.api.chat_api import (
    TOOL,
    ChatApi,
    Form,
    ModelOutput,
    as_object,
    content_blocks,
    is_thinking,
    objects_in,
    parse_data_uri,
    pick_options,
    require_text_or_calls,
)
from gradegate.providers.api.content import MessageForm, Part, Parts, ToolCall, ToolResult
from gradegate.structs import JsonObject
from gradegate.templating import chat_prompt

INFERENCE = ("maxTokens", "temperature", "topP", "stopSequences")
_ALIASES = {
    "max_tokens": "maxTokens",
    "max_new_tokens": "maxTokens",
    "max_gen_len": "maxTokens",
    "maxTokenCount": "maxTokens",
    "max_completion_tokens": "maxTokens",
    "max_tokens_to_sample": "maxTokens",
    "maxOutputTokens": "maxTokens",
    "top_p": "topP",
    "stop": "stopSequences",
    "stop_sequences": "stopSequences",
    "topK": "top_k",
}
# Options that contain options: of Converse, and of single vendors' models
_GROUPS = ("inferenceConfig", "interfaceConfig", "textGenerationConfig")
BODY_OPTIONS = (
    "additionalModelResponseFieldPaths", "guardrailConfig", "outputConfig", "performanceConfig", "requestMetadata",
    "serviceTier", "toolConfig",
)  # fmt: skip
# Options of single vendors' models, which Converse passes on
_MODEL_OPTIONS = ("thinking", "reasoningConfig", "reasoning_effort", "anthropic_beta")
_GUARDRAIL = ("guardrailIdentifier", "guardrailVersion", "trace")
OPTIONS = (
    *INFERENCE, *_ALIASES, "top_k", *_GROUPS, *BODY_OPTIONS, *_MODEL_OPTIONS, *_GUARDRAIL,
    "additionalModelRequestFields", "tools", "toolChoice", "tool_choice", "passthrough",
)  # fmt: skip
_MESSAGE_FORM = MessageForm(
    "Bedrock's Converse",
    tuple(
        "text image document video audio toolUse toolResult guardContent cachePoint reasoningContent citationsContent searchResult".split()
    ),
    ("text", "guardContent", "cachePoint"),
    typed=False,
)
_NO_SCHEMA = {"type": "object", "properties": {}}


class Converse(ChatApi):
    """Requests to any model of Bedrock and its answers; the URL names the ``model``."""

    finish_words = ("end_turn", "stop_sequence")
    # The first leaves out the others
    prompt_counts = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    answer_count = "outputTokens"
    takes_bounds = False

    def __init__(self, model: str, config: JsonObject) -> None:
        self._model = model
        # Nova takes no temperature while it reasons
        reasoning = as_object(config.get("reasoningConfig"))
        self._nova_reasons = reasoning.get("type") == "enabled"
        thinks = is_thinking(config)
        super().__init__(
            _rename_options(config),
            takes_temperature=not self._nova_reasons and not thinks,
            insists=thinks,
        )
        if self._nova_reasons and reasoning.get("maxReasoningEffort") == "high":
            self.limit_places = ()  # Nova takes no limit with its highest effort
        else:
            self.limit_places = (("inferenceConfig", "maxTokens"),)

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """A format, else a tool that the model is made to call, whose input has the schema."""
        structure = {"jsonSchema": {"name": "verdict", "schema": json.dumps(schema)}}
        text_format = {"textFormat": {"type": "json_schema", "structure": structure}}
        spec = {"name": TOOL, "description": "Give the verdict.", "inputSchema": {"json": schema}}
        forced_tool = {"tools": [{"toolSpec": spec}], "toolChoice": {"tool": {"name": TOOL}}}
        return ({"outputConfig": text_format}, "schema"), ({"toolConfig": forced_tool}, "tool")

    def build_body(self, request: Request) -> JsonObject:
        """Raises ProviderError for an image that is only named."""
        system, conversation = _MESSAGE_FORM.split_system(request.messages)
        messages = [{"role": role, "content": _blocks(parts)} for role, parts in conversation]
        body: dict[str, Any] = {"messages": messages}
        if system:
            body["system"] = _blocks(system)

        options = {**self.config, **_rename_options(request.options)}
        fields = {
            "inferenceConfig": self._inference(options),
            "additionalModelRequestFields": self._model_fields(options),
            "toolConfig": _tool_config(options),
            "guardrailConfig": _guardrail(options),
        }
        body |= {name: value for name, value in fields.items() if value}
        return {**body, **pick_options(options, BODY_OPTIONS), **self.passthrough}

    def _inference(self, options: JsonObject) -> JsonObject:
        inference = pick_options(options, INFERENCE)
        inference.pop("temperature", None)  # sent where the model takes any
        if isinstance(inference.get("stopSequences"), str):
            inference["stopSequences"] = [inference["stopSequences"]]
        if self._nova_reasons:
            inference.pop("topP", None)
            if as_object(options.get("reasoningConfig")).get("maxReasoningEffort") == "high":
                inference.pop("maxTokens", None)
        return inference

    def _model_fields(self, options: JsonObject) -> JsonObject:
        """What goes to the model as it is, whatever Converse knows of it."""
        fields = pick_options(options, _MODEL_OPTIONS)
        fields |= as_object(options.get("additionalModelRequestFields"))
        top_k = options.get("top_k")
        if top_k is None:
            return fields
        if "amazon.nova" in self._model:
            # https://docs.aws.amazon.com/nova/latest/userguide/using-converse-api.html
            inference = {"topK": top_k, **as_object(fields.get("inferenceConfig"))}
            return {**fields, "inferenceConfig": inference}
        return {"top_k": top_k, **fields}

    def temperature_fields(self, temperature: Any) -> JsonObject:
        """Below ``inferenceConfig``."""
        return {"inferenceConfig": {"temperature": temperature}}

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """Text blocks, else tool calls; blocks of reasoning are not an answer. Raises NoOutput."""
        message = as_object(as_object(response.get("output")).get("message"))
        texts = []
        calls = []
        for block in content_blocks(message.get("content")):
            if isinstance(block.get("text"), str):
                texts.append(block["text"])
            use = block.get("toolUse")
            if isinstance(use, dict):
                calls.append(
                    {"id": use.get("toolUseId"), "name": use.get("name"), "input": use.get("input")}
                )
        finish = self.finish_reason(response.get("stopReason"), calls)
        text = require_text_or_calls(texts, calls, finish)
        return ModelOutput(text, finish, finish == "content_filter", calls)


def _rename_options(config: JsonObject) -> JsonObject:
    """The options under Converse's names, with those of groups; an option under Converse's own name wins."""
    options = {name: value for name, value in config.items() if name not in _GROUPS}
    for name in _GROUPS:
        options = {**as_object(config.get(name)), **options}
    for alias, name in _ALIASES.items():
        value = options.pop(alias, None)
        if value is not None and options.get(name) is None:
            options[name] = value
    return options


def _guardrail(options: JsonObject) -> JsonObject:
    identifier = options.get("guardrailIdentifier")
    if not identifier:
        return {}
    return {
        "guardrailIdentifier": str(identifier),
        "guardrailVersion": str(options.get("guardrailVersion") or "DRAFT"),
        **pick_options(options, ("trace",)),
    }


def _tool_config(options: JsonObject) -> JsonObject:
    """The tools and which of them is to be called, as Converse, OpenAI, Anthropic or promptfoo write it; empty for no tools."""
    tools = objects_in(options.get("tools"))
    choice = options.get("toolChoice") or options.get("tool_choice")
    mode = str(choice or "")
    name: Any = ""
    if isinstance(choice, dict):
        name = (
            as_object(choice.get("tool")).get("name")
            or as_object(choice.get("function")).get("name")
            or choice.get("name")
            or choice.get("toolName")
        )
        mode = str(choice.get("type") or choice.get("mode") or "")
        if not mode and "auto" not in choice and "any" in choice:
            mode = "any"

    if not tools or mode == "none":  # Converse has no word for none
        return {}
    config: dict[str, Any] = {"tools": [_tool_spec(tool) for tool in tools]}
    if name:
        config["toolChoice"] = {"tool": {"name": str(name)}}
    elif choice:
        config["toolChoice"] = {"any": {}} if mode in ("any", "required") else {"auto": {}}
    return config


def _tool_spec(tool: JsonObject) -> JsonObject:
    """A tool as Converse, OpenAI or Anthropic write it."""
    if any(name in tool for name in ("toolSpec", "systemTool", "cachePoint")):
        return tool
    function = as_object(tool.get("function")) or tool
    schema = function.get("parameters") or function.get("input_schema") or _NO_SCHEMA
    spec = pick_options(function, ("name", "description", "strict"))
    return {"toolSpec": {**spec, "inputSchema": {"json": schema}}}


def _blocks(parts: Parts) -> list[JsonObject]:
    return [_block(part) for part in parts]


def _block(part: Part) -> JsonObject:
    match part:
        case Image():
            return {"image": _image(part)}
        case str():
            return {"text": part}
        case ToolCall():
            return {"toolUse": {"toolUseId": part.id, "name": part.name, "input": part.arguments}}
        case ToolResult():
            return {"toolResult": {"toolUseId": part.id, "content": [{"text": part.content}]}}
    image = chat_prompt.image_of(part)  # which may be a data URI in place of the base64 text
    return {**part, "image": {**part["image"], **_image(image)}} if image else part


def _image(image: str) -> JsonObject:
    """The image, whose data or address on S3 is sent. Raises ProviderError for any other address."""
    encoded = parse_data_uri(image)
    address = image.strip()
    if encoded:
        media_type, data = encoded
        kind = media_type.removeprefix("image/")
        source: JsonObject = {"bytes": data}
    elif address.startswith("s3://"):
        kind = address.rpartition(".")[2].lower()
        source = {"s3Location": {"uri": address}}
    else:
        raise ProviderError(
            "Bedrock takes an image as data or from s3://, and reads no other address",
            Trouble.SETUP,
        )
    return {"format": "jpeg" if kind == "jpg" else kind, "source": source}
