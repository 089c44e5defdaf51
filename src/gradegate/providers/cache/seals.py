"""The signature of a kept reply, which proves who wrote it: its key follows from the credential of the request."""

import hmac
import json
from base64 import b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from gradegate.http.exchange import HttpRequest
from gradegate.structs import NamedTexts

SCHEMA = 2  # grows when a key or a column changes its meaning; it is in the names of the files
SALT = b"gradegate cache v2"
VARIABLE = "GRADEGATE_CACHE_SECRET"
# Characters of a credential from which a key follows: a shorter one could be found by trying
SHORTEST = 20
SHORTEST_SECRET = 32  # of the workflow's own
OPEN = b""  # the seal key of what anybody may have written: its HMAC only shows damage
_PASSING = "_ACCESS_TOKEN"  # ending of the names of tokens that end with the job, as Google's


class StoredReply(NamedTuple):
    """A reply: when it came (seconds since 1970), from which model, what it cost, and as it was sent."""

    at: float
    model: str
    usage: str  # JSON
    kind: str  # its content type
    seconds: float  # that it took
    body: bytes

    def sign(self, key: bytes, seal_key: bytes) -> bytes:
        """HMAC-SHA256 of the reply and of ``key``, which is a digest of the request and its scope."""
        row = {
            **self._asdict(),
            "body": b64encode(self.body).decode(),
            "key": key.hex(),
            "version": SCHEMA,
        }
        text = json.dumps(row, sort_keys=True, separators=(",", ":"))
        return hmac.digest(seal_key, text.encode(), "sha256")


@dataclass(frozen=True)
class Seals:
    """``credentials`` of the environment, by variable; ``secret`` is the workflow's own, and wins."""

    credentials: NamedTexts = field(default_factory=dict, repr=False)
    secret: str = field(default="", repr=False)

    def identify(self, request: HttpRequest, role: str) -> tuple[tuple[str, ...], bytes]:
        """The texts that identify a request, without its body and its credentials; and the key that seals replies to it.

        Names stand in place of the credentials. The seal key follows from these, so no reply serves a request with another
        credential.
        """
        headers = sorted(f"{name.lower()}: {text}" for name, text in request.headers.items())
        texts, names = _name_credentials(
            (request.method, request.url, *headers),
            tuple(self.credentials.items()),
        )

        secret = self.secret
        if not secret:
            lasting = [self.credentials[name] for name in names if not name.endswith(_PASSING)]
            secret = "\0".join(value for value in lasting if len(value) >= SHORTEST)
        if not secret:
            return texts, OPEN
        info = f"{role} {request.host}"
        return texts, hkdf(_encode(secret), SALT, _encode(info))


@lru_cache(1024)  # called for each request, mostly with the same texts
def _name_credentials(
    texts: tuple[str, ...], credentials: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts with names in place of credentials, and these names. ``credentials`` are pairs of a name and a value.

    The longer of two credentials is replaced first. A name stands between two signs that no request contains.
    """
    names = []
    for name, value in sorted(credentials, key=lambda pair: (-len(pair[1]), pair[0])):
        if any(value in text for text in texts):
            texts = tuple(text.replace(value, f"\0{name}\0") for text in texts)
            names.append(name)
    return texts, tuple(names)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


@lru_cache(1024)
def hkdf(secret: bytes, salt: bytes, info: bytes, length: int = 32) -> bytes:
    """A key of so many bytes, at most 8,160, that follows from a secret: RFC 5869 with SHA-256."""
    root = hmac.digest(salt, secret, "sha256")
    key = b""
    block = b""
    for number in range(1, -(-length // 32) + 1):
        block = hmac.digest(root, block + info + bytes([number]), "sha256")
        key += block
    return key[:length]
