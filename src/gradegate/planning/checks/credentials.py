"""Checks which credentials each provider would send, as what, and to which host."""

import re
from collections.abc import Iterable, Iterator

from gradegate.core.policy import Note
from gradegate.core.provider_spec import ProviderSpec
from gradegate.core.suite import Suite
from gradegate.errors import Mistake, Origin
from gradegate.http.guard import (
    FRAMING_HEADER,
    MIN_SECRET_LENGTH,
    request_addresses,
    unexpected_request,
)
from gradegate.providers.api.json_http import host_of
from gradegate.providers.api.provider import Provider
from gradegate.security.egress import PRIVATE, EgressPolicy
from gradegate.security.environment import FIELD, HEADER, STAND_IN, TEXT, VariableUse
from gradegate.security.hosts import explain_unreachable, host_at
from gradegate.security.secrets import literal_secrets
from gradegate.structs import replace

# The parts of a request that servers and gateways let a header replace. No standard lists these headers, but each names its part.
_PARTS = frozenset("url uri path host forwarded rewrite override".split())


def credential_mistakes(
    bound: Iterable[tuple[ProviderSpec, Provider]], egress: EgressPolicy
) -> Iterator[Mistake]:
    """The mistakes of providers, at each place where a config names one.

    If a provider lacks a key, its stand-in may be what is wrong. Then the missing key is the mistake.
    """
    mistakes_of = {}  # by provider
    places = set()
    # Providers that the config names come first.
    for spec, provider in sorted(bound, key=lambda pair: bool(pair[1].chosen)):
        if provider.chosen and spec.origin in places:
            continue  # it was chosen for the sake of a named one, and has the same mistake
        if provider not in mistakes_of:
            mistakes = provider_mistakes(provider, egress)
            mistakes_of[provider] = provider.missing if mistakes and provider.missing else mistakes
        for mistake in mistakes_of[provider]:
            places.add(spec.origin)
            yield replace(mistake, origin=spec.origin)


def provider_mistakes(provider: Provider, egress: EgressPolicy) -> list[Mistake]:
    """Why a provider may not ask its host, or may not send what it would send there."""
    if not provider.url:
        return []
    stand_ins = {mistake.missing: STAND_IN for mistake in provider.missing}
    egress = replace(egress, variables={**egress.variables, **stand_ins})
    unreachable = explain_unreachable(provider.url, egress.variables)
    if unreachable:
        why, cure = unreachable
        what = f"`{provider.name}` cannot be called: {why}"
        return [Mistake(what, provider.origin, cure)]
    objection = egress.objection(provider.url)
    if objection:
        what = f"`{provider.name}` would ask {provider.host}: {objection}"
        cure = "name another host"
        if objection == PRIVATE:
            cure = f"name it in the workflow: <--ready {host_at(provider.url)}> or <--allowed-hosts {provider.host}>"
        return [Mistake(what, provider.origin, cure)]

    config = provider.spec.config if provider.spec else {}
    headers = dict(config.get("headers") or {})
    for name, value in headers.items():
        problem = _header_problem(str(name).strip().lower(), str(value), provider)
        if problem:
            what = f"the header `{name}` of `{provider.name}` {problem}"
            return [Mistake(what, provider.origin, "remove it")]

    addresses = request_addresses(provider.url, headers)
    mistakes: list[Mistake] = []
    for use in sorted(provider.uses):
        mistakes += _use_mistakes(use, provider, egress, addresses)
    return list(dict.fromkeys(mistakes))


def _header_problem(name: str, value: str, provider: Provider) -> str | None:
    """Why a provider cannot send a header. An application may need `Host`, the name by which it is known."""
    if name == FRAMING_HEADER:
        return "sets where a request ends, which gradegate does itself"
    if not value.replace("\t", "").isprintable():
        return "has a character that does not print"
    names_part = not _PARTS.isdisjoint(re.split("[-_]", name))
    replaces_part = names_part and provider.fields and name != "host"
    if provider.uses and (replaces_part or "method" in name):
        return "makes another request of one with a key"
    return None


def notes_on_written_keys(suite: Suite) -> Iterator[Note]:
    """A note for each key that a config contains itself, instead of the name of a variable."""
    cure = "everybody who reads the file can use it; make a new key, and write `apiKeyEnvar: NAME`"
    for spec in suite.provider_specs():
        from_environment = set(spec.drawn)  # names of options that a variable fills in
        for use in spec.reads:
            from_environment.add(use.place.partition(".")[0])
        for name, value in (*spec.config.items(), *spec.env.items()):
            if name not in from_environment and _is_key(name, value):
                origin = spec.places.get(name, spec.origin)
                yield Note(f"`{name}` of `{spec.name}` contains a key: {cure}", origin)
    for name, value in suite.env.literals.items():
        if name not in suite.env.drawn and _is_key(name, value):
            yield Note(f"`{name}` in `env` contains a key: {cure}", Origin(suite.file))


def _is_key(name: str, value: object) -> bool:
    """Whether an option contains a secret; a shorter one is for a server that takes any."""
    return any(len(text) >= MIN_SECRET_LENGTH for text in literal_secrets(value, name))


def _use_mistakes(
    use: VariableUse, provider: Provider, egress: EgressPolicy, addresses: Iterable[str]
) -> Iterator[Mistake]:
    """Why a provider may not send a variable at all as it would, or why not to some of these addresses."""
    mistake = _forbidden_use(use, provider, egress)
    if mistake:
        yield mistake
        return

    # A key goes only to its hosts, and only with the requests that it is for.
    name = use.variable
    for url in addresses:
        if not egress.reaches_host(name, url, listed=not provider.fields):
            host = host_of(url)
            what = f"`{provider.name}` would send {name} to {host}, which is not a host of that key"
            cure = f"allow it: <--allowed-hosts {host}>"
            if not egress.is_vendor_key(name):
                cure += f", or, if it is not a secret, `allowed-env: {name}`"
            yield Mistake(what, provider.origin, cure)
    if not egress.fits_request(name, provider.method, provider.url):
        problem = unexpected_request(name, provider.method, provider.url)
        what = f"`{provider.name}`: {problem}"
        yield Mistake(what, provider.origin, "correct the address in its config")


def _forbidden_use(use: VariableUse, provider: Provider, egress: EgressPolicy) -> Mistake | None:
    """Why a provider may not send a variable as what it would send it, to whatever host."""
    name = use.variable
    sent = FIELD if use.sent == TEXT and use.place in provider.fields else use.sent
    would_send = f"`{provider.name}` would send {name}"

    # The secret of a signature is never sent itself.
    signs_as = egress.signing_option(name)
    is_default_key = (
        not use.place
        and name in provider.vendor.keys
        and not (provider.spec and "apiKeyEnvar" in provider.spec.config)
    )
    if signs_as and sent == FIELD and not is_default_key and use.place != signs_as:
        what = f"{would_send}, which is for signing and must not be sent"
        cure = f"write it as `{signs_as}` of a `bedrock` provider, or leave it to the environment"
        return Mistake(what, provider.origin, cure)

    # A vendor's key is sent only as a credential, and only by that vendor's providers.
    is_vendor_key = egress.is_vendor_key(name)
    if is_vendor_key and sent != FIELD:
        what = "`http:` is for applications and sends no vendor's key"
        cure = "give the gateway's key its own variable name, or use the vendor's provider"
        if provider.fields:
            what = "a vendor's key is sent only as the credential of a provider"
            cure = f"write `apiKeyEnvar: {name}`"
        return Mistake(f"{would_send} in `{use.place}`: {what}", provider.origin, cure)
    if is_vendor_key and name not in provider.vendor.keys and not provider.takes_keys_of_hosts:
        what = f"{would_send}, which is another vendor's key"
        cure = f"name a key of its own, or use the provider that {name} belongs to"
        return Mistake(what, provider.origin, cure)

    # Any other credential is sent only in the credential field or in headers.
    may_be_in_text = not egress.is_credential(name) or egress.is_address(name, provider.url)
    if sent not in (FIELD, HEADER) and not may_be_in_text:
        what = f"{would_send} in `{use.place}`: a credential is sent only in headers"
        cure = f"send it in `headers`, or, if it is not a secret, write `allowed-env: {name}` in the workflow"
        return Mistake(what, provider.origin, cure)
    return None
