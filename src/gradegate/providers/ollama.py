"""ollama: models of an Ollama server, which cost nothing.

API: https://github.com/ollama/ollama/blob/main/docs/api.md (``/api/chat``, ``/api/embed``), as in the types of the
``ollama`` package 0.6: ``format`` takes a JSON Schema, ``thinking`` is beside ``content``.
"""

from collections.abc import Sequence
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
from gradegate.providers.api.content import MessageForm, Parts, ToolCall, ToolResult
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
_MESSAGE_FORM = MessageForm("Ollama", results_by_name=True)
BODY_OPTIONS = ("format", "keep_alive", "think", "tools")
ACCESS = ("model", "apiKey", "apiKeyEnvar", "apiBaseUrl", "headers", "passthrough", "options")


class OllamaChat(ChatApi):
    """Requests in the form of ``/api/chat`` and its answers."""

    limit_places = (("options", "num_predict"),)

    def __init__(self, model: str, config: JsonObject) -> None:
        self._model = model
        super().__init__(config, takes_temperature=False)
        self.is_reasoning = bool(config.get("think"))

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """The schema itself."""
        return (({"format": schema}, "schema"),)

    def build_body(self, request: Request) -> JsonObject:
        """The whole body, with the model. Raises ProviderError for an image that is only named."""
        config = self.config
        messages: list[JsonObject] = []
        for role, parts in _MESSAGE_FORM.read_messages(request.messages):
            messages += _messages(role, parts)

        options = pick_options(config, OPTIONS)
        if config.get("max_tokens") is not None:
            options.setdefault("num_predict", config["max_tokens"])
        options = {
            "temperature": 0,
            **as_object(config.get("options")),
            **options,
            **request.options,
        }
        return {
            "model": self._model,
            "messages": messages,
            "stream": False,
            "options": options,
            **pick_options(config, BODY_OPTIONS),
            **self.passthrough,
        }

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """The message; one that is not done is unfinished whatever its reason says. Raises NoOutput."""
        message = response.get("message")
        if not isinstance(message, dict):
            raise NoOutput("without a message")
        calls = message.get("tool_calls")
        text = str(message.get("content") or "")
        if calls and not text:
            text = json_text(calls)
        finish = "unfinished"
        done = response.get("done")
        if done is True or done is None:
            finish = self.finish_reason(response.get("done_reason"), calls)
        return ModelOutput(text, finish, False, objects_in(calls))

    def count_tokens(self, response: JsonObject) -> tuple[Any, Any]:
        """As the server counts them."""
        return response.get("prompt_eval_count"), response.get("eval_count")


@PROVIDERS.register("ollama", "ollama:chat", "ollama:completion")
class Ollama(ChatModel):
    """A chat model at ``{base}/api/chat``."""

    options = (*OPTIONS, *BODY_OPTIONS, *ACCESS, "max_tokens", "structured")
    bounded = False
    vendor = _VENDOR
    rates = (0.0, 0.0)  # nobody charges for it

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "ollama:chat:MODEL", EMBEDDING)
        super().__init__(setup, OllamaChat(model, setup.config), *_access(setup, "chat"), model)

    def _usage(self, response: JsonObject, seconds: float) -> Usage:
        prompt_tokens, answer_tokens = self._api.count_tokens(response)
        return Usage(1, token_count(prompt_tokens), token_count(answer_tokens), seconds=seconds)


@PROVIDERS.register("ollama:embeddings", "ollama:embedding")
class OllamaEmbeddings(EmbeddingModel):
    """An embedding model at ``{base}/api/embed``."""

    sent = ("keep_alive", "truncate", "dimensions")
    options = (*OPTIONS, *ACCESS, *sent)
    vendor = _VENDOR
    rates = Ollama.rates

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "ollama:embeddings:MODEL")
        super().__init__(setup, *_access(setup, "embed"), model)

    def _build_body(self, texts: Sequence[str]) -> JsonObject:
        options = {**as_object(self._config.get("options")), **pick_options(self._config, OPTIONS)}
        body = super()._build_body(texts)
        return {"options": options, **body} if options else body

    def _parse_response(self, response: JsonObject, texts: int) -> tuple[list[Any], Any]:
        return expect_rows(response.get("embeddings"), self.host, texts), response.get(
            "prompt_eval_count"
        )

    def _usage(self, tokens: Any, response: JsonObject, seconds: float) -> Usage:
        return Usage(1, token_count(tokens), seconds=seconds)


def _access(setup: ProviderSetup, task: str) -> tuple[str, Credential]:
    """The address of a task, and the key. Raises ConfigError."""
    base = setup.config.get("apiBaseUrl") or setup.env.read("OLLAMA_BASE_URL")
    url = base_url(setup, base or "http://localhost:11434")
    # A server of one's own asks for no key
    return f"{url}/api/{task}", read_key(setup, "OLLAMA_API_KEY", needed=False)


def _messages(role: str, parts: Parts) -> list[JsonObject]:
    """A message, or one for each result of a tool. Raises ProviderError for an image that is only named."""
    texts = []
    images = []
    calls = []
    results: list[JsonObject] = []
    for part in parts:
        if isinstance(part, Image):
            encoded = parse_data_uri(part)
            if encoded is None:
                raise ProviderError("Ollama takes images as data, not as a URL", Trouble.SETUP)
            images.append(encoded[1])
        elif isinstance(part, str):
            texts.append(part)
        elif isinstance(part, ToolCall):
            calls.append({"function": {"name": part.name, "arguments": part.arguments}})
        elif isinstance(part, ToolResult):
            results.append({"role": "tool", "content": part.content, "tool_name": part.name})
    if results:
        return results

    message: dict[str, Any] = {
        "role": "system" if role == "developer" else role,
        "content": "\n".join(texts),
    }
    if images:
        message["images"] = images
    if calls:
        message["tool_calls"] = calls
    return [message]
