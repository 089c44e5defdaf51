"""One call of a provider: what it cost, whether its reply was in the cache, and whether its reply may be kept.

The place in a run from which a call is made is its scope, and part of the key of its reply. So no reply serves two calls: two
equal cases, or three equal questions to one grader, are asked separately, and each finds its own reply later. The scope is in a
context, which threads inherit (``gather`` of ``http/crew``): providers between a grader and the client know nothing of it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from gradegate.core.usage import NO_USAGE, Usage
from gradegate.http.budget import Budget
from gradegate.http.exchange import HttpRequest, Response
from gradegate.http.response_cache import CURRENT_CALL, ResponseCache
from gradegate.providers.cache.seals import OPEN, SCHEMA, StoredReply
from gradegate.security.redaction import excerpt

TARGET = "target"
GRADER = "grader"


T = TypeVar("T")


class CalledProvider(Protocol):
    """What a call has to know of its provider."""

    name: str
    is_repeatable: bool
    budget: Budget

    @property
    def rates(self) -> tuple[float, float] | None:
        """US dollars per token read and written."""


class ReplyKey(NamedTuple):
    """The key under which the reply to a request is kept, and the key of the HMAC that proves who wrote it."""

    key: bytes
    seal_key: bytes


@dataclass(eq=False)
class CacheScope:
    """A place in a run from which one call after another is made; ``names`` are the steps to the scopes below it."""

    replies: ResponseCache
    role: str
    path: tuple[Any, ...]
    names: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    calls: Counter[bytes] = field(
        default_factory=Counter
    )  # so far, by a digest that equal requests share

    def below(self, *steps: Any, role: str = "") -> CacheScope:
        """A scope for calls that may be made at the same time as those of other scopes."""
        return CacheScope(self.replies, role or self.role, (*self.path, *steps))

    def next_key(self, request: HttpRequest) -> ReplyKey:
        """The key of the reply to a request that is about to be made.

        Equal requests of a scope are numbered, so each has a key of its own: the same in every run that makes the same calls.
        """
        identity, seal_key = self.replies.keys_of(request, self.role)
        place = repr((SCHEMA, self.role, self.path, identity))
        digest = hashlib.sha256(place.encode("utf-8", "backslashreplace"))
        digest.update(hashlib.sha256(request.content or b"").digest())

        equal_requests = digest.digest()
        self.calls[equal_requests] += 1
        number = self.calls[equal_requests]
        digest.update(number.to_bytes(8, "big"))
        return ReplyKey(digest.digest(), seal_key)


_SCOPE: ContextVar[CacheScope | None] = ContextVar("scope", default=None)
# The scope of this thread's calls; None if no reply is looked up or kept
current_scope = _SCOPE.get


class within_scope:  # noqa: N801 - used as a function is, and in half the time that a generator takes
    """Calls made meanwhile belong to a scope; None: the cache is neither read nor written."""

    __slots__ = ("_scope", "_token")

    def __init__(self, scope: CacheScope | None) -> None:
        self._scope = scope

    def __enter__(self) -> None:
        self._token = _SCOPE.set(self._scope)

    def __exit__(self, *error: object) -> None:
        _SCOPE.reset(self._token)


def with_own_scope(number: int, task: Callable[[], T]) -> Callable[[], T]:
    """The task in a scope below this thread's: tasks that run at once share no count of equal requests."""
    scope = current_scope()
    if scope is None:
        return task
    task_scope = scope.below(number)

    def run() -> T:
        with within_scope(task_scope):
            return task()

    return run


class ProviderCall:
    """A call of a provider, however many requests it takes. Requests that are sent inside its ``with`` block belong to it.

    A call without a scope is always sent. With ``afresh`` the cache is neither read nor written.
    """

    def __init__(self, provider: CalledProvider, *, afresh: bool = False) -> None:
        self._provider = provider
        self.model = provider.name, provider.rates  # as budgets tell models apart
        self._scope = current_scope() if provider.is_repeatable and not afresh else None
        self._key = ReplyKey(b"", OPEN)  # of the last request
        self._hits = 0
        self._responses: list[tuple[ReplyKey, Response]] = []
        self._usage = NO_USAGE
        self._unpaid = 0  # replies whose price the budget does not know yet
        self._paid = False  # whether `pay_reply` has charged a reply

    def __enter__(self) -> Self:
        self._token = CURRENT_CALL.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        CURRENT_CALL.reset(self._token)
        if error[0] is not None:
            self.pay_reply(Usage(1, unpriced=1))

    def find_response(self, request: HttpRequest) -> Response | None:
        """The response to a request, if the cache has it."""
        if self._scope is None:
            return None
        self._key = self._scope.next_key(request)
        stored = self._scope.replies.find(*self._key)
        if stored is None:
            return None
        self._hits += 1
        headers = {"content-type": stored.kind}
        return Response(200, headers, stored.body, request.host, stored.seconds)

    def record_response(self, response: Response) -> None:
        """Remember the response to the last request, until it is known whether it is an answer."""
        if not response.is_success:
            return
        self._unpaid += 1
        if self._scope is not None:
            self._responses.append((self._key, response))

    def replace_response(self, response: Response) -> None:
        """Replace the last response, which was only the beginning, with the final one."""
        if self._responses:
            self._responses[-1] = self._responses[-1][0], response

    def book(self, usage: Usage) -> Usage:
        """Charge the usage of the reply to the run's budget, unless it came from the cache; returns what the reply costs now."""
        self._usage = usage
        if self._hits and not self._responses and self._scope is not None:
            self._scope.replies.add_saving(usage.cost)
            return Usage(cached=self._hits, saved=usage.cost)
        if not self._paid:
            self._provider.budget.spend(usage, self._unpaid, self.model)
            self._unpaid = 0
        return usage

    def pay_reply(self, usage: Usage) -> None:
        """Charge the last reply if ``book`` will not charge the whole call; nothing for a reply from the cache."""
        if self._unpaid:
            self._unpaid -= 1
            self._paid = True
            self._provider.budget.spend(usage, model=self.model)

    def keep(self) -> None:
        """Keep the replies for later runs: they contain what was asked for."""
        if self._responses and self._scope is not None:
            usage = json.dumps({"tokens": self._usage.tokens, "usd": self._usage.known_cost})
            for key, response in self._responses:
                self._scope.replies.put(*key, self._stored(response, usage))
        self._responses = []

    def _stored(self, response: Response, usage: str) -> StoredReply:
        model = ""
        with suppress(ValueError, RecursionError):
            model = model_in_response(json.loads(response.body))
        return StoredReply(
            time.time(),
            model or self._provider.name,
            usage,
            response.headers.get("content-type", ""),
            float(response.seconds),
            response.body,
        )


def model_in_response(content: Any) -> str:
    """The model that a response names; an empty string if it names none."""
    if not isinstance(content, dict):
        return ""
    name = content.get("model") or content.get("modelVersion")
    # Half a surrogate pair is no text
    return excerpt(name, 200).encode(errors="replace").decode() if isinstance(name, str) else ""


def pay_reply(usage: Usage) -> None:
    """Charge the last reply of this thread's call."""
    call = CURRENT_CALL.get()
    if isinstance(call, ProviderCall):
        call.pay_reply(usage)
