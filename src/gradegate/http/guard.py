"""The last check before a request leaves: a credential may be only in the field that gradegate's own code fills."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from gradegate.errors import ProviderError, Trouble
from gradegate.security.egress import PRIVATE, EgressPolicy
from gradegate.security.environment import STAND_IN
from gradegate.security.hosts import Address, host_at
from gradegate.security.redaction import minted_token_traces
from gradegate.security.secret_traces import SearchableText, SecretTraces
from gradegate.structs import JsonObject, NamedTexts

# The end of a request follows from its body. Another header for it would let a part of the body pass as a request of its own.
FRAMING_HEADER = "transfer-encoding"
# Characters. The guard does not search for a shorter credential, which may be a word of any answer.
MIN_SECRET_LENGTH = 16

MISSING_KEY = "the request was not sent, because its key is missing"
_STAND_IN = SecretTraces.from_whole_secrets([STAND_IN])


def request_addresses(url: str, headers: JsonObject) -> tuple[str, ...]:
    """The addresses to which a request goes: its URL, and one for each header ``Host``, by which shared servers choose a site."""
    scheme = urlsplit(url).scheme
    addresses = [url]
    for name, text in headers.items():
        if name.strip().lower() == "host":
            addresses.append(f"{scheme}://{str(text).strip()}/")
    return tuple(addresses)


@dataclass(frozen=True)
class Guard:
    """Searches requests for the credentials of the environment and for minted tokens, as they are and encoded."""

    egress: EgressPolicy = EgressPolicy()

    def check_request(
        self, method: str, url: str, headers: NamedTexts, content: bytes | None
    ) -> None:
        """Raises ProviderError for a host that must not be called, and for a credential outside of the credential field.

        A header may contain a credential of no vendor if its host may have it. A URL may contain the variable that it is made of.
        """
        self.check_host(url)

        body = (content or b"").decode("utf-8", "replace")
        everything = SearchableText.from_text("\n".join([url, *headers, *headers.values(), body]))
        if minted_token_traces().are_in(everything):
            raise _withheld_error("a token of this job")
        if _STAND_IN.are_in(everything):
            raise ProviderError(MISSING_KEY, Trouble.WITHHELD)
        if not self._all_traces.are_in(everything):
            return

        addresses = request_addresses(url, headers)
        address = SearchableText.from_text(url)
        header_values = SearchableText.from_text("\n".join(headers.values()))
        other_text = SearchableText.from_text("\n".join([*headers, body]))
        for names, traces in self._traces:
            if traces.are_in(other_text):
                raise _withheld_error(names[0])
            may_be_url = any(self.egress.is_address(name, url) for name in names)
            if traces.are_in(address) and not may_be_url:
                raise _withheld_error(names[0])
            if traces.are_in(header_values) and not self._may_be_header(names, method, addresses):
                raise _withheld_error(names[0])

    def check_credential(
        self, method: str, url: str, headers: NamedTexts, fields: NamedTexts
    ) -> None:
        """Raises ProviderError if ``fields`` contain a credential that must not go to this host, or not in this request."""
        text = SearchableText.from_text("\n".join(fields.values()))
        if _STAND_IN.are_in(text):
            raise ProviderError(MISSING_KEY, Trouble.WITHHELD)
        if not self._all_traces.are_in(text):
            return

        addresses = request_addresses(url, headers)
        for names, traces in self._traces:
            if not traces.are_in(text):
                continue
            names_of_host = [name for name in names if self._reaches_hosts(name, addresses)]
            if not names_of_host:
                raise ProviderError(
                    f"the request holds {names[0]}, which must not go to this host",
                    Trouble.WITHHELD,
                )
            if not any(self.egress.fits_request(name, method, url) for name in names_of_host):
                raise ProviderError(unexpected_request(names[0], method, url), Trouble.WITHHELD)

    def check_signed_request(self, method: str, url: str, headers: NamedTexts) -> None:
        """Raises ProviderError for a request with a token that no provider makes, or with a header that names another host."""
        if not self.egress.fits_signed(method, url):
            raise ProviderError(unexpected_request("a token", method, url), Trouble.WITHHELD)
        hosts = {host_at(address) for address in request_addresses(url, headers)}
        if len(hosts) > 1:
            raise ProviderError(
                "the header Host names another host, and tokens never go there", Trouble.SETUP
            )

    def check_host(self, url: str, address: Address | None = None) -> None:
        """Raises ProviderError for a host that must not be called, by its name or by the address that the name led to."""
        objection = self.egress.objection(url, address)
        if objection:
            host = str(host_at(url)).partition("//")[2] or "the host"
            cure = f": `allowed-hosts: {host}`" if objection == PRIVATE else ""
            raise ProviderError(f"{host} is not called: {objection}{cure}", Trouble.SETUP)

    def _may_be_header(self, names: Sequence[str], method: str, addresses: Sequence[str]) -> bool:
        """Whether a header of a config may contain one of these variables. The first address is the URL."""
        for name in names:
            fits_hosts = all(self.egress.fits_header(name, address) for address in addresses)
            if fits_hosts and self.egress.fits_request(name, method, addresses[0]):
                return True
        return False

    def _reaches_hosts(self, name: str, addresses: Sequence[str]) -> bool:
        """Whether the value of a variable may go to the hosts of all addresses."""
        return all(self.egress.reaches_host(name, address) for address in addresses)

    @cached_property
    def _secrets(self) -> dict[str, tuple[str, ...]]:
        """The variables of each credential. The same credential may have a second variable for a gateway."""
        secrets: dict[str, tuple[str, ...]] = {}
        for name, value in self.egress.variables.items():
            secret = value.strip()
            if len(secret) >= MIN_SECRET_LENGTH and self.egress.is_credential(name):
                secrets[secret] = (*secrets.get(secret, ()), name)
        return secrets

    @cached_property
    def _traces(self) -> list[tuple[tuple[str, ...], SecretTraces]]:
        """For each credential the names of its variables, and what to search for."""
        return [
            (names, SecretTraces.from_whole_secrets([secret]))
            for secret, names in self._secrets.items()
        ]

    @cached_property
    def _all_traces(self) -> SecretTraces:
        return SecretTraces.from_whole_secrets(self._secrets)


def unexpected_request(key: str, method: str, url: str) -> str:
    """The message that a key may go to a host, but not in this request."""
    parts = urlsplit(url)
    return f"{key} does not go into `{method} {parts.path or '/'}` at {parts.hostname}: no provider makes this request there"


def _withheld_error(secret: str) -> ProviderError:
    return ProviderError(
        f"the request holds {secret} outside the credential field of a provider, so it was not sent; "
        "if the variable is not a secret, name it in `allowed-env`",
        Trouble.WITHHELD,
    )
