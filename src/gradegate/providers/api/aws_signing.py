"""Signs requests with the credentials of AWS (Signature Version 4).

A key of Bedrock is a signed request that stands for the credentials as a bearer token, and is not sent: whoever has the credentials
can write it. Form: https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html, as the ``aws-bedrock-token-generator`` package
1.1 makes it. Signatures: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. APIs that take no
such key are served too.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

from gradegate.http.credentials import Credential
from gradegate.structs import NamedTexts

SECONDS = 3600  # that a key lives, or the credentials where they end before; the service allows twelve hours
_HOST = "bedrock.amazonaws.com"
_SERVICE = "bedrock"
_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of a role or a user; ``session`` is the token of temporary ones, empty for others."""

    access_key: str
    secret_key: str = field(repr=False)
    session: str = field(default="", repr=False)


def signed_key(
    credentials: Credentials, region: str, at: datetime | None = None, seconds: int = SECONDS
) -> str:
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
    request = ("POST", "/", _written(sorted(query.items())), f"host:{_HOST}", "", "host")
    url = f"{_HOST}/?{_written(query.items())}&X-Amz-Signature={_signature(credentials, scope, time, request, b'')}&Version=1"
    return "bedrock-api-key-" + base64.b64encode(url.encode()).decode()


@dataclass(frozen=True, slots=True)
class SignedRequests(Credential):
    """Signs each request to an address without a query, with its body."""

    credentials: Credentials
    region: str
    service: str = _SERVICE

    def make_fields(self, method: str, url: str, body: bytes) -> NamedTexts:
        """The headers that sign a request now."""
        time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        place = urlsplit(url)
        scope = (time[:8], self.region, self.service, "aws4_request")
        own = {"X-Amz-Date": time}
        if self.credentials.session:
            own["X-Amz-Security-Token"] = self.credentials.session
        signed = {"host": place.netloc, **{name.lower(): text for name, text in own.items()}}
        names = ";".join(signed)
        lines = [f"{name}:{text}" for name, text in signed.items()]
        request = (method, place.path or "/", "", *lines, "", names)
        signature = _signature(self.credentials, scope, time, request, body)
        account = "/".join((self.credentials.access_key, *scope))
        signed_as = f"Credential={account}, SignedHeaders={names}, Signature={signature}"
        return {**own, "Authorization": f"{_ALGORITHM} {signed_as}"}


def _signature(
    credentials: Credentials,
    scope: Sequence[str],
    time: str,
    request: Sequence[str],
    content: bytes,
) -> str:
    """Of the lines of a canonical request without the last, the hash of its content."""
    canonical = "\n".join((*request, hashlib.sha256(content).hexdigest()))
    text = "\n".join(
        (_ALGORITHM, time, "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest())
    )
    key = f"AWS4{credentials.secret_key}".encode()
    for part in (*scope, text):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()


def _written(query: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query)
