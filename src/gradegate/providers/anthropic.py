"""anthropic: Claude at Anthropic.

API: https://platform.claude.com/docs/en/api/messages and https://platform.claude.com/docs/en/api/versioning: version
2026-10-21 has no sampling parameters, 2023-06-01 has them for the models up to Claude 4.6. Tokens for GitHub's identity:
https://platform.claude.com/docs/en/manage-claude/wif-reference (the exchange) and the ``anthropic`` package 2.12 (the betas that
exchanges and calls have to name).
"""

from gradegate.providers.api.anthropic_messages import OPTIONS, SAMPLING, Messages
from gradegate.providers.api.chat_model import CHAT, ChatModel
from gradegate.providers.api.federation import Federation
from gradegate.providers.api.json_http import base_url, need_model
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup
from gradegate.security.vendors import Vendor
from gradegate.structs import JsonObject, NamedTexts

VERSION = "2026-10-21"
SAMPLING_VERSION = "2023-06-01"
# The beta that calls and exchanges name, and the one that exchanges name besides.
TOKENS = "oauth-2025-04-20"
EXCHANGES = "oidc-federation-2026-04-01"
_KEYS = ("ANTHROPIC_API_KEY",)
_IDS = {
    "federation_rule_id": "ANTHROPIC_FEDERATION_RULE_ID",
    "organization_id": "ANTHROPIC_ORGANIZATION_ID",
    "service_account_id": "ANTHROPIC_SERVICE_ACCOUNT_ID",
}
_VENDOR = Vendor(
    _KEYS,
    ("api.anthropic.com",),
    ("ANTHROPIC_BASE_URL",),
    ids=tuple(_IDS.values()),
    requests=("POST /v1/messages", "POST /v1/chat/completions"),
)
FEDERATION = Federation(
    "Anthropic",
    "https://api.anthropic.com/v1/oauth/token",
    _VENDOR,
    {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer"},
    subject="assertion",
    ids=_IDS,
    optional={"workspace_id": "ANTHROPIC_WORKSPACE_ID"},
    audience="https://api.anthropic.com",
    audience_variable="ANTHROPIC_IDENTITY_AUDIENCE",
    headers={"anthropic-beta": f"{TOKENS},{EXCHANGES}"},
)


@PROVIDERS.register("anthropic:messages", "anthropic")
class Anthropic(ChatModel):
    """A model at ``{base}/v1/messages``."""

    options = (*OPTIONS, *CHAT, "model", "apiKey", "apiKeyEnvar", "apiBaseUrl", "headers", "beta")
    values = {"temperature": "number 0 1"}
    vendor = _VENDOR

    def __init__(self, setup: ProviderSetup) -> None:
        config = setup.config
        model = need_model(setup, "anthropic:messages:MODEL")
        base = (
            config.get("apiBaseUrl")
            or setup.env.read("ANTHROPIC_BASE_URL")
            or "https://api.anthropic.com"
        )
        url = base_url(setup, base).removesuffix("/v1") + "/v1/messages"
        credential = FEDERATION.credential(setup, url, _KEYS, header="x-api-key")
        beta = config.get("beta") or ()
        flags = [beta] if isinstance(beta, str) else list(map(str, beta))
        if not credential.is_fixed:
            flags.append(TOKENS)
        headers = {"anthropic-beta": ",".join(flags)} if flags else {}
        api = Messages(model, config)
        super().__init__(setup, api, url, credential, model, headers, {"model": model})

    def _headers_for(self, body: JsonObject) -> NamedTexts:
        version = SAMPLING_VERSION if any(name in body for name in SAMPLING) else VERSION
        return {"anthropic-version": version, **self._headers}
