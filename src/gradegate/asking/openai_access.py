"""Where OpenAI's API is and how one signs in, for all of its providers."""

from __future__ import annotations

from gradegate.access.hosts import Vendor
from gradegate.asking.identity import EXCHANGE, JWT, Federation
from gradegate.asking.provider import Setting, secret
from gradegate.asking.wire import base_url, own_headers
from gradegate.http.headers import Headers, bearer

_IDS = {"identity_provider_id": "OPENAI_IDENTITY_PROVIDER_ID", "service_account_id": "OPENAI_SERVICE_ACCOUNT_ID"}
VENDOR = Vendor(
    ("OPENAI_API_KEY",), ("api.openai.com",), ("OPENAI_API_HOST", "OPENAI_API_BASE_URL", "OPENAI_BASE_URL"), ids=tuple(_IDS.values())
)
# https://developers.openai.com/api/reference/workload-identity-federation
FEDERATION = Federation(
    "OpenAI",
    "https://auth.openai.com/oauth/token",
    Vendor(hosts=VENDOR.hosts),
    {"grant_type": EXCHANGE, "subject_token_type": JWT},
    subject="subject_token",
    ids=_IDS,
    audience="https://api.openai.com/v1",
    audience_variable="OPENAI_IDENTITY_AUDIENCE",
)
ACCESS = "model apiKey apiKeyEnvar apiKeyRequired apiHost apiBaseUrl organization headers passthrough".split()


def base(setting: Setting) -> str:
    """``apiHost`` or ``apiBaseUrl``, else OPENAI_API_HOST, OPENAI_API_BASE_URL or OPENAI_BASE_URL, else OpenAI."""
    config, env = setting.spec.config, setting.env
    host = config.get("apiHost")
    named = config.get("apiBaseUrl")
    if not host and not named:
        host = env.get("OPENAI_API_HOST")
        named = env.address("OPENAI_API_BASE_URL", "OPENAI_BASE_URL") or "https://api.openai.com/v1"
    return base_url(setting, f"https://{host}/v1" if host else named)


def headers(setting: Setting, url: str) -> Headers:
    """The key, the organization and the config's own headers. Raises ConfigError when OpenAI itself would get no key."""
    key = secret(setting, *VENDOR.keys[:1])
    needed = "://api.openai.com/" in f"{url}/"
    token = None if key else FEDERATION.token(setting, url, VENDOR.keys[:1], needed=needed)
    organization = setting.spec.config.get("organization") or setting.env.get("OPENAI_ORGANIZATION")
    plain = {"OpenAI-Organization": str(organization)} if organization else {}
    return Headers({**plain, **own_headers(setting.spec.config)}, bearer(key), token)
