"""Hosts that a key may go to, addresses that are never called, and those that the network of this process does not reach."""

import ipaddress
import re
import socket
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from gradegate import REPOSITORY
from gradegate.errors import ConfigError, Mistake
from gradegate.security.environment import split_names
from gradegate.structs import FrozenStruct

_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
# Services that hand out a machine's own credentials, beside the link-local ones: of Alibaba, Oracle, Azure, AWS, Google.
_SERVICES = (
    "100.100.100.200 192.0.0.192 168.63.129.16 fd00:ec2::254 fd00:ec2::23 fd20:ce::254".split()
)
_METADATA = frozenset(map(ipaddress.ip_address, _SERVICES))
_METADATA_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data"}
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
NOBODY = (
    "nobody.invalid"  # a name that leads nowhere (RFC 2606): any host that is named has keys bound
)
_PUBLIC = ipaddress.ip_network("2000::/3")  # all that is handed out of version 6 (RFC 4291)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
MOST_KEPT = 1_000  # hosts of which is kept what their addresses spell, since each call asks
NETWORK = "GRADEGATE_NETWORK"  # the image says "container", whoever starts it on the network of the machine "host"


class Host(FrozenStruct):
    """Where a key may go. No scheme, or no port, stands for any."""

    name: str
    port: int | None = None
    scheme: str = ""

    def takes(self, url: str) -> bool:
        """Whether an address is at this host."""
        other = host_at(url)
        if (
            other is None
            or other.name != self.name
            or (self.scheme and other.scheme != self.scheme)
        ):
            return False
        return self.port is None or self.port == other.port

    def opens(self, host: "Host", any_port: bool) -> bool:
        """Whether naming this host opens another one in a private network: its port alone, and without one the usual ones."""
        ports = [self.port] if self.port else _PORTS.values()
        return host.name == self.name and (any_port or host.port in ports)

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return (
            (f"{self.scheme}://" if self.scheme else "")
            + name
            + (f":{self.port}" if self.port else "")
        )


@lru_cache(MOST_KEPT)
def host_at(url: str) -> Host | None:
    """The host of an address, with scheme and port; None where a request to it could not be made, or would go elsewhere.

    A name is what who resolves it would read: an escape, or a letter that one standard writes as others and a later one keeps,
    makes it another host's.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        name = _normal((parts.hostname or "").removesuffix("."))
    except ValueError:
        return None
    if parts.scheme not in _PORTS or "\\" in url or not (_NAME.fullmatch(name) or _literal(name)):
        return None
    return Host(name, port or _PORTS[parts.scheme], parts.scheme)


def parse_host(written: str) -> Host | None:
    """A host as a workflow writes it: ``host``, ``host:port`` or ``https://host``; None for anything else.

    A pattern is none: who can make ``*.example.com`` point somewhere cannot be told from here.
    """
    text = written.strip().lower()
    whole = text if "://" in text else f"http://{text}"
    host = host_at(whole)
    if (
        host is None
        or (parts := urlsplit(whole)).username is not None
        or parts.query
        or parts.fragment
    ):
        return None
    if "://" in text:
        return host
    return Host(host.name, parts.port) if not parts.path.strip("/") else None


def parse_hosts(written: Iterable[str]) -> tuple[Host, ...]:
    """The hosts of ``allowed-hosts``. Raises ConfigError with every one that is none."""
    named = {text: parse_host(text) for text in split_names(written)}
    cure = "write host, host:port or https://host, each host by its whole name"
    wrong = [
        Mistake(f"`{text}` in `allowed-hosts` is not a host", None, cure)
        for text in named
        if not named[text]
    ]
    if wrong:
        raise ConfigError(*wrong)
    return tuple(host for host in named.values() if host)


def host_of(value: str) -> Host | None:
    """The host that a variable with an address in it is about: ``https://host/v1``, or ``host`` alone."""
    text = value.strip()
    if "://" in text:
        return host_at(text)
    return host_at(f"https://{text}") if text and not re.search(r"[\s@]", text) else None


# --- addresses of machines --------------------------------------------------------------------------------------


@lru_cache(MOST_KEPT)
def parse_address(name: str) -> Address | None:
    """The address that a host name spells: in dots, as one number, in octal or hex, or of version 6."""
    return _literal(_normal(name.strip("[]").rstrip(".")))


def is_metadata_service(name: str, address: Address | None = None) -> bool:
    """Whether a host is one that nobody may ask: it hands out a machine's own credentials."""
    plain = name.lower().rstrip(".")
    if plain in _METADATA_NAMES or plain.endswith(".metadata.google.internal"):
        return True
    address = address or parse_address(plain)
    spelt = {_unwrapped(address)} if address else set()
    # However it carries one of version 4: there are many ways
    if isinstance(address, ipaddress.IPv6Address):
        spelt.add(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return any(it in _METADATA or it.is_link_local for it in spelt)


def is_inside(name: str, address: Address | None = None) -> bool:
    """Whether a host is this machine or inside somebody's network: by the address that its name led to, else by its name."""
    address = address or parse_address(name)
    return is_loopback(name, address) or (address is not None and not _is_public(address))


def is_loopback(name: str, address: Address | None = None) -> bool:
    """Whether a host is this machine: by the address that its name led to, else by its name. So is 0.0.0.0, for who connects."""
    address = address or parse_address(name)
    if address is None:
        return f".{name}".endswith(".localhost")
    address = _unwrapped(address)
    return address.is_loopback or address.is_unspecified


def _is_public(address: Address) -> bool:
    address = _unwrapped(address)
    handed_out = address.version == 4 or address in _PUBLIC
    return handed_out and address.is_global and not address.is_multicast


def _unwrapped(address: Address) -> Address:
    """The address of version 4 that one of version 6 carries."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and address in _NAT64:
        inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if inner is None and int(address) >> 32 == 0 and int(address) > 1:  # ::a.b.c.d
        inner = ipaddress.IPv4Address(int(address))
    return inner or address


def _literal(name: str) -> Address | None:
    try:
        return ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        pass
    try:  # what connecting takes for an address, too: 2130706433, 0x7f.1, 0177.0.0.1
        if re.fullmatch(r"[0-9a-fx.]+", name):
            return ipaddress.ip_address(socket.inet_aton(name))
        return None
    except (OSError, ValueError):
        return None


def _normal(name: str) -> str:
    """The name as it is compared: lower case, in ASCII, and an address in its usual spelling.

    One with letters that IDNA 2003 replaces stays as it is, as is no name: IDNA 2008, by which requests are sent, keeps some
    of them, so that `aßets.example` is not `assets.example`.
    """
    lower = name.lower()
    if not lower.isascii():
        with suppress(UnicodeError):
            written = lower.encode("idna")
            lower = written.decode() if written.decode("idna") == lower else lower
    address = _literal(lower)
    return str(address) if address is not None else lower


# --- the network of this process --------------------------------------------------------------------------------


def explain_unreachable(url: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Why an address leads nowhere from here, and what to change; None where it leads somewhere.

    An action in its own container cannot reach what listens on the runner's loopback: the container's is itself.
    """
    host = host_at(url)
    if environ.get(NETWORK) != "container" or host is None or not is_loopback(host.name):
        return None
    what = f"{host.name} is the container of the action, not the runner, so an application from an earlier step is not there"
    gateway = read_gateway(Path("/proc/net/route"))
    other = (
        f"; or start the application on 0.0.0.0, and write {gateway} in place of {host.name}"
        if gateway
        else ""
    )
    return (
        what,
        f"write `uses: {REPOSITORY}@...` without `/container`, which shares the runner's network{other}",
    )


def read_gateway(routes: Path) -> str:
    """The address of the default route in a file like ``/proc/net/route``; an empty string where there is none."""
    try:
        lines = [line.split() for line in routes.read_text().splitlines()[1:]]
        default = next((parts[2] for parts in lines if parts[1] == "0" * 8), "")
        return socket.inet_ntoa(struct.pack("=I", int(default, 16))) if default else ""
    except (OSError, ValueError, IndexError, struct.error):
        return ""
