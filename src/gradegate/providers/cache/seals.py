"""What the cache holds of a reply, and who can have written it: the key of its HMAC follows from the credential that asked."""

import hmac
import json
from base64 import b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from gradegate.http.exchange import HttpRequest
from gradegate.structs import NamedTexts

SCHEMA = 2  # grows when a key or a column changes its meaning; the names of the files hold it
SALT = b"gradegate cache v2"
VARIABLE = "GRADEGATE_CACHE_SECRET"
# Characters of a credential that a key follows from: a shorter one could be found by trying
SHORTEST = 20
SHORTEST_SECRET = 32  # of the workflow's own
OPEN = b""  # the key of what anybody may have written: its HMAC tells damage alone
_PASSING = "_ACCESS_TOKEN"  # a name that ends so holds a token that ends with the job, as Google's


class Stored(NamedTuple):
    """A reply: when it came (seconds since 1970), from which model, what it cost, and as it was sent."""

    at: float
    model: str
    usage: str  # JSON
    kind: str  # its content type
    seconds: float  # that it took
    body: bytes

    def mac(self, key: bytes, under: bytes) -> bytes:
        """HMAC-SHA256 of the whole row: of the reply, and of the request and its place, which ``key`` is a digest of."""
        row = {
            **self._asdict(),
            "body": b64encode(self.body).decode(),
            "key": key.hex(),
            "version": SCHEMA,
        }
        return hmac.digest(
            under, json.dumps(row, sort_keys=True, separators=(",", ":")).encode(), "sha256"
        )


@dataclass(frozen=True)
class Seals:
    """``credentials`` of the environment, by variable; ``secret`` is the workflow's own, and wins."""

    credentials: NamedTexts = field(default_factory=dict, repr=False)
    secret: str = field(default="", repr=False)

    def of(self, ask: HttpRequest, kind: str) -> tuple[tuple[str, ...], bytes]:
        """All of a request but its body, with the names of credentials in their place, and the key of HMACs of replies to it.

        What is left out of the first so is part of the second: no reply stands for one that was asked for with something else.
        """
        headers = sorted(f"{name.lower()}: {text}" for name, text in ask.headers.items())
        told, named = _told((ask.method, ask.url, *headers), tuple(self.credentials.items()))
        lasting = [self.credentials[name] for name in named if not name.endswith(_PASSING)]
        secret = self.secret or "\0".join(value for value in lasting if len(value) >= SHORTEST)
        secret_bytes, info = (
            text.encode("utf-8", "backslashreplace") for text in (secret, f"{kind} {ask.host}")
        )
        return told, hkdf(secret_bytes, SALT, info) if secret else OPEN


@lru_cache(1024)  # asked for each request, and mostly the same
def _told(
    texts: tuple[str, ...], credentials: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts with the names of credentials between signs that no request holds, and the names; of two in one the longer."""
    named = []
    for name, value in sorted(credentials, key=lambda pair: (-len(pair[1]), pair[0])):
        if any(value in text for text in texts):
            texts = tuple(text.replace(value, f"\0{name}\0") for text in texts)
            named.append(name)
    return texts, tuple(named)


@lru_cache(1024)
def hkdf(secret: bytes, salt: bytes, info: bytes, length: int = 32) -> bytes:
    """So many bytes, at most 8,160, that follow from a secret: RFC 5869 with SHA-256."""
    root = hmac.digest(salt, secret, "sha256")
    key = b""
    block = b""
    for number in range(1, -(-length // 32) + 1):
        block = hmac.digest(root, block + info + bytes([number]), "sha256")
        key += block
    return key[:length]
