"""The last look at a request before it leaves: no credential stands anywhere but in the field that our own code fills."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from gradegate.errors import ProviderError, Trouble
from gradegate.security.egress import PRIVATE, Egress
from gradegate.security.environment import STAND_IN
from gradegate.security.hosts import Address, host_at
from gradegate.security.redaction import Traces, whole_tokens
from gradegate.structs import JsonObject, NamedTexts

# What says where a request ends is made of its body: another word for it would let a body go on as a request of its own.
FRAMING_HEADER = "transfer-encoding"
# Characters of a credential that is looked for; a shorter one may be a word of any answer
MIN_SECRET_LENGTH = 16

MISSING_KEY = "the request was not sent, because its key is missing"
_STAND_IN = Traces.whole([STAND_IN])


def request_addresses(url: str, headers: JsonObject) -> tuple[str, ...]:
    """Where a request goes: its address, and the one that a header ``Host`` makes of it, by which servers choose that share one."""
    named = [str(text).strip() for name, text in headers.items() if name.strip().lower() == "host"]
    return (url, *(f"{urlsplit(url).scheme}://{text}/" for text in named))


@dataclass(frozen=True)
class Guard:
    """Knows the credentials of the environment and the tokens that were minted, whole and encoded, by their values."""

    egress: Egress = Egress()

    def check_request(
        self, method: str, url: str, headers: NamedTexts, content: bytes | None
    ) -> None:
        """Raises ProviderError for a host that is not asked, and for a credential in what is beside the credential field of a request.

        Headers may hold one of no vendor where their host may have it, and an address the one that it is made of.
        """
        self.check_host(url)
        body = (content or b"").decode("utf-8", "replace")
        everything = "\n".join([url, *headers, *headers.values(), body])
        if whole_tokens().shows(everything):
            raise _withheld("a token of this job")
        if _STAND_IN.shows(everything):
            raise ProviderError(MISSING_KEY, Trouble.WITHHELD)
        if not self._all.shows(everything):
            return
        places = request_addresses(url, headers)
        shown = "\n".join(headers.values())
        rest = "\n".join([*headers, body])
        for names, traces in self._sought:
            heads = any(
                all(self.egress.heads(name, place) for place in places)
                and self.egress.fits_request(name, method, url)
                for name in names
            )
            leads = any(self.egress.is_address(name, url) for name in names)
            if (
                traces.shows(rest)
                or (traces.shows(url) and not leads)
                or (traces.shows(shown) and not heads)
            ):
                raise _withheld(names[0])

    def check_credential(
        self, method: str, url: str, headers: NamedTexts, field: NamedTexts
    ) -> None:
        """Raises ProviderError for a credential field with a credential that does not go to the host, or not in this request."""
        text = "\n".join(field.values())
        if _STAND_IN.shows(text):
            raise ProviderError(MISSING_KEY, Trouble.WITHHELD)
        for names, traces in self._sought if text and self._all.shows(text) else ():
            if not traces.shows(text):
                continue
            places = request_addresses(url, headers)
            fitting = [
                name
                for name in names
                if all(self.egress.reaches_host(name, place) for place in places)
            ]
            if not fitting:
                what = f"the request holds {names[0]}, which must not go to this host"
                raise ProviderError(what, Trouble.WITHHELD)
            if not any(self.egress.fits_request(name, method, url) for name in fitting):
                raise ProviderError(unexpected_request(names[0], method, url), Trouble.WITHHELD)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The credentials of the environment, of any length."""
        return tuple(self._named)

    @cached_property
    def _named(self) -> Mapping[str, tuple[str, ...]]:
        """Each credential with the variables that hold it: the same may have a name of its own for a gateway."""
        named: dict[str, tuple[str, ...]] = {}
        for name, value in self.egress.variables.items():
            if value.strip() and self.egress.is_credential(name):
                named[value.strip()] = (*named.get(value.strip(), ()), name)
        return named

    @cached_property
    def _sought(self) -> tuple[tuple[tuple[str, ...], Traces], ...]:
        return tuple(
            (names, Traces.whole([text]))
            for text, names in self._named.items()
            if len(text) >= MIN_SECRET_LENGTH
        )

    @cached_property
    def _all(self) -> Traces:
        return Traces.whole(text for text in self._named if len(text) >= MIN_SECRET_LENGTH)

    def check_signed_request(self, method: str, url: str, headers: NamedTexts) -> None:
        """Raises ProviderError for a request that a token is to sign and that no provider makes, or whose headers name another host."""
        if not self.egress.fits_signed(method, url):
            raise ProviderError(unexpected_request("a token", method, url), Trouble.WITHHELD)
        if len({host_at(at) for at in request_addresses(url, headers)}) > 1:
            raise ProviderError(
                "the header Host names another host, and tokens never go there", Trouble.SETUP
            )

    def check_host(self, url: str, address: Address | None = None) -> None:
        """Raises ProviderError for a host that is not asked, by its name or by the address that this led to."""
        if objection := self.egress.objection(url, address):
            host = str(host_at(url)).partition("//")[2] or "the host"
            cure = f": `allowed-hosts: {host}`" if objection == PRIVATE else ""
            raise ProviderError(f"{host} is not called: {objection}{cure}", Trouble.SETUP)


def unexpected_request(key: str, method: str, url: str) -> str:
    """The message that a key may go to a host, but not in this request."""
    parts = urlsplit(url)
    return f"{key} does not go into `{method} {parts.path or '/'}` at {parts.hostname}: no provider makes this request there"


def _withheld(what: str) -> ProviderError:
    return ProviderError(
        f"the request holds {what} outside the credential field of a provider, so it was not sent; "
        "if the variable is not a secret, name it in `allowed-env`",
        Trouble.WITHHELD,
    )
