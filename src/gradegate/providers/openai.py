"""openai:chat: Chat Completions of OpenAI and of every endpoint that speaks the same.

API: https://platform.openai.com/docs/api-reference/chat/create, as in the types of the ``openai`` package 3.54.
"""

from __future__ import annotations

from gradegate.asking.completions import ChatCompletions
from gradegate.asking.openai_access import base, headers
from gradegate.asking.provider import PROVIDERS, Setting
from gradegate.asking.wire import need_model


class OpenAiChat(ChatCompletions):
    """A chat model at ``{base}/chat/completions``."""

    known = (*ChatCompletions.known, "organization", "apiKeyRequired")
    others = tuple(
        "agents agents-api assistant audio chatkit codex codex-app-server codex-desktop codex-sdk codex-security "
        "completion gpt-live-1* image live realtime speech transcription tts video".split()
    )

    def __init__(self, setting: Setting) -> None:
        model = need_model(setting, "openai:chat:MODEL")
        url = base(setting)
        super().__init__(setting, f"{url}/chat/completions", headers(setting, url), model)


PROVIDERS.register("openai:chat", "openai")(OpenAiChat)
