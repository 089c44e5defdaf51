"""The Messages API of Claude, the same at Anthropic, Amazon Bedrock and Google Vertex AI.

API: https://platform.claude.com/docs/en/api/messages, as in the types of the ``anthropic`` package 2.12. Structured
output: ``output_config.format``, else a forced tool
(https://platform.claude.com/docs/en/build-with-claude/structured-outputs).
"""

import re
from collections.abc import Sequence
from typing import Any

from gradegate.core.conversation import Image, Request
from gradegate.providers.api.chat_api import (
    TOOL,
    ChatApi,
    Form,
    ModelOutput,
    as_object,
    content_blocks,
    is_thinking,
    parse_data_uri,
    pick_options,
    require_text_or_calls,
)
from gradegate.providers.api.content import MessageForm, Part, Parts, ToolCall, ToolResult
from gradegate.structs import JsonObject

SAMPLING = ("temperature", "top_p", "top_k")
_NOT_SAMPLING = (
    *"max_tokens stop_sequences metadata service_tier thinking tools tool_choice output_config speed".split(),
    *"cache_control container inference_geo".split(),
)
SENT = (*SAMPLING, *_NOT_SAMPLING)  # options that go into the request as they are
OPTIONS = (*SENT, "effort", "output_format", "extra_body", "passthrough")
MAX_TOKENS = 8192  # the API wants a limit; thinking counts towards it
# The models that take a temperature
_SAMPLED = re.compile(r"claude-(2|3|instant|(opus|sonnet|haiku)-4(-[0-6])?($|-\d{8}|-latest|@))")
MESSAGE_FORM = MessageForm(
    "Claude",
    (
        *"text image document search_result thinking redacted_thinking tool_use tool_result server_tool_use".split(),
        *"web_search_tool_result web_fetch_tool_result code_execution_tool_result bash_code_execution_tool_result".split(),
        *"text_editor_code_execution_tool_result tool_search_tool_result container_upload".split(),
    ),
    ("text",),
)
_HOSTED = ("server_tool_use", "mcp_tool_use")  # blocks of calls that the vendor answered itself


class Messages(ChatApi):
    """Requests to Claude and its answers; ``model`` tells whether it takes a temperature."""

    finish_words = ("end_turn", "stop_sequence")
    # The first leaves out the others
    prompt_counts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    answer_count = "output_tokens"
    takes_bounds = False
    required_limit = MAX_TOKENS

    def __init__(self, model: str, config: JsonObject) -> None:
        is_sampled = bool(_SAMPLED.search(model)) and not is_thinking(config)
        super().__init__(config, takes_temperature=is_sampled, insists=True)

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """A format, else a tool that the model is made to call, whose input has the schema."""
        output_format = {"format": {"type": "json_schema", "schema": schema}}
        tool = {"name": TOOL, "description": "Give the verdict.", "input_schema": schema}
        forced_tool = {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
        return ({"output_config": output_format}, "schema"), (forced_tool, "tool")

    def build_body(self, request: Request) -> JsonObject:
        """Without the model, which Bedrock and Vertex name in the URL."""
        config = self.config
        system, conversation = MESSAGE_FORM.split_system(request.messages)
        messages = [{"role": role, "content": _content(parts)} for role, parts in conversation]
        body: dict[str, Any] = {"messages": messages}
        if system:
            body["system"] = _content(system)

        options = pick_options(config, SENT)
        options.pop("temperature", None)  # sent where the model takes any
        body |= options
        body |= {name: request.options[name] for name in _NOT_SAMPLING if name in request.options}

        output_config = pick_options(config, ("effort",))
        output_config |= as_object(config.get("output_config"))
        if config.get("output_format"):  # its name before it became `output_config.format`
            output_config["format"] = config["output_format"]
        if output_config:
            body["output_config"] = output_config
        return {**body, **as_object(config.get("extra_body")), **self.passthrough}

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """Text blocks, else tool calls; blocks of thinking are not an answer. Raises NoOutput."""
        texts = []
        calls = []
        all_calls = []  # with those that the vendor answered itself
        for block in content_blocks(response.get("content")):
            kind = block.get("type")
            if kind == "text":
                texts.append(str(block.get("text", "")))
            elif kind == "tool_use":
                calls.append(block)
            if kind == "tool_use" or kind in _HOSTED:
                all_calls.append(block)

        finish = self.finish_reason(response.get("stop_reason"), calls)
        text = require_text_or_calls(texts, calls, finish)
        refused = finish == "content_filter"
        if refused and not text:
            text = str(as_object(response.get("stop_details")).get("explanation") or "")
        return ModelOutput(text, finish, refused, all_calls)


def _content(parts: Parts) -> str | list[JsonObject]:
    if len(parts) == 1 and isinstance(parts[0], str) and not isinstance(parts[0], Image):
        return parts[0]
    return [_block(part) for part in parts]


def _block(part: Part) -> JsonObject:
    match part:
        case Image():
            encoded = parse_data_uri(part)
            source = {"type": "url", "url": part.strip()}
            if encoded:
                source = {"type": "base64", "media_type": encoded[0], "data": encoded[1]}
            return {"type": "image", "source": source}
        case str():
            return {"type": "text", "text": part}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
        case ToolResult():
            return {"type": "tool_result", "tool_use_id": part.id, "content": part.content}
    return part
