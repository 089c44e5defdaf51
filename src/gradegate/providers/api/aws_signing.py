"""Signs requests with the credentials of AWS (Signature Version 4).

A key of Bedrock is a signed request that is never sent: it serves as a bearer token, which whoever has the credentials can write. Form: https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html, as the ``aws-bedrock-token-generator`` package
1.1 makes it. Signatures: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. Requests
to APIs that take no such key are signed.
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

# Seconds that a key lives, unless its credentials end earlier; the service allows twelve hours
SECONDS = 3600
_HOST = "bedrock.amazonaws.com"
_SERVICE = "bedrock"
_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """Credentials of a role or a user; ``session`` is the token of temporary ones, empty for others."""

    access_key: str
    secret_key: str = field(repr=False)
    session: str = field(default="", repr=False)


def make_bearer_key(
    credentials: AwsCredentials, region: str, at: datetime | None = None, seconds: int = SECONDS
) -> str:
    """The key for a region, valid from now or from another time (UTC)."""
    time = _timestamp(at or datetime.now(UTC))
    scope = (time[:8], region, _SERVICE, "aws4_request")
    fields = {
        "Action": "CallWithBearerToken",
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": "/".join((credentials.access_key, *scope)),
        "X-Amz-Date": time,
        "X-Amz-Expires": str(seconds),
        "X-Amz-SignedHeaders": "host",
    }
    if credentials.session:
        fields["X-Amz-Security-Token"] = credentials.session
    request = ("POST", "/", _encode_query(sorted(fields.items())), f"host:{_HOST}", "", "host")
    signature = _signature(credentials, scope, time, request, b"")
    query = _encode_query(fields.items())
    url = f"{_HOST}/?{query}&X-Amz-Signature={signature}&Version=1"
    return "bedrock-api-key-" + base64.b64encode(url.encode()).decode()


@dataclass(frozen=True, slots=True)
class RequestSigner(Credential):
    """Signs each request to an address without a query, with its body."""

    credentials: AwsCredentials
    region: str
    service: str = _SERVICE

    def make_fields(self, method: str, url: str, body: bytes) -> NamedTexts:
        """The headers that sign a request now."""
        time = _timestamp(datetime.now(UTC))
        headers = {"X-Amz-Date": time}
        if self.credentials.session:
            headers["X-Amz-Security-Token"] = self.credentials.session

        address = urlsplit(url)
        lines = [f"host:{address.netloc}"]
        lines += [f"{name.lower()}:{text}" for name, text in headers.items()]
        names = ";".join(line.partition(":")[0] for line in lines)
        request = (method, address.path or "/", "", *lines, "", names)

        scope = (time[:8], self.region, self.service, "aws4_request")
        signature = _signature(self.credentials, scope, time, request, body)
        account = "/".join((self.credentials.access_key, *scope))
        parts = f"Credential={account}, SignedHeaders={names}, Signature={signature}"
        return {**headers, "Authorization": f"{_ALGORITHM} {parts}"}


def _signature(
    credentials: AwsCredentials,
    scope: Sequence[str],
    time: str,
    request: Sequence[str],
    body: bytes,
) -> str:
    """The signature of a canonical request: its lines, but for the last, which is the hash of its body."""
    canonical = "\n".join((*request, hashlib.sha256(body).hexdigest()))
    request_hash = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join((_ALGORITHM, time, "/".join(scope), request_hash))
    key = f"AWS4{credentials.secret_key}".encode()
    for part in (*scope, text):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()


def _timestamp(at: datetime) -> str:
    return at.strftime("%Y%m%dT%H%M%SZ")


def _encode_query(query: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query)
