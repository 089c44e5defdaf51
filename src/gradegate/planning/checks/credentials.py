"""Checks which credentials each provider would send, as what, and to which host."""

import re
from collections.abc import Iterator

from gradegate.core.policy import Note
from gradegate.core.suite import Suite
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.http.guard import (
    FRAMING_HEADER,
    MIN_SECRET_LENGTH,
    request_addresses,
    unexpected_request,
)
from gradegate.providers.api.json_http import host_of
from gradegate.providers.api.provider import Provider
from gradegate.security.egress import PRIVATE, Egress
from gradegate.security.environment import FIELD, HEADER, TEXT, Use
from gradegate.security.hosts import host_at, unreachable
from gradegate.security.secrets import written_secrets

# The parts of a request that servers and gateways let a header replace. No standard lists these headers, but each names its part.
_PARTS = frozenset("url uri path host forwarded rewrite override".split())


def check(provider: Provider, egress: Egress) -> None:
    """Raises ConfigError for a host that is not asked, and for all that the provider would send where it has no business."""
    if not provider.url:
        return
    if nowhere := unreachable(provider.url, egress.variables):
        why, cure = nowhere
        raise ConfigError.at(f"`{provider.name}` cannot be called: {why}", provider.origin, cure)
    if objection := egress.objection(provider.url):
        what = f"`{provider.name}` would ask {provider.host}: {objection}"
        cure = "name another host"
        if objection == PRIVATE:
            cure = f"name it in the workflow: <--ready {host_at(provider.url)}> or <--allowed-hosts {provider.host}>"
        raise ConfigError.at(what, provider.origin, cure)
    headers = dict((provider.spec.config.get("headers") if provider.spec else None) or {})
    for name, value in headers.items():
        if wrong := _wrong_header(str(name).strip().lower(), str(value), provider):
            what = f"the header `{name}` of `{provider.name}` {wrong}"
            raise ConfigError.at(what, provider.origin, "remove it")
    places = request_addresses(provider.url, headers)
    mistakes: dict[Mistake, None] = {}
    for use in sorted(provider.uses):
        mistakes |= dict.fromkeys(_mistakes(use, provider, egress, places))
    if mistakes:
        raise ConfigError(*mistakes)


def _wrong_header(name: str, value: str, provider: Provider) -> str:
    """Why a provider cannot send a header; empty where it can. An application may be told by which address it is known."""
    if name == FRAMING_HEADER:
        return "sets where a request ends, which gradegate does itself"
    if not value.replace("\t", "").isprintable():
        return "has a character that does not print"
    names_part = provider.fields and name != "host" and _PARTS & set(re.split("[-_]", name))
    if provider.uses and (names_part or "method" in name):
        return "makes another request of one with a key"
    return ""


def written_keys(suite: Suite) -> Iterator[Note]:
    """A note for each key that a config contains itself, instead of the name of a variable."""
    cure = "everybody who reads the file can use it; make a new key, and write `apiKeyEnvar: NAME`"
    for spec in suite.specs():
        shown = {*spec.drawn, *(use.place.partition(".")[0] for use in spec.reads)}
        for name, value in (*spec.config.items(), *spec.env.items()):
            if name not in shown and _is_key(name, value):
                origin = spec.places.get(name, spec.origin)
                yield Note(f"`{name}` of `{spec.name}` contains a key: {cure}", origin)
    for name, value in suite.env.literals.items():
        if name not in suite.env.drawn and _is_key(name, value):
            yield Note(f"`{name}` in `env` contains a key: {cure}", Origin(suite.file))


def _is_key(name: str, value: object) -> bool:
    """Whether an option contains a secret; a shorter one is for a server that takes any."""
    return any(len(text) >= MIN_SECRET_LENGTH for text in written_secrets(value, name))


def _mistakes(
    use: Use, provider: Provider, egress: Egress, places: tuple[str, ...]
) -> Iterator[Mistake]:
    """Of one use: as what it is sent, or else where to."""
    name = use.variable
    sent = FIELD if use.sent == TEXT and use.place in provider.fields else use.sent
    would = f"`{provider.name}` would send {name} in `{use.place}`"
    signs_as = egress.signs_as(name)
    own = (
        not use.place
        and name in provider.vendor.keys
        and not (provider.spec and "apiKeyEnvar" in provider.spec.config)
    )
    if signs_as and sent == FIELD and not own and use.place != signs_as:
        cure = f"write it as `{signs_as}` of a `bedrock` provider, or leave it to the environment"
        what = f"`{provider.name}` would send {name}, which is for signing and must not be sent"
        yield Mistake(what, provider.origin, cure)
        return
    if sent != FIELD and egress.is_vendors(name):
        if provider.fields:
            what = "a vendor's key is sent only as the credential of a provider"
            cure = f"write `apiKeyEnvar: {name}`"
        else:
            what = "`http:` is for applications and sends no vendor's key"
            cure = "give the gateway's key its own variable name, or use the vendor's provider"
        yield Mistake(f"{would}: {what}", provider.origin, cure)
    elif egress.is_vendors(name) and not (
        name in provider.vendor.keys or provider.takes_keys_of_hosts
    ):
        cure = f"name a key of its own, or use the provider that {name} belongs to"
        what = f"`{provider.name}` would send {name}, which is another vendor's key"
        yield Mistake(what, provider.origin, cure)
    elif (
        sent not in (FIELD, HEADER)
        and egress.is_credential(name)
        and not egress.is_address(name, provider.url)
    ):
        cure = f"send it in `headers`, or, if it is not a secret, write `allowed-env: {name}` in the workflow"
        yield Mistake(f"{would}: a credential is sent only in headers", provider.origin, cure)
    else:
        for url in places:
            if not egress.reaches_host(name, url, listed=not provider.fields):
                host = host_of(url)
                what = f"`{provider.name}` would send {name} to {host}, which is not a host of that key"
                cure = _allow(host)
                if not egress.is_vendors(name):
                    cure += f", or, if it is not a secret, `allowed-env: {name}`"
                yield Mistake(what, provider.origin, cure)
        if not egress.fits_request(name, provider.method, provider.url):
            what = f"`{provider.name}`: {unexpected_request(name, provider.method, provider.url)}"
            yield Mistake(what, provider.origin, "correct the address in its config")


def _allow(host: str) -> str:
    return f"allow it: <--allowed-hosts {host}>"
