"""The Messages shape of Claude, the same at Anthropic, Amazon Bedrock and Google Vertex AI.

API: https://platform.claude.com/docs/en/api/messages, as in the types of the ``anthropic`` package 2.12. Structured
output: ``output_config.format``, else a forced tool
(https://platform.claude.com/docs/en/build-with-claude/structured-outputs).
"""

import re
from collections.abc import Sequence

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
SENT = (
    *SAMPLING,
    *"max_tokens stop_sequences metadata service_tier thinking tools tool_choice output_config speed".split(),
    *"cache_control container inference_geo".split(),
)
OPTIONS = (*SENT, "effort", "output_format", "extra_body", "passthrough")
MAX_TOKENS = 8192  # the API wants a limit; thinking counts towards it
_SAMPLED = re.compile(r"claude-(2|3|instant|(opus|sonnet|haiku)-4(-[0-6])?($|-\d{8}|-latest|@))")
TAKEN = MessageForm(
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
    """Questions to Claude, and its answers; ``model`` tells whether it takes a temperature."""

    finished = ("end_turn", "stop_sequence")
    prompt_counts = (
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    )  # the first leaves out the others
    answer_count = "output_tokens"
    takes_bounds = False
    required_limit = MAX_TOKENS

    def __init__(self, model: str, config: JsonObject) -> None:
        heats = bool(_SAMPLED.search(model)) and not is_thinking(config)
        super().__init__(config, heats=heats, insists=True)

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """A format, else a tool that the model is made to call, whose input has the shape."""
        tool = {"name": TOOL, "description": "Give the verdict.", "input_schema": schema}
        called = {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
        return (
            {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
            "schema",
        ), (called, "tool")

    def build_body(self, request: Request) -> JsonObject:
        """Without the model, which Bedrock and Vertex name in the URL."""
        config = self.config
        system, rest = TAKEN.split_system(request.messages)
        output = {**pick_options(config, ("effort",)), **as_object(config.get("output_config"))}
        if config.get("output_format"):  # its name before it became `output_config.format`
            output["format"] = config["output_format"]
        options = pick_options(config, SENT)
        options.pop("temperature", None)  # sent where the model takes any
        return {
            "messages": [
                {"role": "assistant" if role == "assistant" else "user", "content": _content(parts)}
                for role, parts in rest
            ],
            **({"system": _content(system)} if system else {}),
            **options,
            **{
                name: value
                for name, value in request.options.items()
                if name in SENT and name not in SAMPLING
            },
            **({"output_config": output} if output else {}),
            **as_object(config.get("extra_body")),
            **self.passthrough,
        }

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """Text blocks, else tool calls; blocks of thinking are not an answer. Raises NoOutput."""
        content = content_blocks(response.get("content"))
        texts = [str(block.get("text", "")) for block in content if block.get("type") == "text"]
        calls = [block for block in content if block.get("type") == "tool_use"]
        finish = self.finish_reason(response.get("stop_reason"), calls)
        text = require_text_or_calls(texts, calls, finish)
        refused = finish == "content_filter"
        if refused:
            text = text or str(as_object(response.get("stop_details")).get("explanation") or "")
        own_ids = set(map(id, calls))
        tool_calls = [
            block for block in content if block.get("type") in _HOSTED or id(block) in own_ids
        ]
        return ModelOutput(text, finish, refused, tool_calls)


def _content(parts: Parts) -> str | list[JsonObject]:
    only = parts[0] if len(parts) == 1 else None
    if isinstance(only, str) and not isinstance(only, Image):
        return only
    return [_block(part) for part in parts]


def _block(part: Part) -> JsonObject:
    match part:
        case Image():
            encoded = parse_data_uri(part)
            data = (
                {"type": "base64", "media_type": encoded[0], "data": encoded[1]}
                if encoded
                else {"type": "url", "url": part.strip()}
            )
            return {"type": "image", "source": data}
        case str():
            return {"type": "text", "text": part}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
        case ToolResult():
            return {"type": "tool_result", "tool_use_id": part.id, "content": part.content}
    return part
