"""Who serves an API: its keys, its hosts, and the requests that its providers make."""

import functools
import re
from collections.abc import Mapping

from gradegate.security.hosts import host_at, host_of
from gradegate.structs import FrozenStruct

# What may stand for a name in braces: a part of a path that leads to no other path. `%2F` is a slash within a model's name.
_PATH_PART = r"(?:[A-Za-z0-9_@:~+-]|\.(?!\.)|%2F|%3A|%40)+"


class Vendor(FrozenStruct):
    """Who serves an API: the variables that hold its keys, its own hosts, and the variables that name another address.

    ``forms`` are patterns of whole names of hosts, one for each region: of names that nobody but the vendor can make.
    ``ids`` are variables that say who signs in, and are no secrets. ``signing`` are keys that sign and are never sent, each with
    the one option of a provider that it may fill. ``requests`` are all that its providers make, such as
    ``POST /v1/models/{model}:run``; a name in braces stands for one part of the path.
    """

    keys: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    signing: tuple[tuple[str, str], ...] = ()
    requests: tuple[str, ...] = ()

    def takes(self, url: str, variables: Mapping[str, str]) -> bool:
        """Whether its keys may go to an address: at a host of its own over TLS, or where the environment says."""
        return self.owns(url) or self.is_set(url, variables)

    def makes(self, method: str, url: str, variables: Mapping[str, str]) -> bool:
        """Whether one of its providers makes such a request: at a host of its own, or below an address of the environment."""
        if self.owns(url):
            return any(_is_request(request, method, _path_of(url)) for request in self.requests)
        for name in self.addresses:
            base = variables.get(name, "").strip().rstrip("/")
            host, base_path = host_of(base), _path_of(base)
            if host and host.takes(url) and _path_of(url).startswith(f"{base_path}/"):
                # The address has the first parts of the path, such as `/v1`, or stands in front of them.
                rest = _path_of(url).removeprefix(base_path)
                if any(_is_end_of_request(request, method, rest) for request in self.requests):
                    return True
        return False

    def is_set(self, url: str, variables: Mapping[str, str]) -> bool:
        """Whether the environment names the host of an address for it."""
        hosts = (host_of(variables.get(name, "")) for name in self.addresses)
        return any(host.takes(url) for host in hosts if host)

    def owns(self, url: str) -> bool:
        """Whether an address is at a host of the vendor's own, over TLS and at its usual port."""
        host = host_at(url)
        if host is None or (host.scheme, host.port) != ("https", 443):
            return False
        return host.name in self.hosts or any(re.fullmatch(form, host.name) for form in self.forms)

    def serves(self, url: str) -> bool:
        """Whether a token that was minted may go to an address: one of its own, and no other than it seems.

        A config that ends an address with a query would turn the path that is added to it into a part of that, and have
        another path asked.
        """
        return self.owns(url) and not {"?", "#"} & set(url)


def _path_of(address: str) -> str:
    """The path of an address, with its query; empty for a host alone."""
    after_scheme = address.partition("://")[2] or address
    return "".join(after_scheme.partition("/")[1:])


@functools.lru_cache(1024)
def _is_request(declared: str, method: str, path: str) -> bool:
    """Whether a request is the declared one."""
    declared_method, _, template = declared.partition(" ")
    pattern = _PATH_PART.join(map(re.escape, re.split(r"\{\w+\}", template)))
    return method == declared_method and re.fullmatch(pattern, path) is not None


def _is_end_of_request(declared: str, method: str, path: str) -> bool:
    """Whether a path is the declared one, or the end of it from a slash on.

    The end begins with a word of the declaration: a name in braces would let the first part be anything.
    """
    declared_method, _, template = declared.partition(" ")
    starts = [match.start() for match in re.finditer(r"/(?!\{)", template)]
    starts.append(0)
    return any(_is_request(f"{declared_method} {template[at:]}", method, path) for at in starts)
