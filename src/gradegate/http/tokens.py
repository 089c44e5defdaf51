"""Tokens that are minted when a request needs one: once for all threads, and again before they end."""

import math
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from gradegate.errors import ProviderError, Trouble
from gradegate.http.credentials import Credential, bearer_header
from gradegate.security.redaction import redact_from_now_on
from gradegate.structs import NamedTexts

RENEWAL_SHARE = 2 / 3  # of a token's lifetime, after which a new token is minted
RETRY_SECONDS = 30.0  # after a lasting failure, before minting is tried again
# So many failures in a row are lasting, whatever their kind. Each was retried for several seconds.
MAX_FAILURES = 3
MAX_LIFETIME = 43_200.0  # seconds; a longer lifetime is not believed


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its lifetime in seconds from now."""

    text: str = field(repr=False)
    seconds: float


class _StoredToken(NamedTuple):
    """A token with times of the monotonic clock, which no wrong setting of a clock changes."""

    text: str
    renews_at: float
    ends_at: float

    def is_recent(self, now: float) -> bool:
        """Whether no new token needs to be minted yet."""
        return now < self.renews_at

    def has_ended(self, now: float) -> bool:
        """Whether the vendor no longer accepts the token."""
        return now >= self.ends_at


Mint = Callable[[], Token]


class MintedToken(Credential):
    """The token of one account. Any number of threads take it; one mints, the others wait or take the old token."""

    def __init__(self, mint: Mint) -> None:
        self._mint = mint
        self._minting = threading.Lock()
        self._token: _StoredToken | None = None
        self._accepted_fields: NamedTexts = {}  # of the last request that was answered
        self._failure: ProviderError | None = None
        self._failure_time = -math.inf
        self._failures = 0  # in a row

    def make_fields(self, method: str, url: str, body: bytes) -> NamedTexts:
        """The token as a bearer token. Raises ProviderError if no token can be minted."""
        return bearer_header(self.take_token())

    def record_success(self, fields: NamedTexts) -> None:
        """Note that the vendor accepted the token in these fields."""
        self._accepted_fields = fields

    def discard_refused(self, fields: NamedTexts) -> bool:
        """Discard the refused token of these fields. Returns whether the vendor may accept another token."""
        token = self._token
        if token is None or bearer_header(token.text) != fields:
            return True  # another thread has discarded or replaced the token already

        if fields != self._accepted_fields:
            # The token was never accepted, so it is not too old. Another one would be refused as well.
            return False

        self._token = None
        return True

    def take_token(self) -> str:
        """A token that has not ended. Raises ProviderError if no token can be minted."""
        token = self._token
        now = time.monotonic()
        if token and token.is_recent(now):
            return token.text

        # While another thread mints, take the old token. If that has ended, wait for the new one.
        must_wait = token is None or token.has_ended(now)
        if not self._minting.acquire(blocking=must_wait):
            assert token
            return token.text
        try:
            return self._renew_token()
        finally:
            self._minting.release()

    def _renew_token(self) -> str:
        """Mint a token, in one thread at a time. If that fails, the old token is good until it ends."""
        token = self._token
        now = time.monotonic()
        if token and token.is_recent(now):  # another thread was first
            return token.text

        try:
            return self._mint_token(now)
        except ProviderError:
            if token is None or token.has_ended(now):
                raise
            return token.text

    def _mint_token(self, now: float) -> str:
        """Mint a token and store it. Raises ProviderError, after a lasting failure without another try."""
        failure = self._failure
        if failure and self._is_lasting(failure) and now < self._failure_time + RETRY_SECONDS:
            # Each thread raises an error of its own.
            raise ProviderError(
                str(failure), failure.trouble, refusing_model=failure.refusing_model
            )

        try:
            token = self._mint()
        except ProviderError as e:
            self._failure = e
            self._failure_time = time.monotonic()
            self._failures += 1
            raise
        self._failure = None
        self._failures = 0

        redact_from_now_on(token.text)
        # The lifetime counts from the time of the request for the token.
        lifetime = min(token.seconds, MAX_LIFETIME)
        self._token = _StoredToken(token.text, now + lifetime * RENEWAL_SHARE, now + lifetime)
        return token.text

    def _is_lasting(self, failure: ProviderError) -> bool:
        """Whether minting would soon fail again: the setup is wrong, or it failed several times in a row."""
        return failure.trouble is Trouble.SETUP or self._failures >= MAX_FAILURES


class Tokens:
    """The tokens of a run, by account."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accounts: dict[Hashable, MintedToken] = {}

    def for_account(self, account: Hashable, mint: Mint) -> MintedToken:
        """The one token of an account; the first caller says how it is minted."""
        with self._lock:
            return self._accounts.setdefault(account, MintedToken(mint))


def parse_lifetime(value: object) -> float:
    """The lifetime in seconds that a reply states. Raises ProviderError if it is not a positive number."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)  # Entra ID's first version
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise ProviderError("it does not say how long its token is valid")
