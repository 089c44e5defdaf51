"""acme: chat models of Acme.

API: https://api.acme.example/reference.
"""

from typing import Any

from gradegate.core.conversation import Request
from gradegate.providers.api.chat_api import (
    ChatApi,
    JsonObject,
    ModelOutput,
    NoOutput,
    pick_options,
)
from gradegate.providers.api.chat_model import CHAT, ChatModel
from gradegate.providers.api.json_http import ACCESS, base_url, need_model, read_key
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup

SENT = ("max_tokens", "seed")


class Generate(ChatApi):
    """Questions to Acme, and its answers."""

    def __init__(self, model: str, config: JsonObject) -> None:
        super().__init__(config)
        self._model = model

    def build_body(self, request: Request) -> dict[str, Any]:
        """The whole body but the temperature."""
        messages = [
            {"role": message.role, "content": message.content} for message in request.messages
        ]
        return {
            "model": self._model,
            "messages": messages,
            **pick_options({**self.config, **request.options}, SENT),
        }

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """Raises NoOutput."""
        if not isinstance(response.get("text"), str):
            raise NoOutput("without a text")
        return ModelOutput(response["text"], "length" if response.get("cut") else "stop")

    def count_tokens(self, response: JsonObject) -> tuple[Any, Any]:
        """As Acme counts them."""
        return response.get("tokens_in"), response.get("tokens_out")


@PROVIDERS.register("acme")
class Acme(ChatModel):
    """A chat model at ``{base}/generate``."""

    options = ("temperature", *SENT, *ACCESS, *CHAT)
    takes_images = False

    def __init__(self, setup: ProviderSetup) -> None:
        config = setup.spec.config
        model = need_model(setup, "acme:MODEL")
        base = base_url(setup, config.get("apiBaseUrl") or "https://api.acme.example/v1")
        key = read_key(setup, "ACME_API_KEY")
        super().__init__(setup, Generate(model, config), f"{base}/generate", key, model)
