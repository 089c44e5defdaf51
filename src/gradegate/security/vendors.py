"""Vendors of APIs: which hosts may get their keys, and which requests their providers make."""

import functools
import re
from collections.abc import Mapping

from gradegate.security.hosts import host_at, host_in_value
from gradegate.structs import FrozenStruct

# What a name in braces matches: a part of a path that leads to no other path. `%2F` is a slash within the name of a model.
_PATH_PART = r"(?:[A-Za-z0-9_@:~+-]|\.(?!\.)|%2F|%3A|%40)+"


class Vendor(FrozenStruct):
    """A vendor, as the plug-in of its providers declares it."""

    keys: tuple[str, ...] = ()  # variables with its keys
    hosts: tuple[str, ...] = ()  # its own host names
    addresses: tuple[str, ...] = ()  # variables with another address, such as that of a gateway
    # Patterns of whole host names that only the vendor can register, such as one for each region
    forms: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()  # variables that say who signs in; they are not secret
    # Variables with keys that sign and are never sent, each with the one option of a provider that it may fill
    signing: tuple[tuple[str, str], ...] = ()
    # All requests of its providers, such as `POST /v1/models/{model}:run`. A name in braces matches one part of the path.
    requests: tuple[str, ...] = ()

    def may_get_keys(self, url: str, variables: Mapping[str, str]) -> bool:
        """Whether its keys may go to an address: one of its own hosts over TLS, or the one that ``variables`` set for it."""
        return self.owns(url) or self.has_address(url, variables)

    def makes_request(self, method: str, url: str, variables: Mapping[str, str]) -> bool:
        """Whether one of its providers makes such a request, to its own hosts or below an address that ``variables`` set."""
        path = _path_of(url)
        if self.owns(url):
            return any(_is_request(request, method, path) for request in self.requests)

        for name in self.addresses:
            base = variables.get(name, "").strip().rstrip("/")
            host = host_in_value(base)
            base_path = _path_of(base)
            if not (host and host.matches(url) and path.startswith(f"{base_path}/")):
                continue
            # The base has the first parts of the declared path, such as `/v1`, or comes before them.
            rest = path.removeprefix(base_path)
            if any(_is_end_of_request(request, method, rest) for request in self.requests):
                return True
        return False

    def has_address(self, url: str, variables: Mapping[str, str]) -> bool:
        """Whether ``variables`` set an address for this vendor, and a URL is at the host of that."""
        hosts = (host_in_value(variables.get(name, "")) for name in self.addresses)
        return any(host.matches(url) for host in hosts if host)

    def owns(self, url: str) -> bool:
        """Whether an address is at one of the vendor's own hosts, over TLS and at its usual port."""
        host = host_at(url)
        if host is None or (host.scheme, host.port) != ("https", 443):
            return False
        return host.name in self.hosts or any(re.fullmatch(form, host.name) for form in self.forms)

    def may_get_token(self, url: str) -> bool:
        """Whether a minted token may go to an address: one of the vendor's own, without query and fragment.

        With a query in the address of a config, the path that is added would become a part of the query, and another path
        would be called.
        """
        return self.owns(url) and not {"?", "#"} & set(url)


def _path_of(address: str) -> str:
    """The path of an address, with its query. Empty for a host without path."""
    after_scheme = address.partition("://")[2] or address
    return "".join(after_scheme.partition("/")[1:])


@functools.lru_cache(1024)
def _is_request(declared: str, method: str, path: str) -> bool:
    """Whether a request has the declared method and path."""
    declared_method, _, template = declared.partition(" ")
    pattern = _PATH_PART.join(map(re.escape, re.split(r"\{\w+\}", template)))
    return method == declared_method and re.fullmatch(pattern, path) is not None


def _is_end_of_request(declared: str, method: str, path: str) -> bool:
    """Whether a path is the declared one, or its end from a slash on.

    The end begins with a word of the declaration: after a name in braces, its first part could be anything.
    """
    declared_method, _, template = declared.partition(" ")
    starts = [match.start() for match in re.finditer(r"/(?!\{)", template)]
    starts.append(0)
    return any(_is_request(f"{declared_method} {template[at:]}", method, path) for at in starts)
