"""llama: the server of llama.cpp, asked by its own API for text; it costs nothing.

API: https://github.com/ggml-org/llama.cpp/tree/master/tools/server (``/completion``). The id, the options and the 512 tokens at most
are those of promptfoo (https://www.promptfoo.dev/docs/providers/llama.cpp/).
"""

from gradegate.core.conversation import Reply, Request
from gradegate.core.usage import Usage
from gradegate.providers.api.chat_api import is_count, pick_options
from gradegate.providers.api.json_http import (
    HttpModel,
    base_url,
    need_text,
    read_key,
    request_text,
    token_count,
)
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup
from gradegate.security.vendors import Vendor
from gradegate.structs import JsonObject

TOKENS = 512
SENT = tuple(
    "n_predict temperature top_k top_p n_keep stop repeat_penalty repeat_last_n penalize_nl presence_penalty frequency_penalty "
    "mirostat mirostat_tau mirostat_eta seed ignore_eos logit_bias".split()
)


@PROVIDERS.register("llama")
class Llama(HttpModel):
    """The model that the server has, at ``{base}/completion``."""

    options = (*SENT, "apiBaseUrl", "apiKey", "apiKeyEnvar", "headers")
    vendor = Vendor(addresses=("LLAMA_BASE_URL",), requests=("POST /completion",))
    rates = (0.0, 0.0)
    limit_option = "n_predict"

    def __init__(self, setup: ProviderSetup) -> None:
        base = setup.config.get("apiBaseUrl") or setup.env.read("LLAMA_BASE_URL")
        url = f"{base_url(setup, base or 'http://localhost:8080')}/completion"
        super().__init__(setup, url, read_key(setup, needed=False), setup.model)

    @property
    def reply_tokens(self) -> int | None:  # type: ignore[override]
        """As the config says; None if it says that there is no limit."""
        limit = self._config.get("n_predict") or TOKENS
        return limit if is_count(limit) else None

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        body = {
            "prompt": request_text(request),
            "n_predict": TOKENS,
            "temperature": 0,
            **pick_options({**self._config, **request.options}, SENT),
        }
        if request.max_tokens:
            body["n_predict"] = request.max_tokens
        answer, seconds = self._post_object(body)

        text = need_text(answer.get("content"), self.host)
        usage = Usage(
            1,
            token_count(answer.get("tokens_evaluated")),
            token_count(answer.get("tokens_predicted")),
            seconds=seconds,
        )
        return Reply(text, usage, _finish_reason(answer))


def _finish_reason(answer: JsonObject) -> str:
    is_cut = answer.get("stopped_limit") is True or answer.get("truncated") is True
    if is_cut or answer.get("stop_type") == "limit":
        return "length"
    return "unfinished" if answer.get("stop") is False else "stop"
