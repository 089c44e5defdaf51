"""The last look at a request before it leaves: no key goes where it has no business, whatever brought it there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from gradegate.access.egress import PRIVATE, Egress
from gradegate.access.encodings import Traces
from gradegate.access.hosts import Address, host_at
from gradegate.errors import ProviderError, Trouble

# What says where a request ends is made of its body: another word for it would let a body go on as a request of its own.
FRAMING = "transfer-encoding"


def addresses(url: str, headers: Mapping[str, Any]) -> tuple[str, ...]:
    """Where a request goes: its address, and the one that a header ``Host`` makes of it, by which servers choose that share one."""
    named = [str(text).strip() for name, text in headers.items() if name.strip().lower() == "host"]
    return (url, *(f"{urlsplit(url).scheme}://{text}/" for text in named))


@dataclass(frozen=True)
class Guard:
    """``keys`` are variables of the environment with their values."""

    egress: Egress = Egress()
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    seen: dict[tuple[str, str], dict[str, Traces]] = field(default_factory=dict, repr=False)

    def check(self, url: str, headers: Mapping[str, str], content: bytes | None) -> None:
        """Raises ProviderError for a request that carries a key to a host that is not the key's."""
        if not (self.egress.bound and self.keys):
            return
        foreign = {name: traces for at in addresses(url, headers) for name, traces in self._foreign(at).items()}
        if not foreign:
            return
        text = "\n".join([url, *headers.values(), (content or b"").decode("utf-8", "replace")])
        for name, traces in foreign.items():
            if traces.shows(text):
                raise ProviderError(f"the request holds {name}, which does not go to this host", Trouble.SETUP)

    def check_signed(self, url: str, headers: Mapping[str, str]) -> None:
        """Raises ProviderError for a request that a token is to sign and that is meant for another host than its address says."""
        if len({host_at(at) for at in addresses(url, headers)}) > 1:
            raise ProviderError("the header Host names another host, to which no token goes", Trouble.SETUP)

    def _foreign(self, url: str) -> Mapping[str, Traces]:
        """The keys that do not go to the host of an address, by what would show them there."""
        place = urlsplit(url)[:2]
        if place not in self.seen:
            names = [name for name in self.keys if not self.egress.carries(name, url)]
            self.seen[place] = {name: Traces.of([self.keys[name]]) for name in names}
        return self.seen[place]

    def check_peer(self, name: str, address: Address | None) -> None:
        """Raises ProviderError when a host's name led to an address that is not asked."""
        objection = self.egress.objection(name, address)
        if objection:
            cure = "" if objection != PRIVATE else f"; allow it in the workflow: `allowed-hosts: {name}`"
            raise ProviderError(f"{name} is not asked: {objection}{cure}", Trouble.SETUP)
