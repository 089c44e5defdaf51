"""The last look at a request before it leaves: no key goes where it has no business, whatever brought it there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradegate.access.egress import PRIVATE, Egress
from gradegate.access.encodings import LONG
from gradegate.access.hosts import Address
from gradegate.errors import ProviderError, Trouble


@dataclass(frozen=True)
class Guard:
    """``keys`` are variables of the environment with their values."""

    egress: Egress = Egress()
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)

    def check(self, url: str, headers: Mapping[str, str], content: bytes | None) -> None:
        """Raises ProviderError for a request that carries a key to a host that is not the key's."""
        if not self.egress.bound:
            return
        for name, value in self.keys.items():
            carried = len(value) >= LONG and (
                value in url or any(value in text for text in headers.values()) or value.encode() in (content or b"")
            )
            if carried and not self.egress.carries(name, url):
                raise ProviderError(f"the request holds {name}, which does not go to this host", Trouble.SETUP)

    def check_peer(self, name: str, address: Address | None) -> None:
        """Raises ProviderError when a host's name led to an address that is not asked."""
        objection = self.egress.objection(name, address)
        if objection:
            cure = "" if objection != PRIVATE else f"; allow it in the workflow: `allowed-hosts: {name}`"
            raise ProviderError(f"{name} is not asked: {objection}{cure}", Trouble.SETUP)
