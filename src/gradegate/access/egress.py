"""Who may be asked, and with whose keys: a key goes to its own hosts and to those that the workflow allows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from gradegate.access.hosts import (
    Address,
    Host,
    Vendor,
    allowed,
    bound_by,
    covers,
    host_at,
    is_private,
    literal,
    refused,
)

METADATA = "it is a service that hands out a machine's own credentials, which is never asked"
PRIVATE = "it is an address inside a private network"
NO_NAME = (
    "it is no name of a host, which has letters from a to z, digits and dashes between dots, and others as `xn--...`"
)


@dataclass(frozen=True, slots=True)
class Egress:
    """What may leave the machine. ``bound``: keys are held to their hosts, as always on GitHub.

    ``vendors`` gives all vendors that there are: a vendor's key may be read by a provider of another kind.
    """

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    hosts: tuple[Host, ...] = ()
    bound: bool = False
    vendors: Callable[[], Iterable[Vendor]] = tuple

    def carries(self, name: str, url: str) -> bool:
        """Whether the value of a variable may go to an address."""
        if not self.bound or covers(self.hosts, url):
            return True
        if is_address(self.variables.get(name, ""), url):
            return True
        return any(name in vendor.keys and vendor.takes(url, self.variables) for vendor in self.vendors())

    def objection(self, name: str, address: Address | None = None) -> str:
        """Why a host may not be asked, or nothing. ``address`` is what its name led to, where that is known."""
        if refused(name, address):
            return METADATA
        address = address or literal(name)
        if not self.bound or address is None or not is_private(address) or self._is_named(name):
            return ""
        return PRIVATE

    def reaches(self, url: str) -> str:
        """The same for the host of an address, by its name alone."""
        host = host_at(url)
        return self.objection(host.name) if host else NO_NAME

    def _is_named(self, name: str) -> bool:
        """Whether the workflow names the host: in the list of allowed ones, or as an address in the environment."""
        host = host_at(f"http://[{name}]" if ":" in name else f"http://{name}")
        own = {vendor_host.name for vendor_host in self.hosts} | self._addressed()
        return host is not None and host.name in own

    def _addressed(self) -> set[str]:
        """The hosts of addresses that the environment holds for providers, and of its proxies."""
        names = {name for vendor in self.vendors() for name in vendor.addresses}
        names |= {name for name in self.variables if name.lower().endswith("_proxy")}
        hosts = (bound_by(self.variables.get(name, "")) for name in names)
        return {host.name for host in hosts if host}


def is_address(value: str, url: str) -> bool:
    """Whether the value of a variable is where an address leads: that address, or its host as names of hosts look."""
    if "://" in value:
        own = bound_by(value)
        return own is not None and own.takes(url)
    host = allowed(value) if re.fullmatch(r"[\w.-]+:\d{1,5}|(?:[\w-]+\.)+\w+(?::\d{1,5})?|localhost", value) else None
    return host is not None and host.takes(url)
