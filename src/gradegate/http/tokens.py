"""Tokens that are minted when they are needed: once for all threads, anew before they end, and not again and again in vain."""

import math
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from gradegate.errors import ProviderError, Trouble
from gradegate.http.credentials import Credential, bearer_header
from gradegate.security.redaction import remember
from gradegate.structs import NamedTexts

RENEWAL_SHARE = 2 / 3  # of a token's life, after which another is minted
PATIENCE = 30.0  # seconds before it is tried again after a refusal, or after
FAILURES = 3  # in a row of a kind that may pass, each of which has been tried for several seconds
MAX_LIFETIME = 43_200.0  # seconds of a life: who says more is not believed


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its life in seconds from now."""

    text: str = field(repr=False)
    seconds: float


Mint = Callable[[], Token]


class MintedToken(Credential):
    """The token of one account. Any number of threads take it; one of them mints, the others wait or take the one before."""

    def __init__(self, mint: Mint) -> None:
        self._mint = mint
        self._minting = threading.Lock()
        # A token with the times of the monotonic clock at which it is renewed and at which it ends: no clock that is set wrong matters.
        self._held: tuple[str, float, float] | None = None
        self._accepted: NamedTexts = {}  # fields of the last token that was answered
        self._failure: ProviderError | None = None
        self._failed = -math.inf  # when
        self._failures = 0  # in a row

    def make_fields(self, method: str, url: str, body: bytes) -> NamedTexts:
        """The token as a bearer token. Raises ProviderError where none can be minted."""
        return bearer_header(self.take_token())

    def record_success(self, fields: NamedTexts) -> None:
        """The vendor has answered to the token in these fields."""
        self._accepted = fields

    def may_renew(self, fields: NamedTexts) -> bool:
        """Whether another token may be taken in place of a refused one: it was accepted before, or is not the last.

        One that was refused from the start is not too old: another would be refused as well.
        """
        if self._held is not None and bearer_header(self._held[0]) == fields:
            if self._accepted != fields:
                return False
            self._held = None
        return True

    def take_token(self) -> str:
        """A token that has not ended. Raises ProviderError where none can be minted."""
        (text, renewed, ends), now = self._held or ("", 0.0, 0.0), time.monotonic()
        if text and now < renewed:
            return text
        if not self._minting.acquire(blocking=not text or now >= ends):
            return text
        try:
            (text, renewed, ends), now = self._held or ("", 0.0, 0.0), time.monotonic()
            if text and now < renewed:  # another thread was first
                return text
            try:
                return self._minted(now)
            except ProviderError:
                if not text or now >= ends:
                    raise
                return text
        finally:
            self._minting.release()

    def _minted(self, now: float) -> str:
        failure = self._failure
        lasts = failure is not None and (
            failure.trouble is Trouble.SETUP or self._failures >= FAILURES
        )
        if failure is not None and lasts and now < self._failed + PATIENCE:
            raise ProviderError(str(failure), failure.trouble, asked=failure.asked)
        try:
            token = self._mint()
        except ProviderError as e:
            self._failure, self._failed, self._failures = e, time.monotonic(), self._failures + 1
            raise
        remember(token.text)
        life = min(token.seconds, MAX_LIFETIME)
        self._failure = None
        self._failures = 0
        self._held = (
            token.text,
            now + life * RENEWAL_SHARE,
            now + life,
        )  # from when it was asked for
        return token.text


class Tokens:
    """The tokens of a run, by account."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accounts: dict[Hashable, MintedToken] = {}

    def for_account(self, account: Hashable, mint: Mint) -> MintedToken:
        """The one token of an account, whoever asks first."""
        with self._lock:
            return self._accounts.setdefault(account, MintedToken(mint))


def parse_lifetime(value: object) -> float:
    """Seconds as a reply gives them. Raises ProviderError for what is no time to live."""
    fine = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
    if (
        not fine
        and isinstance(value, str)
        and value.isascii()
        and value.isdigit()
        and len(value) < 10
    ):  # Entra ID's first version
        value, fine = int(value), int(value) > 0
    if not fine:
        raise ProviderError("it does not say how long its token is valid")
    return float(value)  # type: ignore[arg-type]  # a number, as was just seen
