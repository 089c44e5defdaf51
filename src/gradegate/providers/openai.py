"""openai:chat: Chat Completions of OpenAI and of every endpoint that speaks the same.

API: https://platform.openai.com/docs/api-reference/chat/create, as in the types of the ``openai`` package 3.54.
"""

from __future__ import annotations

from gradegate.asking.chatmodel import ChatModel
from gradegate.asking.completions import SENT, Completions
from gradegate.asking.openai_access import ACCESS, base, headers
from gradegate.asking.provider import PROVIDERS, Setting
from gradegate.asking.wire import PRICES, need_model
from gradegate.errors import ConfigError

# promptfoo's other prefixes below `openai:`; a chat model of such a name does not exist.
_OTHERS = frozenset(
    "agents assistant audio chatkit codex-app-server codex-sdk codex-desktop completion image live realtime speech "
    "transcription tts video".split()
)


class OpenAiChat(ChatModel):
    """A chat model at ``{base}/chat/completions``."""

    options = (*SENT, *ACCESS, *PRICES)

    def __init__(self, setting: Setting) -> None:
        model = need_model(setting, "openai:chat:MODEL")
        if model.partition(":")[0] in _OTHERS and ":" in model:
            cure = "use openai:chat:, openai:responses:, openai:embeddings: or openai:moderation:"
            raise ConfigError.at(f"`{setting.spec.id}` is not supported", setting.spec.origin, cure)
        url, shape = base(setting), Completions(model, setting.spec.config)
        super().__init__(setting, shape, f"{url}/chat/completions", headers(setting, url), model)


PROVIDERS.register("openai:chat", "openai")(OpenAiChat)
