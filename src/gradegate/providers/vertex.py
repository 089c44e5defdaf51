"""vertex: Gemini and Claude at Google Cloud's Vertex AI.

API: https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/projects.locations.publishers.models/generateContent and
https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai (``rawPredict``, the Messages body with
``anthropic_version``); keys in express mode: https://cloud.google.com/vertex-ai/generative-ai/docs/start/api-keys. Ids, options and
their order are those of promptfoo (https://www.promptfoo.dev/docs/providers/vertex/).
"""

import re
from urllib.parse import quote

from gradegate.core.conversation import Request
from gradegate.http.credentials import FixedKey
from gradegate.providers.api import anthropic_messages, gemini
from gradegate.providers.api.chat_api import as_object
from gradegate.providers.api.chat_model import CHAT, ChatModel
from gradegate.providers.api.federation import (
    ACCESS_TOKENS,
    FILE,
    google_credential,
    wrong_host_mistake,
)
from gradegate.providers.api.json_http import ACCESS, base_url, check_part, need_model
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup, find_key
from gradegate.security.vendors import Vendor
from gradegate.structs import JsonObject

_KEYS = ("VERTEX_API_KEY", "GOOGLE_API_KEY")
_PROJECTS = ("VERTEX_PROJECT_ID", "GOOGLE_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")
_REGIONS = ("VERTEX_REGION", "GOOGLE_CLOUD_LOCATION")
_HOST = "aiplatform.googleapis.com"
_ANYWHERE = "global"
_REGION = r"[a-z]{2,20}-[a-z]{2,20}\d{1,2}"
_PUBLISHER = "projects/{project}/locations/{region}/publishers/{publisher}"
VENDOR = Vendor(
    (*_KEYS, *ACCESS_TOKENS, FILE),
    (_HOST,),
    ("VERTEX_API_HOST",),
    (rf"{_REGION}-aiplatform\.googleapis\.com", r"aiplatform\.(?:us|eu)\.rep\.googleapis\.com"),
    requests=(
        "POST /{version}/projects/{project}/locations/{region}/endpoints/openapi/chat/completions",
        *(
            f"POST /{{version}}/{place}/models/{{model}}:{task}"
            for place, task in (
                ("publishers/google", "generateContent"),
                (_PUBLISHER, "generateContent"),
                (_PUBLISHER, "rawPredict"),
            )
        ),
    ),
)
ANTHROPIC_VERSION = "vertex-2023-10-16"
_PROMPTFOOS = {
    "temperature": "temperature",
    "max_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
    "stop_sequences": "stopSequences",
}
_SIGN_IN = "leave it out: google-github-actions/auth signs the job in (docs/sign-in.md), and no key is kept"


@PROVIDERS.register("vertex")
class Vertex(ChatModel):
    """A model of Google or of Anthropic, in a project and a region, or of Google's with a key alone."""

    options = tuple(
        dict.fromkeys(
            (
                *gemini.OPTIONS, *anthropic_messages.OPTIONS, *ACCESS, *CHAT, "region", "projectId", "publisher", "apiVersion",
                "expressMode", "anthropic_version", "anthropicVersion", "modelArmor",
            )
        )
    )  # fmt: skip
    unsupported = dict.fromkeys(
        ("credentials", "keyFilename", "googleAuthOptions", "scopes"), _SIGN_IN
    )
    vendor = VENDOR

    def __init__(self, setup: ProviderSetup) -> None:
        config = setup.config
        model = need_model(setup, "vertex:MODEL")
        claude = "claude" in model
        if not claude and "gemini" not in model:
            cure = "name a model of Gemini or Claude; call other models with `http`"
            raise setup.mistake(f"`{setup.spec.id}` is neither Gemini nor Claude", cure)
        key = None if claude or config.get("expressMode") is False else find_key(setup, *_KEYS)
        root = f"{_base(setup) or f'https://{_HOST}'}/{_version(setup)}/publishers/google/models"
        url = (
            f"{root}/{quote(model, safe='@')}:generateContent"
            if key
            else _url(setup, model, claude=claude)
        )
        # The token that the workflow gives goes as it is; one that is minted goes to Google's own hosts alone.
        credential = FixedKey(key, "x-goog-api-key") if key else google_credential(setup)
        if not credential.is_fixed and not VENDOR.serves(url):
            raise wrong_host_mistake(setup, "tokens of Google go", url, f"set {ACCESS_TOKENS[0]}")
        version = (
            config.get("anthropic_version") or config.get("anthropicVersion") or ANTHROPIC_VERSION
        )
        # Google's screening of prompts and answers, whose templates promptfoo names shorter.
        templates = as_object(config.get("modelArmor"))
        names = {"promptTemplate": "promptTemplateName", "responseTemplate": "responseTemplateName"}
        armor = {name: templates[other] for other, name in names.items() if templates.get(other)}
        beside = (
            {"anthropic_version": version}
            if claude
            else {"modelArmorConfig": armor}
            if armor
            else {}
        )
        api = VertexMessages(model, config) if claude else gemini.Gemini(config)
        super().__init__(setup, api, url, credential, model, beside=beside)

    def _priced_as(self, response: JsonObject) -> str:
        return self._model.partition("@")[0]


class VertexMessages(anthropic_messages.Messages):
    """Messages to Claude under the names that promptfoo takes for Gemini, too."""

    def __init__(self, model: str, config: JsonObject) -> None:
        written = {**as_object(config.get("generationConfig")), **config}
        renamed = {
            name: written[other]
            for name, other in _PROMPTFOOS.items()
            if written.get(other) is not None
        }
        super().__init__(model, {**renamed, **config})

    def build_body(self, request: Request) -> JsonObject:
        """With ``systemInstruction`` where the messages have no system's own."""
        body = super().build_body(request)
        instruction = self.config.get("systemInstruction")
        return (
            {"system": instruction, **body}
            if isinstance(instruction, str) and instruction
            else body
        )


def _url(setup: ProviderSetup, model: str, *, claude: bool) -> str:
    region = str(setup.config.get("region") or setup.env.address(*_REGIONS) or _ANYWHERE).strip()
    check_part(
        "region",
        region,
        rf"{_REGION}|global|us|eu",
        setup,
        "write a region of Google Cloud, such as europe-west4, or global",
    )
    project = str(setup.config.get("projectId") or setup.env.address(*_PROJECTS)).strip()
    if not re.fullmatch(r"[a-z0-9][a-z0-9.:-]{0,99}", project):
        cure = f"set {_PROJECTS[-1]}, or `projectId` in its config"
        what = f"`{project}` is not a project" if project else "no project"
        raise setup.mistake(f"{what} for `{setup.spec.id}`", cure, "" if project else _PROJECTS[-1])
    named = setup.config.get("publisher") or setup.env.get("VERTEX_PUBLISHER") or "google"
    publisher = "anthropic" if claude else str(named)
    check_part("publisher", publisher, r"[a-z][a-z0-9-]{0,60}", setup, "leave it out: it is google")
    place = f"projects/{quote(project, safe='')}/locations/{region}/publishers/{publisher}"
    task = "rawPredict" if claude else "generateContent"
    own = (
        f"aiplatform.{region}.rep.googleapis.com" if region in ("us", "eu") else f"{region}-{_HOST}"
    )
    base = _base(setup) or f"https://{_HOST if region == _ANYWHERE else own}"
    version = "v1" if claude else _version(setup)
    return f"{base}/{version}/{place}/models/{quote(model, safe='@')}:{task}"


def _version(setup: ProviderSetup) -> str:
    version = str(setup.config.get("apiVersion") or setup.env.get("VERTEX_API_VERSION") or "v1")
    check_part("version", version, r"v\d\w{0,20}", setup, "write v1 or v1beta1")
    return version


def _base(setup: ProviderSetup) -> str:
    """Another address of the config or of the environment, without its version; empty where there is none."""
    config = setup.config
    named = config.get("apiBaseUrl") or config.get("apiHost") or setup.env.get("VERTEX_API_HOST")
    if not named:
        return ""
    return base_url(setup, str(named) if "://" in str(named) else f"https://{named}")
