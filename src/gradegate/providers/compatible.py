"""Services and servers with the API of OpenAI, each under its own address and key: chat, and embeddings where they serve any.

``SERVICE:MODEL`` and ``SERVICE:chat:MODEL`` ask a chat model, ``SERVICE:embedding:MODEL`` one for embeddings. ``compatible.yaml`` has them.
Tokens of OpenRouter for GitHub's identity: https://openrouter.ai/docs/api/api-reference/oauth/exchange-a-workload-identity-token
"""

from typing import Any

from gradegate.files.documents import table
from gradegate.providers.api.chat_model import CompatibleService
from gradegate.providers.api.federation import EXCHANGE, JWT, Federation
from gradegate.providers.api.provider import PROVIDERS
from gradegate.security.vendors import Vendor

_OPENROUTER = Federation(
    "OpenRouter",
    "https://openrouter.ai/api/v1/oauth/token",
    Vendor(hosts=("openrouter.ai",)),
    {"grant_type": EXCHANGE, "subject_token_type": JWT},
    subject="subject_token",
    ids={"federation_policy_id": "OPENROUTER_FEDERATION_POLICY_ID"},
    audience="https://openrouter.ai",
    audience_variable="OPENROUTER_IDENTITY_AUDIENCE",
    form=True,
)

for _entry in table("providers", "compatible.yaml"):
    _fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in _entry.items()
        if name != "ids"
    }
    PROVIDERS.register(*_entry["ids"])(
        CompatibleService(
            **_fields, federation=_OPENROUTER if "openrouter" in _entry["ids"] else None
        )
    )
