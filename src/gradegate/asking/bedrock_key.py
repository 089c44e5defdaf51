"""A short-term key of Amazon Bedrock: a request that credentials of AWS sign, and that stands for them as a bearer token.

Form: https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html, as the ``aws-bedrock-token-generator`` package 1.1
makes it; the signature: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html, version 4 in
the query. Nothing is sent: whoever has the credentials can write the key.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote

SECONDS = 3600  # that a key lives, or the credentials where they end before; the service allows twelve hours
_HOST, _SERVICE, _ALGORITHM = "bedrock.amazonaws.com", "bedrock", "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of a role or a user; ``session`` is the token of temporary ones, empty for others."""

    access_key: str
    secret_key: str = field(repr=False)
    session: str = field(default="", repr=False)


def signed_key(credentials: Credentials, region: str, at: datetime | None = None, seconds: int = SECONDS) -> str:
    """The key for a region, from now or another time (UTC) on."""
    time = (at or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    scope = (time[:8], region, _SERVICE, "aws4_request")
    query = {
        "Action": "CallWithBearerToken",
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": "/".join((credentials.access_key, *scope)),
        "X-Amz-Date": time,
        "X-Amz-Expires": str(seconds),
        "X-Amz-SignedHeaders": "host",
        **({"X-Amz-Security-Token": credentials.session} if credentials.session else {}),
    }
    empty = hashlib.sha256(b"").hexdigest()
    request = "\n".join(("POST", "/", _written(sorted(query.items())), f"host:{_HOST}", "", "host", empty))
    text = "\n".join((_ALGORITHM, time, "/".join(scope), hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{credentials.secret_key}".encode()
    for part in (*scope, text):
        key = hmac.digest(key, part.encode(), "sha256")
    url = f"{_HOST}/?{_written(query.items())}&X-Amz-Signature={key.hex()}&Version=1"
    return "bedrock-api-key-" + base64.b64encode(url.encode()).decode()


def _written(query: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query)
