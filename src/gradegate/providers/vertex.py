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
from gradegate.providers.api.chat_api import ChatApi, as_object
from gradegate.providers.api.chat_model import CHAT, ChatModel
from gradegate.providers.api.federation import (
    ACCESS_TOKENS,
    FILE,
    google_credential,
    wrong_host_mistake,
)
from gradegate.providers.api.json_http import ACCESS, base_url, check_part, check_schema, need_model
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
# Claude's names of options that promptfoo takes by Gemini's names
_GEMINI_NAMES = {
    "temperature": "temperature",
    "max_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
    "stop_sequences": "stopSequences",
}
_SIGN_IN = (
    "leave it out: google-github-actions/auth signs the job in (docs/keys.md), and no key is kept"
)


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
        is_claude = "claude" in model
        if not is_claude and "gemini" not in model:
            cure = "name a model of Gemini or Claude; call other models with `http`"
            raise setup.mistake(f"`{setup.spec.id}` is neither Gemini nor Claude", cure)

        key = None
        if not is_claude and config.get("expressMode") is not False:
            key = find_key(setup, *_KEYS)
        express_url = _express_url(setup, model)
        url = express_url if key else _project_url(setup, model, is_claude=is_claude)
        # The token that the workflow gives goes to any address; one that is minted goes to Google's own hosts only.
        credential = FixedKey(key, "x-goog-api-key") if key else google_credential(setup)
        if not credential.is_fixed and not VENDOR.may_get_token(url):
            raise wrong_host_mistake(setup, "tokens of Google go", url, f"set {ACCESS_TOKENS[0]}")

        api: ChatApi
        beside: JsonObject = {}
        if is_claude:
            api = VertexMessages(model, config)
            version = config.get("anthropic_version") or config.get("anthropicVersion")
            beside = {"anthropic_version": version or ANTHROPIC_VERSION}
        else:
            api = gemini.Gemini(config)
            check_schema(setup, "responseSchema", api.response_schema)
            armor = _model_armor(config)
            if armor:
                beside = {"modelArmorConfig": armor}
        super().__init__(setup, api, url, credential, model, beside=beside)

    def _priced_as(self, response: JsonObject) -> str:
        return self._model.partition("@")[0]


class VertexMessages(anthropic_messages.Messages):
    """Messages to Claude under the names that promptfoo takes for Gemini, too."""

    def __init__(self, model: str, config: JsonObject) -> None:
        options = {**as_object(config.get("generationConfig")), **config}
        renamed = {
            name: options[gemini_name]
            for name, gemini_name in _GEMINI_NAMES.items()
            if options.get(gemini_name) is not None
        }
        super().__init__(model, {**renamed, **config})

    def build_body(self, request: Request) -> JsonObject:
        """With ``systemInstruction`` if the messages have no system's own."""
        body = super().build_body(request)
        instruction = self.config.get("systemInstruction")
        if isinstance(instruction, str) and instruction:
            return {"system": instruction, **body}
        return body


def _model_armor(config: JsonObject) -> JsonObject:
    """Google's screening of prompts and answers, whose templates promptfoo names shorter."""
    templates = as_object(config.get("modelArmor"))
    names = ("promptTemplate", "responseTemplate")
    return {f"{name}Name": templates[name] for name in names if templates.get(name)}


def _express_url(setup: ProviderSetup, model: str) -> str:
    """The address of a model of Google's for a key. Raises ConfigError."""
    base = _base(setup) or f"https://{_HOST}"
    path = f"publishers/google/models/{quote(model, safe='@')}:generateContent"
    return f"{base}/{_version(setup)}/{path}"


def _project_url(setup: ProviderSetup, model: str, *, is_claude: bool) -> str:
    """The address of a model in a project and a region. Raises ConfigError."""
    config = setup.config
    region = str(config.get("region") or setup.env.read_first(*_REGIONS) or _ANYWHERE).strip()
    cure = "write a region of Google Cloud, such as europe-west4, or global"
    check_part("region", region, rf"{_REGION}|global|us|eu", setup, cure)

    project = str(config.get("projectId") or setup.env.read_first(*_PROJECTS)).strip()
    if not re.fullmatch(r"[a-z0-9][a-z0-9.:-]{0,99}", project):
        variable = _PROJECTS[-1]
        cure = f"set {variable}, or `projectId` in its config"
        if project:
            raise setup.mistake(f"`{project}` is not a project for `{setup.spec.id}`", cure)
        raise setup.mistake(f"no project for `{setup.spec.id}`", cure, variable)

    publisher = config.get("publisher") or setup.env.read("VERTEX_PUBLISHER") or "google"
    publisher = "anthropic" if is_claude else str(publisher)
    check_part("publisher", publisher, r"[a-z][a-z0-9-]{0,60}", setup, "leave it out: it is google")

    if region == _ANYWHERE:
        host = _HOST
    elif region in ("us", "eu"):
        host = f"aiplatform.{region}.rep.googleapis.com"
    else:
        host = f"{region}-{_HOST}"
    base = _base(setup) or f"https://{host}"
    version = "v1" if is_claude else _version(setup)
    place = f"projects/{quote(project, safe='')}/locations/{region}/publishers/{publisher}"
    task = "rawPredict" if is_claude else "generateContent"
    return f"{base}/{version}/{place}/models/{quote(model, safe='@')}:{task}"


def _version(setup: ProviderSetup) -> str:
    version = str(setup.config.get("apiVersion") or setup.env.read("VERTEX_API_VERSION") or "v1")
    check_part("version", version, r"v\d\w{0,20}", setup, "write v1 or v1beta1")
    return version


def _base(setup: ProviderSetup) -> str:
    """Another address of the config or of the environment, without its version; empty if there is none."""
    config = setup.config
    address = config.get("apiBaseUrl") or config.get("apiHost")
    address = str(address or setup.env.read("VERTEX_API_HOST"))
    if not address:
        return ""
    return base_url(setup, address if "://" in address else f"https://{address}")
