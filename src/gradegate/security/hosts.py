"""Reads host names and addresses: which host a URL leads to, which hosts are never called, and which are inside a network."""

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
# Services that give out a machine's own credentials: Alibaba, Oracle, Azure, AWS, Google. All link-local addresses count, too.
_SERVICES = (
    "100.100.100.200 192.0.0.192 168.63.129.16 fd00:ec2::254 fd00:ec2::23 fd20:ce::254".split()
)
_METADATA = frozenset(map(ipaddress.ip_address, _SERVICES))
_METADATA_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data"}
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# A name that leads nowhere (RFC 2606). Naming any host binds keys to their hosts.
NOBODY = "nobody.invalid"
_PUBLIC = ipaddress.ip_network("2000::/3")  # all of version 6 that is assigned (RFC 4291)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
MOST_KEPT = 1_000  # parsed addresses in the cache: every call asks for some
# A variable: "container" in the image, "host" if that runs on the network of the machine
NETWORK = "GRADEGATE_NETWORK"


class Host(FrozenStruct):
    """A host."""

    name: str
    port: int | None = None  # None: any port
    scheme: str = ""  # empty: any scheme

    def matches(self, url: str) -> bool:
        """Whether an address is at this host."""
        host = host_at(url)
        if host is None or host.name != self.name:
            return False
        has_scheme = not self.scheme or host.scheme == self.scheme
        return has_scheme and (self.port is None or self.port == host.port)

    def opens(self, host: "Host", any_port: bool) -> bool:
        """Whether this entry opens a host in a private network: only at its port, or at the usual ports if it has none."""
        ports = [self.port] if self.port else _PORTS.values()
        return host.name == self.name and (any_port or host.port in ports)

    def __str__(self) -> str:
        scheme = f"{self.scheme}://" if self.scheme else ""
        name = f"[{self.name}]" if ":" in self.name else self.name
        port = f":{self.port}" if self.port else ""
        return f"{scheme}{name}{port}"


@lru_cache(MOST_KEPT)
def host_at(url: str) -> Host | None:
    """The host of an address, with scheme and port. None if no request can be made to it, or if it would go elsewhere.

    The name is read as a resolver reads it. A name with an escape, or with a letter that only an older standard replaces, could
    belong to another host.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        name = _normalize_name((parts.hostname or "").removesuffix("."))
    except ValueError:
        return None
    if parts.scheme not in _PORTS or "\\" in url:
        return None
    if not (_NAME.fullmatch(name) or _spelled_address(name)):
        return None
    return Host(name, port or _PORTS[parts.scheme], parts.scheme)


def parse_host(written: str) -> Host | None:
    """A host as a workflow writes it: ``host``, ``host:port`` or ``https://host``. None for anything else.

    Patterns are not allowed: nobody knows from here who can make ``*.example.com`` point somewhere.
    """
    text = written.strip().lower()
    has_scheme = "://" in text
    url = text if has_scheme else f"http://{text}"
    host = host_at(url)
    if host is None:
        return None
    parts = urlsplit(url)
    if parts.username is not None or parts.query or parts.fragment:
        return None
    if has_scheme:
        return host
    return None if parts.path.strip("/") else Host(host.name, parts.port)


def parse_hosts(written: Iterable[str]) -> tuple[Host, ...]:
    """The hosts of ``allowed-hosts``. Raises ConfigError with every text that is not a host."""
    hosts = {text: parse_host(text) for text in split_names(written)}
    cure = "write host, host:port or https://host, each host by its whole name"
    mistakes = [
        Mistake(f"`{text}` in `allowed-hosts` is not a host", None, cure)
        for text, host in hosts.items()
        if not host
    ]
    if mistakes:
        raise ConfigError(*mistakes)
    return tuple(filter(None, hosts.values()))


def host_in_value(value: str) -> Host | None:
    """The host in the value of a variable: ``https://host/v1``, or only ``host``."""
    text = value.strip()
    if "://" in text:
        return host_at(text)
    return host_at(f"https://{text}") if text and not re.search(r"[\s@]", text) else None


# --- addresses of machines --------------------------------------------------------------------------------------


@lru_cache(MOST_KEPT)
def parse_address(name: str) -> Address | None:
    """The address that a host name spells: with dots, as one number, in octal or hex, or of version 6."""
    return _spelled_address(_normalize_name(name.strip("[]").rstrip(".")))


@lru_cache(MOST_KEPT)
def is_metadata_service(name: str, address: Address | None = None) -> bool:
    """Whether a host gives out a machine's own credentials, so that nobody may call it."""
    plain = name.lower().rstrip(".")
    if plain in _METADATA_NAMES or plain.endswith(".metadata.google.internal"):
        return True
    address = address or parse_address(plain)
    if address is None:
        return False
    candidates = {_reached_address(address)}
    if isinstance(address, ipaddress.IPv6Address):
        # There are more ways to write an address of version 4 into one of version 6. Most have it in the last 32 bits.
        candidates.add(_last_32_bits(address))
    return any(candidate in _METADATA or candidate.is_link_local for candidate in candidates)


def is_inside(name: str, address: Address | None = None) -> bool:
    """Whether a host is this machine or in a private network: by its resolved ``address``, else by its name."""
    address = address or parse_address(name)
    return is_loopback(name, address) or (address is not None and not _is_public(address))


def is_loopback(name: str, address: Address | None = None) -> bool:
    """Whether a host is this machine: by its resolved ``address``, else by its name. 0.0.0.0 connects to this machine, too."""
    address = address or parse_address(name)
    if address is None:
        return f".{name}".endswith(".localhost")
    address = _reached_address(address)
    return address.is_loopback or address.is_unspecified


def _is_public(address: Address) -> bool:
    """Whether an address is one of the internet."""
    address = _reached_address(address)
    is_assigned = address.version == 4 or address in _PUBLIC
    return is_assigned and address.is_global and not address.is_multicast


def _reached_address(address: Address) -> Address:
    """The machine that is really reached: many addresses of version 6 lead to the address of version 4 that they contain."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    embedded = address.ipv4_mapped or address.sixtofour  # ::ffff:10.0.0.9, 2002:a00:9::
    if embedded is not None:
        return embedded
    is_compatible = 1 < int(address) < 2**32  # ::10.0.0.9, but not `::` and `::1`
    if is_compatible or address in _NAT64:  # 64:ff9b::10.0.0.9
        return _last_32_bits(address)
    return address


def _last_32_bits(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def _spelled_address(name: str) -> Address | None:
    """The address that a name spells, in any way that a socket accepts. None for any other name."""
    try:
        return ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        pass
    try:  # sockets also accept 2130706433, 0x7f.1 and 0177.0.0.1
        if re.fullmatch(r"[0-9a-fx.]+", name):
            return ipaddress.ip_address(socket.inet_aton(name))
        return None
    except (OSError, ValueError):
        return None


def _normalize_name(name: str) -> str:
    """The name as it is compared: in lower case, in ASCII, and an address in its usual spelling.

    A name with letters that IDNA 2003 replaces stays as it is, so that it is no valid name. Requests are sent by IDNA 2008,
    which keeps some of these letters: `aßets.example` is not `assets.example`.
    """
    lower = name.lower()
    if not lower.isascii():
        with suppress(UnicodeError):
            encoded = lower.encode("idna")
            if encoded.decode("idna") == lower:
                lower = encoded.decode()
    address = _spelled_address(lower)
    return lower if address is None else str(address)


# --- the network of this process --------------------------------------------------------------------------------


def explain_unreachable(url: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Why an address leads nowhere from this process, and what to change. None if it leads somewhere.

    An action in its own container cannot reach the loopback of the runner: the container has its own.
    """
    host = host_at(url)
    if environ.get(NETWORK) != "container" or host is None or not is_loopback(host.name):
        return None
    what = f"{host.name} is the container of the action, not the runner, so an application from an earlier step is not there"
    cure = f"write `uses: {REPOSITORY}@...` without `/container`, which shares the runner's network"
    if gateway := read_gateway(Path("/proc/net/route")):
        cure += (
            f"; or start the application on 0.0.0.0, and write {gateway} in place of {host.name}"
        )
    return what, cure


def read_gateway(routes: Path) -> str:
    """The address of the default route in a file like ``/proc/net/route``. An empty string if there is none."""
    try:
        lines = [line.split() for line in routes.read_text().splitlines()[1:]]
        default = next((parts[2] for parts in lines if parts[1] == "0" * 8), "")
        return socket.inet_ntoa(struct.pack("=I", int(default, 16))) if default else ""
    except (OSError, ValueError, IndexError, struct.error):
        return ""
