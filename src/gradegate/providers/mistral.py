"""mistral: chat and embeddings of Mistral AI.

API: https://docs.mistral.ai/api, as in the types of the ``mistralai`` package 3.7: Chat Completions with
``random_seed`` in place of ``seed``, ``finish_reason: model_length`` for a full context, and reasoning in parts of the
type ``thinking``.
"""

from gradegate.core.conversation import Request
from gradegate.http.credentials import Credential
from gradegate.providers.api.chat_model import CHAT, EMBEDDING, ChatModel, EmbeddingModel
from gradegate.providers.api.json_http import ACCESS, need_model, read_key, service_url
from gradegate.providers.api.openai_chat import Completions
from gradegate.providers.api.prices import PRICES
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup
from gradegate.security.vendors import Vendor
from gradegate.structs import JsonObject

_VENDOR = Vendor(
    ("MISTRAL_API_KEY",),
    ("api.mistral.ai",),
    ("MISTRAL_API_HOST", "MISTRAL_API_BASE_URL"),
    requests=("POST /v1/chat/completions", "POST /v1/embeddings"),
)
SENT = tuple(
    "temperature top_p top_k max_tokens min_tokens stop random_seed response_format tools tool_choice n "
    "presence_penalty frequency_penalty parallel_tool_calls reasoning_effort prompt_mode prediction safe_prompt "
    "guardrails metadata prompt_cache_key service_tier repetition_penalty logprobs top_logprobs".split()
)


class _Completions(Completions):
    def build_body(self, request: Request) -> JsonObject:
        body = dict(super().build_body(request))
        if "seed" in body:
            body["random_seed"] = body.pop("seed")
        return body


@PROVIDERS.register("mistral", "mistral:chat")
class MistralChat(ChatModel):
    """A chat model at ``{base}/chat/completions``."""

    default_graders = {"embedding": "mistral:embedding:mistral-embed"}
    options = (*SENT, *ACCESS, *CHAT)
    vendor = _VENDOR

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "mistral:MODEL", (*EMBEDDING, "moderation"))
        api = _Completions(model, setup.config, SENT)
        super().__init__(setup, api, *_access(setup, "chat/completions"), model)


@PROVIDERS.register("mistral:embeddings", "mistral:embedding")
class MistralEmbeddings(EmbeddingModel):
    """An embedding model at ``{base}/embeddings``."""

    sent = ("output_dimension", "output_dtype", "metadata")
    options = (*sent, *ACCESS, *PRICES)
    vendor = _VENDOR
    max_texts = 128

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "mistral:embeddings:mistral-embed")
        super().__init__(setup, *_access(setup, "embeddings"), model)


def _access(setup: ProviderSetup, task: str) -> tuple[str, Credential]:
    url = service_url(
        setup, "MISTRAL_API_HOST", ("MISTRAL_API_BASE_URL",), "https://api.mistral.ai/v1"
    )
    return f"{url}/{task}", read_key(setup, "MISTRAL_API_KEY")
