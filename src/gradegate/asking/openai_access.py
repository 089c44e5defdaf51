"""Where OpenAI's API is and how one signs in, for all of its providers."""

from __future__ import annotations

from gradegate.access.hosts import Vendor
from gradegate.asking.provider import Setting, secret
from gradegate.asking.wire import base_url, own_headers
from gradegate.errors import ConfigError

VENDOR = Vendor(("OPENAI_API_KEY",), ("api.openai.com",), ("OPENAI_API_HOST", "OPENAI_API_BASE_URL", "OPENAI_BASE_URL"))
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


def headers(setting: Setting, url: str) -> dict[str, str]:
    """Authorization and the config's own headers. Raises ConfigError when OpenAI itself would get no key."""
    key = secret(setting, "OPENAI_API_KEY")
    if not key and "://api.openai.com/" in f"{url}/":
        cure = "set OPENAI_API_KEY, or `apiKey` or `apiKeyEnvar` in its config"
        raise ConfigError.at(
            f"no key for `{setting.spec.id}`",
            setting.spec.origin,
            cure,
            str(setting.spec.config.get("apiKeyEnvar") or "OPENAI_API_KEY"),
        )
    organization = setting.spec.config.get("organization") or setting.env.get("OPENAI_ORGANIZATION")
    return {
        **({"Authorization": f"Bearer {key}"} if key else {}),
        **({"OpenAI-Organization": str(organization)} if organization else {}),
        **own_headers(setting.spec.config),
    }
