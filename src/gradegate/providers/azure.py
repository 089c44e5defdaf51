"""azure:chat and azure:embeddings: deployments of Azure OpenAI.

API: https://learn.microsoft.com/azure/ai-services/openai/reference for dated versions, whose paths name the
deployment, and https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle for the v1 API, which is
OpenAI's own below ``/openai/v1`` and takes the deployment as model. A blocked prompt is a 400 with the code
``content_filter`` (https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter). Tokens for GitHub's identity:
https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow, third case, as ``azure-identity`` 1.27 does it.
"""

from gradegate.http.credentials import Credential
from gradegate.providers.api.chat_model import CHAT, ChatModel, EmbeddingModel
from gradegate.providers.api.federation import Federation
from gradegate.providers.api.json_http import ACCESS, PART, HttpModel, base_url, check_part
from gradegate.providers.api.openai_chat import SENT, Completions, is_reasoning_model
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup
from gradegate.security.vendors import Vendor
from gradegate.structs import JsonObject

# The latest dated version that is not a preview; it has structured output
API_VERSION = "2024-10-21"
_KEYS = ("AZURE_OPENAI_API_KEY", "AZURE_API_KEY")
_BASES = ("AZURE_OPENAI_API_BASE_URL", "AZURE_OPENAI_BASE_URL", "AZURE_API_BASE_URL")
_HOSTS = ("AZURE_OPENAI_API_HOST", "AZURE_API_HOST")
# The name of a host below openai.azure.com does not say who owns it, so the environment names the host.
_IDS = {"client_id": "AZURE_CLIENT_ID", "tenant": "AZURE_TENANT_ID"}
_VENDOR = Vendor(
    _KEYS,
    (),
    (*_BASES, *_HOSTS),
    ids=tuple(_IDS.values()),
    requests=tuple(
        f"POST {path}"
        for task in ("chat/completions", "embeddings")
        for path in (
            f"/openai/deployments/{{deployment}}/{task}?api-version={{version}}",
            f"/openai/v1/{task}",
            f"/openai/v1/{task}?api-version=preview",
        )
    ),
)
FEDERATION = Federation(
    "Microsoft Entra ID",
    "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token",
    # Azure's own, whoever the resource belongs to; on GitHub the environment or `allowed-hosts` names the one that is meant.
    Vendor(forms=(r"[a-z0-9-]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.com",)),
    {
        "grant_type": "client_credentials",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "scope": "https://cognitiveservices.azure.com/.default",
    },
    subject="client_assertion",
    ids=_IDS,
    audience="api://AzureADTokenExchange",
    form=True,
)
_OPTIONS = ("apiVersion", "deployment_id", "modelName", "isReasoningModel")


class _Deployment(HttpModel):
    """A deployment, which may have another name than the model behind it."""

    in_id = ("deployment_id",)  # options that the id may replace
    vendor = _VENDOR

    def _priced_as(self, response: JsonObject) -> str:
        """``modelName`` of the config, else the model that the answer names."""
        return str(self._config.get("modelName") or response.get("model") or "")


@PROVIDERS.register("azure:chat", "azureopenai:chat")
class AzureChat(_Deployment, ChatModel):
    """A deployed chat model."""

    default_graders = {"embedding": "azure:embedding:{AZURE_OPENAI_EMBEDDING_DEPLOYMENT_NAME}"}
    options = (*SENT, *ACCESS, *CHAT, *_OPTIONS)

    def __init__(self, setup: ProviderSetup) -> None:
        deployment = _deployment(setup)
        reasoning = bool(setup.config.get("isReasoningModel")) or is_reasoning_model(deployment)
        api = Completions(deployment, setup.config, reasoning=reasoning)
        api.takes_bounds = False
        url = _url(setup, deployment, "chat/completions")
        super().__init__(setup, api, url, _credential(setup), deployment)


@PROVIDERS.register(
    "azure:embeddings", "azure:embedding", "azureopenai:embeddings", "azureopenai:embedding"
)
class AzureEmbeddings(_Deployment, EmbeddingModel):
    """A deployed embedding model."""

    options = (*EmbeddingModel.options, *_OPTIONS)

    def __init__(self, setup: ProviderSetup) -> None:
        deployment = _deployment(setup)
        url = _url(setup, deployment, "embeddings")
        super().__init__(setup, url, _credential(setup), deployment)


def _deployment(setup: ProviderSetup) -> str:
    name = setup.model or str(setup.config.get("deployment_id") or "")
    if not name:
        raise setup.mistake(f"`{setup.spec.id}` names no deployment", "write it after the colon")
    check_part("deployment", name, PART, setup, "write the name that Azure shows")
    return name


def _credential(setup: ProviderSetup) -> Credential:
    return FEDERATION.credential(setup, _base(setup), _KEYS, header="api-key")


def _url(setup: ProviderSetup, deployment: str, task: str) -> str:
    """The address of a task of a deployment, in the v1 API or a dated version. Raises ConfigError."""
    base = _base(setup)
    version = setup.config.get("apiVersion") or setup.env.read("AZURE_OPENAI_API_VERSION")
    version = str(version or API_VERSION)
    form = r"v1|preview|latest|\d{4}-\d\d-\d\d(?:-preview)?"
    check_part("version", version, form, setup, f"write one such as {API_VERSION}")

    if base.endswith("/openai/v1") or version in ("v1", "preview"):
        root = base.removesuffix("/v1").removesuffix("/openai")
        query = "?api-version=preview" if version == "preview" else ""
        return f"{root}/openai/v1/{task}{query}"
    root = base.removesuffix("/openai")
    return f"{root}/openai/deployments/{deployment}/{task}?api-version={version}"


def _base(setup: ProviderSetup) -> str:
    """``apiBaseUrl`` or ``apiHost`` of the config, else the environment. Raises ConfigError if none is set."""
    base = setup.config.get("apiBaseUrl")
    host = setup.config.get("apiHost")
    if not base and not host:
        base = setup.env.read_first(*_BASES)
        host = setup.env.read_first(*_HOSTS)
    if not base and not host:
        cure = "set `apiHost` in its config, or AZURE_OPENAI_API_HOST, to e.g. RESOURCE.openai.azure.com"
        raise setup.mistake(f"no host for `{setup.spec.id}`", cure, _HOSTS[0])
    host = str(host).removeprefix("https://").removeprefix("http://")
    return base_url(setup, base or f"https://{host}")
