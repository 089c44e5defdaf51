"""Providers built as the command builds them, asked over loopback, and replies in the form of each vendor."""

import os
from pathlib import Path
from typing import Any

from gradegate.access.environment import Environment
from gradegate.asking import options
from gradegate.asking.provider import PROVIDERS, Provider, Setting, split_id
from gradegate.configs.dialect import Source
from gradegate.configs.specs import providers
from gradegate.errors import Origin
from gradegate.files.workspace import Workspace
from gradegate.http.client import Client
from gradegate.values.conversation import Message, Reply, Request
from support.fake_llm import FakeLlm, chat

LINE = Origin("promptfooconfig.yaml", 7)
SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "pass": {"type": "boolean"}},
    "required": ["reason", "pass"],
    "additionalProperties": False,
}
PIXEL = "data:image/png;base64,iVBORw0KGgo="
URL = "https://example.com/cat.jpg"


def build(provider_id: str, config: dict[str, Any] | None = None, **env: str) -> Provider:
    """Raises ConfigError, as a run would before any call. ``env`` is the whole environment."""
    source = Source(Path("promptfooconfig.yaml"), {}, Workspace(Path.cwd()), Environment(env))
    spec = providers({"id": provider_id, "config": config or {}}, source, LINE)[0]
    found = split_id(spec.id)
    assert found is not None
    make = PROVIDERS.find(found[0])
    assert make is not None
    options.check(spec, make)
    return make(
        Setting(spec, found[1], Client(retries=0, timeout=10.0, environ=os.environ), Environment(env), lambda reference, origin: b"")
    )


def ask(provider: Provider, *messages: tuple[str, str] | Message, schema=None, options=None, **variables) -> Reply:
    said = messages or (("user", "is it so?"),)
    given = tuple(m if isinstance(m, Message) else Message(*m) for m in said)
    return provider.complete(Request(given, schema, options or {}, given[-1].content, variables))


def headers(llm: FakeLlm) -> dict[str, str]:
    """Those of the last request, names in lower case."""
    return {name.lower(): value for name, value in llm.requests[-1][2].items()}


def path(llm: FakeLlm) -> str:
    return llm.requests[-1][0]


def refusing(*keys: str, status: int = 400, answer: Any = None):
    """A server that answers unless the body holds one of the keys, however deep."""

    def reply(path: str, body: dict) -> Any:
        for key in keys:
            if f"'{key}'" in str(body):
                return status, {"error": {"message": f"Unknown parameter: '{key}'.", "type": "invalid_request_error"}}
        return answer

    return reply


# --- replies --------------------------------------------------------------------------------------------------

CHAT = {**chat("It is so."), "id": "chatcmpl-1", "created": 1, "model": "gpt-4o-mini-2024-07-18"}


def responses(*output: dict, **more) -> dict:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-5-mini-2025-08-07",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 50,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 4},
            "total_tokens": 60,
        },
        **more,
    }


def said(*parts: dict) -> dict:
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": list(parts)}


def output_text(text: str) -> dict:
    return {"type": "output_text", "text": text, "annotations": []}


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "FAIL it"}]}


def embeddings(*rows: list[float], order: tuple[int, ...] | None = None) -> dict:
    places = order or tuple(range(len(rows)))
    data = [{"object": "embedding", "index": place, "embedding": rows[place]} for place in places]
    return {"object": "list", "data": data, "model": "text-embedding-3-small", "usage": {"prompt_tokens": 8, "total_tokens": 8}}


def claude(*content: dict, stop_reason: str = "end_turn", **more) -> dict:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 50, "output_tokens": 10},
        **more,
    }


def gemini(*parts: dict, finish: str = "STOP", **more) -> dict:
    return {
        "candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": finish, "index": 0}],
        "usageMetadata": {"promptTokenCount": 50, "candidatesTokenCount": 7, "thoughtsTokenCount": 3},
        "modelVersion": "gemini-2.5-flash",
        **more,
    }


def converse(*content: dict, stop: str = "end_turn", **more) -> dict:
    return {
        "metrics": {"latencyMs": 5},
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": stop,
        "usage": {"inputTokens": 50, "outputTokens": 10, "totalTokens": 60},
        **more,
    }


def ollama(content: str, done_reason: str = "stop", **message) -> dict:
    return {
        "model": "llama3.2",
        "created_at": "2026-11-01T00:00:00Z",
        "message": {"role": "assistant", "content": content, **message},
        "done": True,
        "done_reason": done_reason,
        "prompt_eval_count": 50,
        "eval_count": 10,
    }
