"""The Converse API of Amazon Bedrock: one shape for the models of all vendors there.

API: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, as in the service model of ``botocore`` 1.44. The
names that promptfoo takes for its options, model by model, are translated to those of ``inferenceConfig``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
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
from gradegate.providers.api.content import MessageForm, Part, ToolCall, ToolResult
from gradegate.structs import JsonObject
from gradegate.templating import chat_prompt

INFERENCE = ("maxTokens", "temperature", "topP", "stopSequences")
_ALIASES = {
    **dict.fromkeys(
        "max_tokens max_new_tokens max_gen_len maxTokenCount max_completion_tokens".split(),
        "maxTokens",
    ),
    **dict.fromkeys("max_tokens_to_sample maxOutputTokens".split(), "maxTokens"),
    "top_p": "topP",
    "stop": "stopSequences",
    "stop_sequences": "stopSequences",
    "topK": "top_k",
}
# Of Converse, and of single vendors' models
_GROUPS = ("inferenceConfig", "interfaceConfig", "textGenerationConfig")
BESIDE = (
    "additionalModelResponseFieldPaths", "guardrailConfig", "outputConfig", "performanceConfig", "requestMetadata",
    "serviceTier", "toolConfig",
)  # fmt: skip
# What single vendors' models take
_MODELS = ("thinking", "reasoningConfig", "reasoning_effort", "anthropic_beta")
_GUARDRAIL = ("guardrailIdentifier", "guardrailVersion", "trace")
OPTIONS = (
    *INFERENCE, *_ALIASES, "top_k", *_GROUPS, *BESIDE, *_MODELS, *_GUARDRAIL,
    "additionalModelRequestFields", "tools", "toolChoice", "tool_choice", "passthrough",
)  # fmt: skip
_OWN = "text image document video audio toolUse toolResult guardContent cachePoint reasoningContent citationsContent searchResult".split()
_TAKEN = MessageForm(
    "Bedrock's Converse", (*_OWN,), ("text", "guardContent", "cachePoint"), typed=False
)


class Converse(ChatApi):
    """Questions to any model of Bedrock, and its answers; the URL names the ``model``."""

    finished = ("end_turn", "stop_sequence")
    prompt_counts = (
        "inputTokens",
        "cacheReadInputTokens",
        "cacheWriteInputTokens",
    )  # the first leaves out the others
    answer_count = "outputTokens"
    takes_bounds = False

    def __init__(self, model: str, config: JsonObject) -> None:
        self._model = model
        flat = _flat(config)
        # Nova takes no temperature then
        reasons = as_object(config.get("reasoningConfig")).get("type") == "enabled"
        insists = is_thinking(config)
        super().__init__(flat, heats=not reasons and not insists, insists=insists)
        self._nova_reasons = reasons
        effort = as_object(flat.get("reasoningConfig")).get("maxReasoningEffort")
        # Nova takes no limit with its highest effort.
        self.limit_places = (
            () if reasons and effort == "high" else (("inferenceConfig", "maxTokens"),)
        )

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """A format, else a tool that the model is made to call, whose input has the shape."""
        structure = {"jsonSchema": {"name": "verdict", "schema": json.dumps(schema)}}
        spec = {"name": TOOL, "description": "Give the verdict.", "inputSchema": {"json": schema}}
        called = {"tools": [{"toolSpec": spec}], "toolChoice": {"tool": {"name": TOOL}}}
        return (
            (
                {"outputConfig": {"textFormat": {"type": "json_schema", "structure": structure}}},
                "schema",
            ),
            ({"toolConfig": called}, "tool"),
        )

    def build_body(self, request: Request) -> JsonObject:
        """Without the temperature. Raises ProviderError for an image that is only named."""
        system, rest = _TAKEN.split_system(request.messages)
        options = {**self.config, **_flat(request.options)}
        inference = pick_options(options, INFERENCE)
        inference.pop("temperature", None)  # sent where the model takes any
        if isinstance(inference.get("stopSequences"), str):
            inference["stopSequences"] = [inference["stopSequences"]]
        if self._nova_reasons:
            high = as_object(options.get("reasoningConfig")).get("maxReasoningEffort") == "high"
            inference = {
                name: inference[name]
                for name in inference
                if name != "topP" and not (high and name == "maxTokens")
            }
        # What goes to the model as it is, whatever Converse knows of it.
        more = {
            **pick_options(options, _MODELS),
            **as_object(options.get("additionalModelRequestFields")),
        }
        if options.get("top_k") is not None and "amazon.nova" in self._model:
            # https://docs.aws.amazon.com/nova/latest/userguide/using-converse-api.html
            more["inferenceConfig"] = {
                "topK": options["top_k"],
                **as_object(more.get("inferenceConfig")),
            }
        elif options.get("top_k") is not None:
            more = {"top_k": options["top_k"], **more}
        named = options.get("guardrailIdentifier")
        version = options.get("guardrailVersion") or "DRAFT"
        guardrail = {
            "guardrailIdentifier": str(named),
            "guardrailVersion": str(version),
            **pick_options(options, ("trace",)),
        }
        return {
            "messages": [
                {
                    "role": "assistant" if role == "assistant" else "user",
                    "content": [_block(part) for part in parts],
                }
                for role, parts in rest
            ],
            **({"system": [_block(part) for part in system]} if system else {}),
            **({"inferenceConfig": inference} if inference else {}),
            **({"additionalModelRequestFields": more} if more else {}),
            **dict(_tools(options)),
            **({"guardrailConfig": guardrail} if named else {}),
            **pick_options(options, BESIDE),
            **self.passthrough,
        }

    def temperature_fields(self, heat: JsonObject) -> JsonObject:
        """Below ``inferenceConfig``."""
        return {"inferenceConfig": heat} if heat else {}

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """Text blocks, else tool calls; blocks of reasoning are not an answer. Raises NoOutput."""
        content = content_blocks(
            as_object(as_object(response.get("output")).get("message")).get("content")
        )
        texts = [block["text"] for block in content if isinstance(block.get("text"), str)]
        used = [block["toolUse"] for block in content if isinstance(block.get("toolUse"), Mapping)]
        calls = [
            {"id": use.get("toolUseId"), "name": use.get("name"), "input": use.get("input")}
            for use in used
        ]
        finish = self.finish_reason(response.get("stopReason"), calls)
        return ModelOutput(
            require_text_or_calls(texts, calls, finish), finish, finish == "content_filter", calls
        )


def _flat(config: JsonObject) -> JsonObject:
    """The options under Converse's names, those of groups beside the others; what has Converse's own name wins."""
    groups = [config[name] for name in _GROUPS if isinstance(config.get(name), Mapping)]
    flat: dict[str, Any] = {}
    for part in ({name: value for name, value in config.items() if name not in _GROUPS}, *groups):
        flat = {**part, **flat}
    for alias, name in _ALIASES.items():
        value = flat.pop(alias, None)
        if value is not None and flat.get(name) is None:
            flat[name] = value
    return flat


def _tools(options: JsonObject) -> Iterator[tuple[str, Any]]:
    tools = objects_in(options.get("tools"))
    choice = options.get("toolChoice") or options.get("tool_choice")
    # Whether a tool is to be called, and which, as Converse, OpenAI, Anthropic or promptfoo write it.
    word = str(choice or "")
    name = ""
    if isinstance(choice, Mapping):
        inside = [as_object(choice.get(key)).get("name") for key in ("tool", "function")]
        name = str(next(filter(None, (*inside, choice.get("name"), choice.get("toolName"))), ""))
        word = str(
            choice.get("type")
            or choice.get("mode")
            or next((word for word in ("auto", "any") if word in choice), "")
        )
    if not tools or word == "none":  # Converse has no word for none
        return
    chosen = (
        {"tool": {"name": name}}
        if name
        else {"any": {}}
        if word in ("any", "required")
        else {"auto": {}}
    )
    yield (
        "toolConfig",
        {"tools": [_spec(tool) for tool in tools], **({"toolChoice": chosen} if choice else {})},
    )


def _spec(tool: JsonObject) -> JsonObject:
    """A tool as Converse, OpenAI or Anthropic write it."""
    if any(name in tool for name in ("toolSpec", "systemTool", "cachePoint")):
        return tool
    function = as_object(tool.get("function")) or tool
    schema = (
        function.get("parameters")
        or function.get("input_schema")
        or {"type": "object", "properties": {}}
    )
    return {
        "toolSpec": {
            **pick_options(function, ("name", "description", "strict")),
            "inputSchema": {"json": schema},
        }
    }


def _block(part: Part) -> JsonObject:
    match part:
        case Image():
            return _image(part)
        case str():
            return {"text": part}
        case ToolCall():
            return {"toolUse": {"toolUseId": part.id, "name": part.name, "input": part.arguments}}
        case ToolResult():
            return {"toolResult": {"toolUseId": part.id, "content": [{"text": part.content}]}}
    encoded = chat_prompt.image_of(part)  # which may be a data URI in place of the base64 text
    return {**part, "image": {**part["image"], **_image(encoded)["image"]}} if encoded else part


def _image(image: str) -> JsonObject:
    encoded = parse_data_uri(image)
    address = image.strip()
    if not encoded and not address.startswith("s3://"):
        raise ProviderError(
            "Bedrock takes an image as data or from s3://, and reads no other address",
            Trouble.SETUP,
        )
    kind = encoded[0].removeprefix("image/") if encoded else address.rpartition(".")[2].lower()
    source = {"bytes": encoded[1]} if encoded else {"s3Location": {"uri": address}}
    return {"image": {"format": "jpeg" if kind == "jpg" else kind, "source": source}}
