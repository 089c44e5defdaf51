"""Which hosts gradegate may call, and with which credentials: what a credential is, whose it is, and where it may go.

A credential is a vendor's key variable, what ``apiKeyEnvar`` names, or a variable whose name says so and that the workflow
does not open. A vendor's leaves as the credential of a provider alone, any other one in headers alone; each to its hosts.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from gradegate.security.hosts import (
    Address,
    Host,
    host_at,
    host_of,
    is_inside,
    is_loopback,
    is_metadata_service,
    parse_host,
)
from gradegate.security.secrets import belongs_to_runner, sounds_secret
from gradegate.security.vendors import Vendor
from gradegate.structs import replace

METADATA = (
    "it is a service that gives out the machine's own credentials, so gradegate never calls it"
)
PRIVATE = "it is on this machine or in a private network, and the workflow does not open this host and port"
NO_NAME = "it is not a host name: write letters from a to z, digits and dashes between dots, and other letters as `xn--...`"


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """What may leave the machine. ``bound``: keys are held to their hosts, as always on GitHub.

    ``vendors`` gives all vendors that there are: a vendor's key may be read by a provider of another kind. ``opened`` are the
    variables that the workflow allows in any text, ``named`` those that configs name as the key of a provider. ``awaited`` are
    the hosts that a run waits for.
    """

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    hosts: tuple[Host, ...] = ()
    bound: bool = False
    vendors: Callable[[], Iterable[Vendor]] = tuple
    opened: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    awaited: tuple[Host | None, ...] = ()
    on_runner: bool = False

    def beside(self, other: Self) -> Self:
        """The same, with the keys that another one names."""
        return replace(self, named=self.named | other.named)

    def is_vendors(self, name: str) -> bool:
        """Whether a variable holds a vendor's key, whoever reads it. The names of all sound like it: vendors are many to import."""
        return sounds_secret(name) and any(name in vendor.keys for vendor in self.vendors())

    def is_credential(self, name: str) -> bool:
        """Whether the value of a variable is a credential."""
        return name in self.named or (
            sounds_secret(name) and (name not in self.opened or self.is_vendors(name))
        )

    def signs_as(self, name: str) -> str:
        """The one option that a variable may fill whose value signs, and is never sent; empty for any other variable."""
        return next(
            (option for it in self.vendors() for signing, option in it.signing if signing == name),
            "",
        )

    def is_address(self, name: str, url: str) -> bool:
        """Whether the value of a variable is where an address leads, and no vendor's key."""
        return _leads(self.variables.get(name, ""), url) and not self.is_vendors(name)

    def heads(self, name: str, url: str) -> bool:
        """Whether any header of a request may hold the value of a variable."""
        return (
            not self.is_vendors(name)
            and not belongs_to_runner(name)
            and self.reaches_host(name, url)
        )

    def fits_request(self, name: str, method: str, url: str) -> bool:
        """Whether a request with the value of a variable is one that providers make, where it goes to a vendor.

        So no option of a config sends a key to another API of the same host. For a key of no vendor, this holds where keys are bound.
        """
        owners = self._owners(name)
        if not owners and not (self.bound and self.is_credential(name)):
            return True
        at_owner = [vendor for vendor in owners if self._serves(vendor, url)]
        return self._is_made(at_owner or self.vendors(), method, url)

    def fits_signed(self, method: str, url: str) -> bool:
        """Whether a request that a token or a signing key signs is one that providers make, where it goes to a vendor."""
        return self._is_made(self.vendors(), method, url)

    def _is_made(self, vendors: Iterable[Vendor], method: str, url: str) -> bool:
        serving = [vendor for vendor in vendors if self._serves(vendor, url)]
        return not serving or any(vendor.makes(method, url, self.variables) for vendor in serving)

    def _serves(self, vendor: Vendor, url: str) -> bool:
        """Whether an address is a vendor's. Where keys are bound, so is one that the environment gives to it, unless the workflow lists the host."""
        if vendor.owns(url):
            return True
        return self.bound and not self._is_listed(url) and vendor.is_set(url, self.variables)

    def leads_to_vendor(self, url: str) -> bool:
        """Whether an address is a vendor's own, or one that the environment gives to a vendor."""
        return any(vendor.takes(url, self.variables) for vendor in self.vendors())

    def _is_listed(self, url: str) -> bool:
        """Whether the workflow lists the host of an address."""
        return any(host.takes(url) for host in self.hosts)

    def _owners(self, name: str) -> list[Vendor]:
        """The vendors whose key a variable holds, or who signs in at them."""
        return [vendor for vendor in self.vendors() if name in (*vendor.keys, *vendor.ids)]

    def reaches_host(self, name: str, url: str, *, listed: bool = False) -> bool:
        """Whether the value of a variable may go to the host of an address.

        A credential of no vendor goes where the environment leads providers, too; ``listed``: where the workflow lists hosts alone.
        """
        if not self.bound or self._is_listed(url) or _leads(self.variables.get(name, ""), url):
            return True
        if owners := self._owners(name):
            return any(vendor.takes(url, self.variables) for vendor in owners)
        free = not listed and self.is_credential(name) and not belongs_to_runner(name)
        return free and any(vendor.is_set(url, self.variables) for vendor in self.vendors())

    def objection(self, url: str, address: Address | None = None) -> str:
        """Why the host of a URL may not be asked, or nothing. ``address`` is what its name led to, where that is known.

        On a runner, loopback is a private network, and a host is opened there with its port; elsewhere it is opened as a whole.
        """
        host = host_at(url)
        if host is None:
            return NO_NAME
        if is_metadata_service(host.name, address):
            return METADATA
        is_own = not self.on_runner and is_loopback(host.name, address)
        if not self.bound or is_own or not is_inside(host.name, address):
            return ""
        openings = filter(None, self._openings())
        is_open = any(opening.opens(host, not self.on_runner) for opening in openings)
        return "" if is_open else PRIVATE

    def _openings(self) -> Iterator[Host | None]:
        """What the workflow lists or waits for, and where its environment leads providers: to other addresses, and through proxies."""
        yield from (*self.hosts, *self.awaited)
        for vendor in self.vendors():
            for name in vendor.addresses:
                yield host_of(self.variables.get(name, ""))
        for name, value in self.variables.items():
            if re.fullmatch("(https?|all)_proxy", name, re.IGNORECASE):
                yield host_of(value)


def _leads(value: str, url: str) -> bool:
    """Whether the value of a variable is where an address leads: that address, or its host as names of hosts look."""
    named = re.fullmatch(r"[\w.-]+:\d{1,5}|(?:[\w-]+\.)+\w+(?::\d{1,5})?|localhost", value)
    host = host_of(value) if "://" in value else parse_host(value) if named else None
    return host is not None and host.takes(url)
