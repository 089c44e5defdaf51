"""Decides which hosts gradegate may call, and with which credentials.

A credential is a vendor's key variable, a variable that ``apiKeyEnvar`` names, or a variable that sounds secret and that the
workflow does not open. A vendor's key only leaves as the credential of a provider, any other credential only in headers. Each
goes only to its own hosts.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from gradegate.security.hosts import (
    Address,
    Host,
    host_at,
    host_in_value,
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
    """What may leave the machine, and where it may go."""

    # The environment, with the keys
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    hosts: tuple[Host, ...] = ()  # that the workflow lists in `allowed-hosts`
    bound: bool = False  # whether keys only go to their hosts, as always on GitHub
    # Gives all vendors, because a provider of another kind may read a vendor's key
    vendors: Callable[[], Iterable[Vendor]] = tuple
    opened: frozenset[str] = frozenset()  # variables that the workflow allows in any text
    named: frozenset[str] = frozenset()  # variables that configs name as the key of a provider
    awaited: tuple[Host | None, ...] = ()  # that the run waits for (`ready`)
    on_runner: bool = False  # whether this is a runner of GitHub

    def with_named_keys(self, other: Self) -> Self:
        """The same policy, with the keys that another one names."""
        return replace(self, named=self.named | other.named)

    def is_vendor_key(self, name: str) -> bool:
        """Whether a variable contains a vendor's key. All these sound secret, so most names need no import of all vendors."""
        return sounds_secret(name) and any(name in vendor.keys for vendor in self.vendors())

    def is_credential(self, name: str) -> bool:
        """Whether the value of a variable is a credential."""
        if name in self.named:
            return True
        return sounds_secret(name) and (name not in self.opened or self.is_vendor_key(name))

    def signing_option(self, name: str) -> str:
        """The one option that a variable may fill if its value signs and is never sent. Empty for any other variable."""
        for vendor in self.vendors():
            for signing, option in vendor.signing:
                if signing == name:
                    return option
        return ""

    def is_address(self, name: str, url: str) -> bool:
        """Whether the value of a variable is the address of a URL, and no vendor's key."""
        return _leads(self.variables.get(name, ""), url) and not self.is_vendor_key(name)

    def fits_header(self, name: str, url: str) -> bool:
        """Whether any header of a request may contain the value of a variable."""
        if self.is_vendor_key(name) or belongs_to_runner(name):
            return False
        return self.reaches_host(name, url)

    def fits_request(self, name: str, method: str, url: str) -> bool:
        """Whether providers make such a request with the value of a variable, if it goes to a vendor.

        So no option of a config sends a key to another API of the same host. Keys of no vendor are only checked if keys are bound.
        """
        owners = self._owners(name)
        is_checked = bool(owners) or (self.bound and self.is_credential(name))
        if not is_checked:
            return True
        at_owner = [vendor for vendor in owners if self._is_address_of(vendor, url)]
        return self._is_made(at_owner or self.vendors(), method, url)

    def fits_signed(self, method: str, url: str) -> bool:
        """Whether providers make such a request with a token or a signature, if it goes to a vendor."""
        return self._is_made(self.vendors(), method, url)

    def reaches_host(self, name: str, url: str, *, listed: bool = False) -> bool:
        """Whether the value of a variable may go to the host of an address.

        A vendor's key goes to its vendor. Any other credential may go where the environment sends providers, but with ``listed``
        only to hosts that the workflow lists.
        """
        if not self.bound or self._is_listed(url):
            return True
        if _leads(self.variables.get(name, ""), url):
            return True

        owners = self._owners(name)
        if owners:
            return any(vendor.may_get_keys(url, self.variables) for vendor in owners)

        if listed or not self.is_credential(name) or belongs_to_runner(name):
            return False
        return any(vendor.has_address(url, self.variables) for vendor in self.vendors())

    def leads_to_vendor(self, url: str) -> bool:
        """Whether an address belongs to a vendor, or the environment gives it to a vendor."""
        return any(vendor.may_get_keys(url, self.variables) for vendor in self.vendors())

    def objection(self, url: str, address: Address | None = None) -> str:
        """Why the host of a URL may not be called. Empty if it may be. ``address`` is what its name resolved to, if known.

        On a runner, loopback is a private network, and a host is opened there only with its port.
        """
        host = host_at(url)
        if host is None:
            return NO_NAME
        if is_metadata_service(host.name, address):
            return METADATA
        is_this_machine = not self.on_runner and is_loopback(host.name, address)
        if not self.bound or is_this_machine or not is_inside(host.name, address):
            return ""
        for opening in self._openings():
            if opening and opening.opens(host, any_port=not self.on_runner):
                return ""
        return PRIVATE

    def _is_made(self, vendors: Iterable[Vendor], method: str, url: str) -> bool:
        """Whether a vendor at this address makes such a request. At an address of no vendor, any request is made."""
        at_address = [vendor for vendor in vendors if self._is_address_of(vendor, url)]
        if not at_address:
            return True
        return any(vendor.makes_request(method, url, self.variables) for vendor in at_address)

    def _is_address_of(self, vendor: Vendor, url: str) -> bool:
        """Whether an address belongs to a vendor.

        If keys are bound, an address that the environment sets for the vendor does, too, unless the workflow lists its host.
        """
        if vendor.owns(url):
            return True
        return self.bound and not self._is_listed(url) and vendor.has_address(url, self.variables)

    def _is_listed(self, url: str) -> bool:
        """Whether the workflow lists the host of an address."""
        return any(host.matches(url) for host in self.hosts)

    def _owners(self, name: str) -> list[Vendor]:
        """The vendors of a key, or of a variable that says who signs in."""
        return [vendor for vendor in self.vendors() if name in (*vendor.keys, *vendor.ids)]

    def _openings(self) -> Iterator[Host | None]:
        """The hosts that the workflow lists or waits for, and those of addresses and proxies in its environment."""
        yield from (*self.hosts, *self.awaited)
        for vendor in self.vendors():
            for name in vendor.addresses:
                yield host_in_value(self.variables.get(name, ""))
        for name, value in self.variables.items():
            if re.fullmatch("(https?|all)_proxy", name, re.IGNORECASE):
                yield host_in_value(value)


def _leads(value: str, url: str) -> bool:
    """Whether the value of a variable is the address of a URL, or only its host."""
    host = None
    if "://" in value:
        host = host_in_value(value)
    elif re.fullmatch(r"[\w.-]+:\d{1,5}|(?:[\w-]+\.)+\w+(?::\d{1,5})?|localhost", value):
        host = parse_host(value)
    return host is not None and host.matches(url)
