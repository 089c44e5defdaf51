"""openai: chat, responses, embeddings and moderation of OpenAI, and of every endpoint that speaks the same.

API: https://platform.openai.com/docs/api-reference, as in the types of the ``openai`` package 3.54. Embeddings: up to 2,048
texts in one request, none of them empty; vectors carry the ``index`` of their text. Moderation is free of charge
(https://platform.openai.com/docs/guides/moderation).
"""

from collections.abc import Sequence

from gradegate.core.usage import Usage
from gradegate.errors import ProviderError
from gradegate.http.credentials import Credential
from gradegate.providers.api.chat_api import as_object
from gradegate.providers.api.chat_model import CHAT, ChatModel, EmbeddingModel
from gradegate.providers.api.federation import EXCHANGE, JWT, Federation
from gradegate.providers.api.json_http import HttpModel, need_model, service_url
from gradegate.providers.api.openai_chat import RESPONSES_SENT, SENT, Completions, Responses
from gradegate.providers.api.provider import PROVIDERS, Provider, ProviderSetup
from gradegate.security.vendors import Vendor
from gradegate.structs import NamedTexts

_KEYS = ("OPENAI_API_KEY",)
_HOST = "OPENAI_API_HOST"
_BASES = ("OPENAI_API_BASE_URL", "OPENAI_BASE_URL")
_IDS = {
    "identity_provider_id": "OPENAI_IDENTITY_PROVIDER_ID",
    "service_account_id": "OPENAI_SERVICE_ACCOUNT_ID",
}
VENDOR = Vendor(
    _KEYS,
    ("api.openai.com",),
    (_HOST, *_BASES),
    ids=tuple(_IDS.values()),
    requests=(
        "POST /v1/chat/completions",
        "POST /v1/responses",
        "POST /v1/embeddings",
        "POST /v1/moderations",
    ),
)
# https://developers.openai.com/api/reference/workload-identity-federation
FEDERATION = Federation(
    "OpenAI",
    "https://auth.openai.com/oauth/token",
    VENDOR,
    {"grant_type": EXCHANGE, "subject_token_type": JWT},
    subject="subject_token",
    ids=_IDS,
    audience="https://api.openai.com/v1",
    audience_variable="OPENAI_IDENTITY_AUDIENCE",
)
ACCESS = "model apiKey apiKeyEnvar apiKeyRequired apiHost apiBaseUrl organization headers passthrough".split()
SIBLINGS = {
    "embedding": "openai:embedding:text-embedding-3-large",
    "moderation": "openai:moderation:omni-moderation-latest",
}


class _AtOpenAi(Provider):
    """A model of OpenAI, or of an endpoint that speaks the same."""

    vendor = VENDOR
    takes_keys_of_hosts = True


@PROVIDERS.register("openai:chat", "openai")
class OpenAiChat(_AtOpenAi, ChatModel):
    """A chat model at ``{base}/chat/completions``."""

    default_graders = SIBLINGS
    options = (*SENT, *ACCESS, *CHAT)

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "openai:chat:MODEL")
        api = Completions(model, setup.config)
        super().__init__(setup, api, *_access(setup, "chat/completions"), model, _headers(setup))


@PROVIDERS.register("openai:responses")
class OpenAiResponses(_AtOpenAi, ChatModel):
    """A model at ``{base}/responses``."""

    default_graders = SIBLINGS
    options = (
        *RESPONSES_SENT,
        *ACCESS,
        *CHAT,
        "max_tokens",
        "reasoning_effort",
        "verbosity",
        "response_format",
    )

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "openai:responses:MODEL")
        api = Responses(model, setup.config)
        super().__init__(setup, api, *_access(setup, "responses"), model, _headers(setup))


@PROVIDERS.register("openai:embeddings", "openai:embedding")
class OpenAiEmbeddings(_AtOpenAi, EmbeddingModel):
    """An embedding model at ``{base}/embeddings``."""

    options = (*EmbeddingModel.options, *ACCESS)

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "openai:embeddings:MODEL")
        super().__init__(setup, *_access(setup, "embeddings"), model, _headers(setup))


@PROVIDERS.register("openai:moderation")
class OpenAiModeration(_AtOpenAi, HttpModel):
    """A moderation model at ``{base}/moderations``."""

    kinds = ("moderation",)
    rates = (0.0, 0.0)  # its use is free of charge
    options = tuple(ACCESS)

    def __init__(self, setup: ProviderSetup) -> None:
        model = setup.model or str(setup.config.get("model") or "omni-moderation-latest")
        super().__init__(setup, *_access(setup, "moderations"), model, _headers(setup))

    def moderate(self, text: str, prompt: str) -> tuple[Sequence[str], Usage]:
        """Raises ProviderError."""
        body = {"model": self._model, "input": text, **self._passthrough}
        response, seconds = self._post_object(body)
        results = response.get("results")
        if not isinstance(results, list) or not results:
            raise ProviderError(f"{self.host} answered without a result")
        flags: list[str] = []
        for result in map(as_object, results):
            categories = result.get("categories")
            # `illicit` is null for models that do not know it
            if not isinstance(categories, dict) or not all(
                isinstance(flagged, bool | None) for flagged in categories.values()
            ):
                raise ProviderError(f"{self.host} answered without categories")
            names = [name for name, flagged in categories.items() if flagged]
            if not names and result.get("flagged"):
                names = ["flagged"]
            flags += names
        return flags, Usage(1, seconds=seconds)


def _access(setup: ProviderSetup, task: str) -> tuple[str, Credential]:
    """The address of a task, and the key. Raises ConfigError if OpenAI itself would get no key."""
    url = service_url(setup, _HOST, _BASES, "https://api.openai.com/v1")
    needed = "://api.openai.com/" in f"{url}/"
    return f"{url}/{task}", FEDERATION.credential(setup, url, _KEYS, needed=needed)


def _headers(setup: ProviderSetup) -> NamedTexts:
    """The organization, if one is named."""
    organization = setup.config.get("organization") or setup.env.read("OPENAI_ORGANIZATION")
    return {"OpenAI-Organization": str(organization)} if organization else {}
