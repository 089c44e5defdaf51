"""openai:chat: Chat Completions of OpenAI and of every endpoint that speaks the same.

API: https://platform.openai.com/docs/api-reference/chat/create, as in the types of the ``openai`` package 3.54.
"""

from __future__ import annotations

from gradegate.asking.chatmodel import ChatModel
from gradegate.asking.completions import SENT, Completions
from gradegate.asking.openai_access import ACCESS, VENDOR, base, headers
from gradegate.asking.provider import PROVIDERS, Setting
from gradegate.asking.wire import PRICES, need_model


class OpenAiChat(ChatModel):
    """A chat model at ``{base}/chat/completions``."""

    options = (*SENT, *ACCESS, *PRICES)
    vendor = VENDOR

    def __init__(self, setting: Setting) -> None:
        model = need_model(setting, "openai:chat:MODEL")
        url, shape = base(setting), Completions(model, setting.spec.config)
        super().__init__(setting, shape, f"{url}/chat/completions", headers(setting, url), model)


PROVIDERS.register("openai:chat", "openai")(OpenAiChat)
