"""azure:chat, azure:embeddings and azure:assistant: deployments and assistants of Azure OpenAI.

API: https://learn.microsoft.com/azure/ai-services/openai/reference for dated versions, whose paths name the
deployment, and https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle for the v1 API, which is
OpenAI's own below ``/openai/v1`` and takes the deployment as model. A blocked prompt is a 400 with the code
``content_filter`` (https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter). Assistants are asked, and their
threads read, as promptfoo does (https://www.promptfoo.dev/docs/providers/azure/):
https://learn.microsoft.com/azure/ai-services/openai/assistants-reference-runs. Tokens for GitHub's identity:
https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow, third case, as ``azure-identity`` 1.27 does it.
"""

import json
from collections.abc import Mapping
from urllib.parse import quote

from gradegate.core.conversation import Reply, Request
from gradegate.core.usage import Usage
from gradegate.errors import ProviderError, Trouble
from gradegate.http.client import Headers
from gradegate.http.exchange import Response
from gradegate.providers.api.chat_api import members, objects, picked
from gradegate.providers.api.chat_model import CHAT, ChatModel, Embeddings
from gradegate.providers.api.federation import Federation
from gradegate.providers.api.json_http import (
    ACCESS,
    FILTER_CODES,
    Model,
    base_url,
    count,
    need_model,
    one_text,
    own_headers,
    part_of,
    post,
    words,
)
from gradegate.providers.api.openai_chat import SENT, Completions, reasons
from gradegate.providers.api.provider import PROVIDERS, Setting, secret
from gradegate.security.hosts import Vendor
from gradegate.structs import JsonObject

API_VERSION = (
    "2024-10-21"  # the latest dated version that is not a preview; it has structured output
)
_KEYS = ("AZURE_OPENAI_API_KEY", "AZURE_API_KEY")
_BASES = ("AZURE_OPENAI_API_BASE_URL", "AZURE_OPENAI_BASE_URL", "AZURE_API_BASE_URL")
_HOSTS = ("AZURE_OPENAI_API_HOST", "AZURE_API_HOST")
# Whose a host below openai.azure.com is cannot be told from its name: the environment names the one that is meant.
_IDS = {"client_id": "AZURE_CLIENT_ID", "tenant": "AZURE_TENANT_ID"}
_VENDOR = Vendor(_KEYS, (), (*_BASES, *_HOSTS), ids=tuple(_IDS.values()))
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
_RUN = ("temperature", "top_p", "tool_resources", "tool_choice", "tools", "instructions")
_OPTIONS = ("apiVersion", "deployment_id", "modelName", "isReasoningModel")


@PROVIDERS.register("azure:chat", "azureopenai:chat")
class AzureChat(ChatModel):
    """A deployed chat model."""

    siblings: Mapping[str, str] = {
        "embedding": "azure:embedding:{AZURE_OPENAI_EMBEDDING_DEPLOYMENT_NAME}"
    }
    options = (*SENT, *ACCESS, *CHAT, *_OPTIONS)
    in_id = ("deployment_id",)  # what the id says, where it says it
    vendor = _VENDOR

    def __init__(self, setting: Setting) -> None:
        config, deployment = setting.config, _deployment(setting)
        shape = Completions(
            deployment,
            config,
            reasoning=bool(config.get("isReasoningModel")) or reasons(deployment),
        )
        shape.takes_bounds = False
        super().__init__(
            setting,
            shape,
            _url(setting, deployment, "chat/completions"),
            _headers(setting),
            deployment,
        )

    def _priced_as(self, response: JsonObject) -> str:
        """The model behind a deployment, whose name says nothing: ``modelName`` of the config, else the answer's."""
        return str(self._config.get("modelName") or response.get("model") or "")


@PROVIDERS.register(
    "azure:embeddings", "azure:embedding", "azureopenai:embeddings", "azureopenai:embedding"
)
class AzureEmbeddings(Embeddings):
    """A deployed embedding model."""

    options = (*Embeddings.options, *_OPTIONS)
    in_id = ("deployment_id",)  # what the id says, where it says it
    vendor = _VENDOR

    def __init__(self, setting: Setting) -> None:
        deployment = _deployment(setting)
        super().__init__(
            setting, _url(setting, deployment, "embeddings"), _headers(setting), deployment
        )

    def _priced_as(self, response: JsonObject) -> str:
        return str(self._config.get("modelName") or response.get("model") or "")


@PROVIDERS.register("azure:assistant", "azureopenai:assistant")
class AzureAssistant(Model):
    """An assistant: a thread for each prompt, with one run."""

    options = (
        *_RUN,
        "modelName",
        "apiVersion",
        *(name for name in ACCESS if name not in ("model", "passthrough")),
    )
    unsupported: Mapping[str, str] = {
        "functionToolCallbacks": "have its answers graded: `gradegate cases`, `gradegate run --answers`"
    }
    vendor = _VENDOR
    rates = None

    def __init__(self, setting: Setting) -> None:
        self._version = quote(
            str(setting.config.get("apiVersion") or "2024-04-01-preview"), safe=""
        )
        self._root = _base(setting).removesuffix("/v1").removesuffix("/openai") + "/openai"
        super().__init__(
            setting,
            self._at("threads"),
            _headers(setting),
            need_model(setting, "azure:assistant:ASSISTANT"),
        )

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}?api-version={self._version}"

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        seconds = 0.0

        def ask(path: str, body: JsonObject | None = None) -> JsonObject:
            nonlocal seconds
            answer, took = post(self._client, self._at(path), self._headers, body, self._waits)
            seconds += took
            return answer

        thread = f"threads/{part_of(ask('threads', {}), 'id', self.host)}"
        ask(f"{thread}/messages", {"role": "user", "content": one_text(request)})
        model = {"model": self._config["modelName"]} if self._config.get("modelName") else {}
        run = ask(
            f"{thread}/runs",
            {
                "assistant_id": self._model,
                **picked({**self._config, **request.options}, _RUN),
                **model,
            },
        )
        if run.get("status") != "completed":
            error = members(run.get("last_error"))
            why = f"{self.host} ended the run as `{run.get('status')}`" + (
                f": {words({'error': error})}" if error else ""
            )
            raise ProviderError(
                why, Trouble.REFUSED if error.get("code") in FILTER_CODES else Trouble.MALFORMED
            )
        said, steps = (
            ask(f"{thread}/messages"),
            ask(f"{thread}/runs/{part_of(run, 'id', self.host)}/steps"),
        )
        return Reply(_blocks(said, steps, self.host), Usage(1, unpriced=1, seconds=seconds), "stop")

    def _waits(self, response: Response) -> str:
        answer = members(response.json())
        if answer.get("status") not in ("queued", "in_progress", "cancelling"):
            return ""
        return self._at(
            f"threads/{part_of(answer, 'thread_id', self.host)}/runs/{part_of(answer, 'id', self.host)}"
        )


def _blocks(said: JsonObject, steps: JsonObject, host: str) -> str:
    """What user, tools and assistant said, as promptfoo shows it. Raises ProviderError where the assistant said nothing."""
    talk: dict[str, list[str]] = {"user": [], "assistant": []}
    for message in sorted(
        objects(said.get("data")), key=lambda message: count(message.get("created_at"))
    ):
        parts = objects(message.get("content"))
        texts = (
            str(members(it.get("text")).get("value", ""))
            if it.get("type") == "text"
            else f"<{it.get('type')} output>"
            for it in parts
        )
        talk.setdefault(str(message.get("role")), []).append("\n".join(texts))
    if not "".join(talk["assistant"]).strip():
        raise ProviderError(f"{host} answered without a message of the assistant")
    calls = [
        call
        for step in objects(steps.get("data"))
        for call in objects(members(step.get("step_details")).get("tool_calls"))
    ]
    blocks = [f"[User] {text}" for text in talk["user"][:1]] + [
        line for call in calls for line in _call(call)
    ]
    return "\n\n".join([*blocks, *(f"[Assistant] {text}" for text in talk["assistant"])]).strip()


def _call(call: JsonObject) -> list[str]:
    kind = str(call.get("type"))
    own = members(call.get(kind))
    if kind == "function":
        output = [f"[Function output: {own['output']}]"] if own.get("output") else []
        return [f"[Call function {own.get('name')} with arguments {own.get('arguments')}]", *output]
    if kind == "code_interpreter":
        logs = [
            str(it.get("logs")) if it.get("type") == "logs" else f"<{it.get('type')} output>"
            for it in objects(own.get("outputs"))
        ]
        shown = "\n".join(logs) or "[No output]"
        return [
            "[Code interpreter input]",
            str(own.get("input") or "[No input]"),
            "[Code interpreter output]",
            shown,
        ]
    if kind == "file_search":
        return [
            "[Ran file search]",
            f"[File search details: {json.dumps(own, separators=(',', ':'), ensure_ascii=False)}]",
        ]
    return ["[Ran retrieval]" if kind == "retrieval" else f"[Unknown tool call type: {kind}]"]


def _deployment(setting: Setting) -> str:
    name = setting.model or str(setting.config.get("deployment_id") or "")
    if not name:
        raise setting.mistake(
            f"`{setting.spec.id}` names no deployment", "write it after the colon"
        )
    return name


def _headers(setting: Setting) -> Headers:
    key = secret(setting, *_KEYS)
    token = None if key else FEDERATION.token(setting, _base(setting), _KEYS, needed=True)
    return Headers(own_headers(setting.config), {"api-key": key} if key else {}, token)


def _url(setting: Setting, deployment: str, task: str) -> str:
    config, base = setting.config, _base(setting)
    version = str(
        config.get("apiVersion") or setting.env.get("AZURE_OPENAI_API_VERSION") or API_VERSION
    )
    if base.endswith("/openai/v1") or version in ("v1", "preview"):
        root = base.removesuffix("/v1").removesuffix("/openai")
        return f"{root}/openai/v1/{task}" + ("?api-version=preview" if version == "preview" else "")
    root = base.removesuffix("/openai")
    return f"{root}/openai/deployments/{quote(deployment, safe='')}/{task}?api-version={quote(version, safe='')}"


def _base(setting: Setting) -> str:
    """``apiBaseUrl`` or ``apiHost`` of the config, else the environment. Raises ConfigError when none is set."""
    config, env = setting.config, setting.env
    base, host = config.get("apiBaseUrl"), config.get("apiHost")
    if not base and not host:
        base, host = env.address(*_BASES), env.address(*_HOSTS)
    if not base and not host:
        cure = "set `apiHost` in its config, or AZURE_OPENAI_API_HOST, to e.g. RESOURCE.openai.azure.com"
        raise setting.mistake(f"no host for `{setting.spec.id}`", cure, _HOSTS[0])
    return base_url(
        setting, base or "https://" + str(host).removeprefix("https://").removeprefix("http://")
    )
