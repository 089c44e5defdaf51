"""The last look at a request before it leaves: no key goes where it has no business, whatever brought it there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gradegate.access.egress import PRIVATE, Egress
from gradegate.access.encodings import Traces
from gradegate.access.hosts import Address
from gradegate.errors import ProviderError, Trouble


@dataclass(frozen=True)
class Guard:
    """``keys`` are variables of the environment with their values."""

    egress: Egress = Egress()
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    seen: dict[tuple[str, str], dict[str, Traces]] = field(default_factory=dict, repr=False)

    def check(self, url: str, headers: Mapping[str, str], content: bytes | None) -> None:
        """Raises ProviderError for a request that carries a key to a host that is not the key's."""
        foreign = self._foreign(url) if self.egress.bound and self.keys else {}
        if not foreign:
            return
        text = "\n".join([url, *headers.values(), (content or b"").decode("utf-8", "replace")])
        for name, traces in foreign.items():
            if traces.shows(text):
                raise ProviderError(f"the request holds {name}, which does not go to this host", Trouble.SETUP)

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
