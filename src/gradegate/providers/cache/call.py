"""One question to a provider: what it cost, whether its reply was in the cache, and whether it may go there.

Where in a run a question is asked is part of its key, so that no reply stands for two asks: two equal cases, or three
equal questions of one grader, are asked for apart, and each finds its own reply again. It is kept in a context, which
threads inherit (``gather`` of ``http/crew``): between a grader and the client there are providers, to whom it means nothing.
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
from typing import Any, Protocol, Self, TypeVar

from gradegate.core.usage import NO_USAGE, Usage
from gradegate.http.budget import Budget
from gradegate.http.exchange import HttpRequest, Response
from gradegate.http.response_cache import CURRENT_CALL, ResponseCache
from gradegate.providers.cache.seals import OPEN, SCHEMA, Stored
from gradegate.security.redaction import excerpt

TARGET = "target"
GRADER = "grader"


T = TypeVar("T")


class Questioned(Protocol):
    """What a question has to know of a provider."""

    name: str
    repeatable: bool
    budget: Budget

    @property
    def rates(self) -> tuple[float, float] | None:
        """US dollars per token read and written."""


@dataclass(eq=False)
class Occasion:
    """A place in a run from which one question after another is asked; ``names`` are those of the places below it."""

    replies: ResponseCache
    role: str
    path: tuple[Any, ...]
    names: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    asked: Counter[bytes] = field(default_factory=Counter)

    def below(self, *steps: Any, role: str = "") -> Occasion:
        """A part of it whose questions may be asked at the same time as those of other parts."""
        return Occasion(self.replies, role or self.role, (*self.path, *steps))

    def key(self, ask: HttpRequest) -> tuple[bytes, bytes]:
        """The key of a request, another one each time and the same in a run that asks the same; and that of its replies' HMACs."""
        told, under = self.replies.keys_of(ask, self.role)
        digest = hashlib.sha256(
            repr((SCHEMA, self.role, self.path, told)).encode("utf-8", "backslashreplace")
        )
        digest.update(hashlib.sha256(ask.content or b"").digest())
        same = digest.digest()
        self.asked[same] += 1
        digest.update(self.asked[same].to_bytes(8, "big"))
        return digest.digest(), under


_OCCASION: ContextVar[Occasion | None] = ContextVar("occasion", default=None)
# Where questions of this thread are asked; None where no reply is looked up or kept
occasion = _OCCASION.get


class at:  # noqa: N801 - used as a function is, and in half the time that a generator takes
    """What is asked meanwhile is asked there; None: whatever the cache holds."""

    __slots__ = ("_before", "_occasion")

    def __init__(self, occasion: Occasion | None) -> None:
        self._occasion = occasion

    def __enter__(self) -> None:
        self._before = _OCCASION.set(self._occasion)

    def __exit__(self, *error: object) -> None:
        _OCCASION.reset(self._before)


def apart(number: int, task: Callable[[], T]) -> Callable[[], T]:
    """The task with a place of its own below this thread's: tasks that run at once share no count of what was asked."""
    here = occasion()
    if here is None:
        return task
    place = here.below(number)

    def run() -> T:
        with at(place):
            return task()

    return run


class Question:
    """A question, however many requests it takes; what is sent in its ``with`` is sent for it.

    One without an occasion is always asked. With ``afresh`` the cache is neither read nor written.
    """

    def __init__(self, provider: Questioned, *, afresh: bool = False) -> None:
        self._provider = provider
        self.model = provider.name, provider.rates  # as budgets tell models apart
        here = None if afresh else occasion()
        self._occasion = here if provider.repeatable else None
        self._found = 0
        self._heard: list[tuple[tuple[bytes, bytes], Response]] = []
        self._key = b"", OPEN
        self._usage = NO_USAGE
        self._unpaid = 0  # replies whose price is not told yet
        self._paid = False

    def __enter__(self) -> Self:
        self._before = CURRENT_CALL.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        CURRENT_CALL.reset(self._before)
        if error[0] is not None:
            self.paid(Usage(1, unpriced=1))

    def find_response(self, ask: HttpRequest) -> Response | None:
        """The response to a request, if the cache has it."""
        if self._occasion is None:
            return None
        self._key = self._occasion.key(ask)
        stored = self._occasion.replies.find(*self._key)
        self._found += stored is not None
        return stored and Response(
            200, {"content-type": stored.kind}, stored.body, ask.host, stored.seconds
        )

    def record_response(self, response: Response) -> None:
        """Remember the response to the last request, until it is known whether it holds what was asked for."""
        whole = response.is_success
        self._unpaid += whole
        if self._occasion is not None and whole:
            self._heard.append((self._key, response))

    def replace_response(self, response: Response) -> None:
        """The last response has only begun what was asked for, and this one has ended it."""
        if self._heard:
            self._heard[-1] = self._heard[-1][0], response

    def booked(self, usage: Usage) -> Usage:
        """What the reply costs now, of what it costs whoever asks; it is on the account of the run from here on."""
        self._usage = usage
        if self._found and not self._heard and self._occasion is not None:
            self._occasion.replies.add_saving(usage.cost)
            return Usage(cached=self._found, saved=usage.cost)
        if not self._paid:
            self._provider.budget.spend(usage, self._unpaid, self.model)
            self._unpaid = 0
        return usage

    def paid(self, usage: Usage) -> None:
        """What the last reply costs, where it is not ``booked`` as all that was asked for; nothing where it was known."""
        if self._unpaid:
            self._unpaid -= 1
            self._paid = True
            self._provider.budget.spend(usage, model=self.model)

    def keep(self) -> None:
        """The reply holds what was asked for: a later run may have it."""
        for key, response in self._heard if self._occasion is not None else ():
            usage = json.dumps({"tokens": self._usage.tokens, "usd": self._usage.known_cost})
            kind = response.headers.get("content-type", "")
            model = ""
            with suppress(ValueError, RecursionError):
                model = named_model(json.loads(response.body))
            stored = Stored(
                time.time(),
                model or self._provider.name,
                usage,
                kind,
                float(response.seconds),
                response.body,
            )
            self._occasion.replies.put(*key, stored)  # type: ignore[union-attr]  # as above
        self._heard = []


def named_model(content: Any) -> str:
    """The model that a response names; an empty string where it names none."""
    named = content.get("model") or content.get("modelVersion") if isinstance(content, dict) else ""
    # Half a sign is no text
    return excerpt(named, 200).encode(errors="replace").decode() if isinstance(named, str) else ""


def paid(usage: Usage) -> None:
    """What the last reply to this thread's question costs."""
    call = CURRENT_CALL.get()
    if isinstance(call, Question):
        call.paid(usage)
