"""openai:responses: the Responses API.

API: https://platform.openai.com/docs/api-reference/responses/create; ``asking/responses.py`` has its shape.
"""

from __future__ import annotations

from gradegate.asking.chatmodel import ChatModel
from gradegate.asking.openai_access import ACCESS, VENDOR, base, headers
from gradegate.asking.provider import PROVIDERS, Setting
from gradegate.asking.responses import SENT, Responses
from gradegate.asking.wire import PRICES, need_model


class OpenAiResponses(ChatModel):
    """A model at ``{base}/responses``."""

    options = (*SENT, *ACCESS, *PRICES, "max_tokens", "reasoning_effort", "verbosity", "response_format")
    vendor = VENDOR

    def __init__(self, setting: Setting) -> None:
        url = base(setting)
        model = need_model(setting, "openai:responses:MODEL")
        shape = Responses(model, setting.spec.config)
        super().__init__(setting, shape, f"{url}/responses", headers(setting, url), model)


PROVIDERS.register("openai:responses")(OpenAiResponses)
