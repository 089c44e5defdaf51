"""The network of this process: an action in its own container cannot reach what listens on the runner's loopback."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from pathlib import Path

from gradegate import REPOSITORY
from gradegate.access.hosts import host_at, literal

VARIABLE = "GRADEGATE_NETWORK"  # the image says "container", whoever starts it on the network of the machine "host"
_ROUTES = Path("/proc/net/route")


def unreachable(url: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Why an address leads nowhere from here, and what to change; None where it leads somewhere.

    Loopback of a container is the container itself.
    """
    host = host_at(url)
    if environ.get(VARIABLE) != "container" or host is None or not is_loopback(host.name):
        return None
    what = f"{host.name} is the container of the action, not the runner, so an application from an earlier step is not there"
    gateway = gateway_of(_ROUTES)
    other = f"; or start the application on 0.0.0.0, and write {gateway} in place of {host.name}" if gateway else ""
    return what, f"write `uses: {REPOSITORY}@...` without `/container`, which shares the runner's network{other}"


def is_loopback(name: str) -> bool:
    """Whether a host is the machine itself by its name."""
    address = literal(name)
    return name == "localhost" or name.endswith(".localhost") or (address is not None and address.is_loopback)


def gateway_of(routes: Path) -> str:
    """The address of the default route in a file like ``/proc/net/route``; an empty string where there is none."""
    try:
        lines = [line.split() for line in routes.read_text().splitlines()[1:]]
        found = next((parts[2] for parts in lines if parts[1] == "0" * 8), "")
        return socket.inet_ntoa(struct.pack("=I", int(found, 16))) if found else ""
    except (OSError, ValueError, IndexError, struct.error):
        return ""
