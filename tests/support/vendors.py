"""Providers built as the command builds them, asked over loopback, and replies in the form of each vendor."""

import os
from pathlib import Path
from typing import Any

from gradegate.config.dialect import Source
from gradegate.config.providers import read_providers
from gradegate.core.conversation import Message, Reply, Request
from gradegate.errors import Origin
from gradegate.files.workspace import Workspace
from gradegate.http.client import Client
from gradegate.providers.api import options
from gradegate.providers.api.provider import PROVIDERS, Provider, ProviderSetup, split_id
from gradegate.security.environment import Environment
from support.each import table
from support.fake_llm import FakeLlm, chat

LINE = Origin("promptfooconfig.yaml", 7)
SCHEMA = table(__file__, "schema")
PIXEL = "data:image/png;base64,iVBORw0KGgo="
URL = "https://example.com/cat.jpg"


def build(provider_id: str, config: dict[str, Any] | None = None, **env: str) -> Provider:
    """Raises ConfigError, as a run would before any call. ``env`` is the whole environment."""
    source = Source(Path("promptfooconfig.yaml"), {}, Workspace(Path.cwd()), Environment(env))
    spec = read_providers({"id": provider_id, "config": config or {}}, source, LINE)[0]
    found = split_id(spec.id)
    assert found is not None
    make = PROVIDERS.find(found[0])
    assert make is not None
    options.check_options(spec, make)
    return make(
        ProviderSetup(spec, found[1], Client(retries=0, timeout=10.0, environ=os.environ), Environment(env), lambda reference, origin: b"")
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


# --- replies: the members that say nothing new are in vendors.yaml --------------------------------------------

CHAT = {**chat("It is so."), "id": "chatcmpl-1", "created": 1, "model": "gpt-4o-mini-2024-07-18"}
THOUGHT = table(__file__, "thought")


def responses(*output: dict, **more) -> dict:
    return {**table(__file__, "responses"), "output": list(output), **more}


def make_message(*parts: dict) -> dict:
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": list(parts)}


def output_text(text: str) -> dict:
    return {"type": "output_text", "text": text, "annotations": []}


def embeddings(*rows: list[float], order: tuple[int, ...] | None = None) -> dict:
    places = order or tuple(range(len(rows)))
    data = [{"object": "embedding", "index": place, "embedding": rows[place]} for place in places]
    return {"object": "list", "data": data, "model": "text-embedding-3-small", "usage": {"prompt_tokens": 8, "total_tokens": 8}}


def claude(*content: dict, stop_reason: str = "end_turn", **more) -> dict:
    return {**table(__file__, "claude"), "content": list(content), "stop_reason": stop_reason, **more}


def gemini(*parts: dict, finish: str = "STOP", **more) -> dict:
    answered = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish, "index": 0}
    return {**table(__file__, "gemini"), "candidates": [answered], **more}


def converse(*content: dict, stop: str = "end_turn", **more) -> dict:
    said = {"message": {"role": "assistant", "content": list(content)}}
    return {**table(__file__, "converse"), "output": said, "stopReason": stop, **more}


def ollama(content: str, done_reason: str = "stop", **message) -> dict:
    return {**table(__file__, "ollama"), "message": {"role": "assistant", "content": content, **message}, "done_reason": done_reason}


def build_body(written: Any) -> Any:
    """A body as a table has it: as it is written, `{status: 400, body: {}}`, or `{claude: [its arguments], more: keys}`."""
    builders = {
        "chat": chat,
        "claude": claude,
        "gemini": gemini,
        "responses": responses,
        "converse": converse,
        "ollama": ollama,
        "said": make_message,
    }
    builders["output_text"] = output_text
    if isinstance(written, dict) and written.keys() == {"status", "body"}:
        return written["status"], written["body"]
    if not isinstance(written, dict) or not written.keys() & builders.keys():
        return written
    name, *_ = written
    return builders[name](*map(build_body, written[name]), **{key: value for key, value in written.items() if key != name})
