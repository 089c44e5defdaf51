"""openai:embeddings: embeddings of OpenAI and of every endpoint that speaks the same.

API: https://platform.openai.com/docs/api-reference/embeddings/create, as in the types of the ``openai`` package 3.54:
up to 2,048 texts in one request, none of them empty; vectors carry the ``index`` of their text.
"""

from __future__ import annotations

from gradegate.asking.embeddings import Embeddings
from gradegate.asking.openai_access import ACCESS, VENDOR, base, headers
from gradegate.asking.provider import PROVIDERS, Setting
from gradegate.asking.wire import need_model


class OpenAiEmbeddings(Embeddings):
    """An embedding model at ``{base}/embeddings``."""

    options = (*Embeddings.options, *ACCESS)
    vendor = VENDOR

    def __init__(self, setting: Setting) -> None:
        url = base(setting)
        model = need_model(setting, "openai:embeddings:MODEL")
        super().__init__(setting, f"{url}/embeddings", headers(setting, url), model)


PROVIDERS.register("openai:embeddings", "openai:embedding")(OpenAiEmbeddings)
