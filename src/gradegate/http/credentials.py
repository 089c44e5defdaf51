"""How a request is authenticated: fixed keys, minted tokens and signed requests look the same to the client."""

from dataclasses import dataclass, field
from typing import ClassVar

from gradegate.structs import NamedTexts

NO_FIELDS: NamedTexts = {}


class Credential:
    """Makes the headers that authenticate a request.

    A subclass is frozen. The client asks it last, and only for a request that is sent.
    """

    # Whether every request has the same fields. Then the fields say whose replies of the cache may be believed.
    is_fixed: ClassVar[bool] = False

    def make_fields(self, method: str, url: str, body: bytes) -> NamedTexts:
        """The headers that authenticate one request. Raises ProviderError."""
        raise NotImplementedError

    def record_success(self, fields: NamedTexts) -> None:
        """Note that the vendor answered a request with these fields."""

    def discard_refused(self, fields: NamedTexts) -> bool:
        """Discard these fields, which the vendor refused. Returns whether it may accept new fields in their place."""
        return False


@dataclass(frozen=True, slots=True)
class FixedKey(Credential):
    """A key in one header, by default as a bearer token. Without a key it adds nothing."""

    key: str | None = field(repr=False)
    header: str = "Authorization"

    is_fixed = True

    def make_fields(self, method: str, url: str, body: bytes) -> NamedTexts:
        """The same fields for each request."""
        if not self.key:
            return NO_FIELDS
        if self.header == "Authorization":
            return bearer_header(self.key)
        return {self.header: self.key}


NO_CREDENTIAL = FixedKey(None)


def bearer_header(token: str) -> NamedTexts:
    """The header of a bearer token."""
    return {"Authorization": f"Bearer {token}"}
