"""ollama: models of an Ollama server, which cost nothing.

API: https://github.com/ollama/ollama/blob/main/docs/api.md (``/api/chat``, ``/api/embed``), as in the types of the
``ollama`` package 0.6: ``format`` takes a JSON Schema, ``thinking`` is beside ``content``.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gradegate.core.conversation import Image, Request
from gradegate.core.usage import Usage
from gradegate.errors import ProviderError, Trouble
from gradegate.http.credentials import Credential
from gradegate.providers.api.chat_api import (
    ChatApi,
    Form,
    ModelOutput,
    NoOutput,
    as_object,
    json_text,
    objects_in,
    parse_data_uri,
    pick_options,
)
from gradegate.providers.api.chat_model import EMBEDDING, ChatModel, EmbeddingModel
from gradegate.providers.api.content import MessageForm, Parts, ToolCall, ToolResult, is_text
from gradegate.providers.api.json_http import (
    base_url,
    expect_rows,
    need_model,
    read_key,
    token_count,
)
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup
from gradegate.security.vendors import Vendor
from gradegate.structs import JsonObject

_VENDOR = Vendor(
    ("OLLAMA_API_KEY",),
    ("ollama.com",),
    ("OLLAMA_BASE_URL",),
    requests=(
        "POST /api/chat",
        "POST /api/embed",
        "POST /v1/chat/completions",
        "POST /v1/embeddings",
    ),
)
# Members of `options`, and what goes beside it.
OPTIONS = tuple(
    "num_predict num_keep seed top_k top_p min_p tfs_z typical_p repeat_last_n temperature repeat_penalty "
    "presence_penalty frequency_penalty mirostat mirostat_tau mirostat_eta penalize_newline stop num_ctx num_batch "
    "num_gpu main_gpu low_vram f16_kv logits_all vocab_only use_mmap use_mlock embedding_only num_thread numa".split()
)
_TAKEN = MessageForm("Ollama", results_by_name=True)
BESIDE = ("format", "keep_alive", "think", "tools")
ACCESS = ("model", "apiKey", "apiKeyEnvar", "apiBaseUrl", "headers", "passthrough", "options")


class OllamaChat(ChatApi):
    """Questions in the form of ``/api/chat``, and its answers."""

    limit_places = (("options", "num_predict"),)

    def __init__(self, model: str, config: JsonObject) -> None:
        self._model = model
        super().__init__(config, takes_temperature=False)
        self.is_reasoning = bool(config.get("think"))

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """The schema itself."""
        return (({"format": schema}, "schema"),)

    def build_body(self, request: Request) -> JsonObject:
        """The whole body, with the model. Raises ProviderError for an image that is not at hand."""
        options = pick_options(self.config, OPTIONS)
        if self.config.get("max_tokens") is not None:
            options.setdefault("num_predict", self.config["max_tokens"])
        return {
            "model": self._model,
            "messages": [
                message
                for role, parts in _TAKEN.read_messages(request.messages)
                for message in _messages(role, parts)
            ],
            "stream": False,
            "options": {
                "temperature": 0,
                **as_object(self.config.get("options")),
                **options,
                **request.options,
            },
            **pick_options(self.config, BESIDE),
            **self.passthrough,
        }

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """The message; one that is not done is unfinished whatever its reason says. Raises NoOutput."""
        message = response.get("message")
        if not isinstance(message, dict):
            raise NoOutput("without a message")
        text = str(message.get("content") or "")
        called = message.get("tool_calls")
        if called and not text:
            text = json_text(called)
        done = response.get("done")
        finish = (
            self.finish_reason(response.get("done_reason"), called)
            if done is True or done is None
            else "unfinished"
        )
        return ModelOutput(text, finish, False, objects_in(called))

    def count_tokens(self, response: JsonObject) -> tuple[Any, Any]:
        """As the server counts them."""
        return response.get("prompt_eval_count"), response.get("eval_count")


@PROVIDERS.register("ollama", "ollama:chat", "ollama:completion")
class Ollama(ChatModel):
    """A chat model at ``{base}/api/chat``."""

    options = (*OPTIONS, *BESIDE, *ACCESS, "max_tokens", "structured")
    bounded = False
    vendor = _VENDOR
    rates = (0.0, 0.0)  # nobody charges for it

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "ollama:chat:MODEL", EMBEDDING)
        super().__init__(setup, OllamaChat(model, setup.config), *_place(setup, "chat"), model)

    def _usage(self, response: JsonObject, seconds: float) -> Usage:
        read, wrote = self._api.count_tokens(response)
        return Usage(1, token_count(read), token_count(wrote), seconds=seconds)


@PROVIDERS.register("ollama:embeddings", "ollama:embedding")
class OllamaEmbeddings(EmbeddingModel):
    """An embedding model at ``{base}/api/embed``."""

    sent = ("keep_alive", "truncate", "dimensions")
    options = (*OPTIONS, *ACCESS, *sent)
    vendor = _VENDOR
    rates = Ollama.rates

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "ollama:embeddings:MODEL")
        super().__init__(setup, *_place(setup, "embed"), model)

    def _build_body(self, texts: Sequence[str]) -> JsonObject:
        options = {**as_object(self._config.get("options")), **pick_options(self._config, OPTIONS)}
        return {**({"options": options} if options else {}), **super()._build_body(texts)}

    def _parse_response(self, response: JsonObject, texts: int) -> tuple[list[Any], Any]:
        return expect_rows(response.get("embeddings"), self.host, texts), response.get(
            "prompt_eval_count"
        )

    def _usage(self, tokens: Any, response: JsonObject, seconds: float) -> Usage:
        return Usage(1, token_count(tokens), seconds=seconds)


def _place(setup: ProviderSetup, task: str) -> tuple[str, Credential]:
    config = setup.config
    base = base_url(
        setup,
        config.get("apiBaseUrl") or setup.env.get("OLLAMA_BASE_URL") or "http://localhost:11434",
    )
    # A server of one's own asks for no key
    return f"{base}/api/{task}", read_key(setup, "OLLAMA_API_KEY", needed=False)


def _messages(role: str, parts: Parts) -> Iterator[JsonObject]:
    """A message, or one for each result of a tool."""
    encoded = [parse_data_uri(part) for part in parts if isinstance(part, Image)]
    if None in encoded:
        raise ProviderError("Ollama takes images as data, not as a URL", Trouble.SETUP)
    results = [part for part in parts if isinstance(part, ToolResult)]
    yield from (
        {"role": "tool", "content": result.content, "tool_name": result.name} for result in results
    )
    if not results:
        texts = [str(part) for part in parts if is_text(part)]
        calls = [
            {"function": {"name": part.name, "arguments": part.arguments}}
            for part in parts
            if isinstance(part, ToolCall)
        ]
        yield {
            "role": "system" if role == "developer" else role,
            "content": "\n".join(texts),
            **({"images": [image[1] for image in encoded if image]} if encoded else {}),
            **({"tool_calls": calls} if calls else {}),
        }
