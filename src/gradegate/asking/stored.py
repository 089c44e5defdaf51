"""What the cache holds of a reply."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

SCHEMA = 1  # grows when a key or a column changes its meaning; the names of the files hold it


class Stored(NamedTuple):
    """A reply: when it came (seconds since 1970), from which model, what it cost, and as it was sent."""

    at: float
    model: str
    usage: str  # JSON
    kind: str  # its content type
    seconds: float  # that it took
    body: bytes

    def proof(self, key: bytes) -> bytes:
        """Tells a reply that was damaged, or that belongs to another key."""
        text = repr((SCHEMA, key, self.at, self.model, self.usage, self.kind, self.seconds))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass") + self.body).digest()
