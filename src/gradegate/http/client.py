"""One HTTP client for providers and GitHub: pooled, retried, bounded in time and size, and stoppable at once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Container, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from gradegate.access.hosts import Address
from gradegate.errors import ProviderError, Trouble
from gradegate.files.bounds import MAX_BODY
from gradegate.http import retries
from gradegate.http.budget import Budget
from gradegate.http.deadlines import Deadlines, stopped
from gradegate.http.guard import Guard
from gradegate.http.response import Ask, Response
from gradegate.http.tokens import Tokens
from gradegate.replies.question import Replies, current
from gradegate.values.conversation import NO_USAGE
from gradegate.values.settings import RETRIES, TIMEOUT

if TYPE_CHECKING:
    from gradegate.http.adapter import Connections

SIGN_IN_SECONDS, SIGN_IN_RETRIES = 10.0, 2
# The headers that are a provider's credential field, or what makes them for a request that is sent.
Credential = Mapping[str, str] | Callable[[], Mapping[str, str]]
Waits = Callable[[Response], str]  # where to look for what a response has only begun; empty for one that has ended
LONGEST_LOOK = 4.0  # seconds between two looks
NOTHING: Mapping[str, str] = {}


@dataclass(eq=False)
class Client:
    """Sends requests from any number of threads, at most ``slots`` at a time.

    ``timeout`` is the deadline of one call in seconds, retries included. No redirect is followed and no ``.netrc`` is
    read, so a key goes to the host that it was meant for and nowhere else.
    """

    timeout: float = TIMEOUT
    retries: int = RETRIES
    slots: int = 64
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    first_pause: float = 0.5
    guard: Guard = Guard()
    budget: Budget = field(default_factory=Budget)
    replies: Replies | None = None  # the cache, where there is one
    tokens: Tokens = field(default_factory=Tokens)  # that requests are signed in with

    def __post_init__(self) -> None:
        self._connections: Connections | None = None
        self._making = threading.Lock()
        self._free = threading.BoundedSemaphore(self.slots)
        self._hosts = retries.Hosts()
        self._deadlines = Deadlines()
        self._aside: Client | None = None

    def sign_in(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        credential: Mapping[str, str] = NOTHING,
        secret: Mapping[str, str] = NOTHING,
    ) -> Response:
        """One request for a token. It is no question: on no account, in no cache, and over connections of its own.

        ``credential`` are its headers and ``secret`` its members that hold one, and nothing else may. A body is a form where
        ``headers`` say so. Raises ProviderError when there is no answer within a few seconds.
        """
        form = "form" in headers.get("Content-Type", "")
        self.guard.check(url, headers, _written(body, form))
        content = _written(body and {**body, **secret}, form)
        with self._making:
            if self._aside is None:
                self._aside = Client(SIGN_IN_SECONDS, SIGN_IN_RETRIES, environ=self.environ)
            aside = self._aside
        if self._deadlines.stopped:
            aside.stop()
        ask = Ask(method, url, _host(url), {**headers, **credential}, content)
        return aside._send(ask, time.monotonic() + SIGN_IN_SECONDS)  # noqa: SLF001  # as no question

    def _sender(self) -> Connections:
        """Made when something is sent: to import what it takes is a fifth of what it takes to check a config."""
        with self._making:
            if self._connections is None:
                from gradegate.http.adapter import Connections

                self._connections = Connections(self.slots, self.environ, self._look)
            return self._connections

    def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: Any = None,
        timeout: float | None = None,
        credential: Credential = NOTHING,
        most: int = MAX_BODY,
        waits: Waits | None = None,
    ) -> Response:
        """One request; ``body`` is sent as JSON, bytes as they are. Raises ProviderError when there is no answer of at most ``most`` bytes.

        ``credential`` joins under ``headers``, and is made only for a request that is sent. ``waits`` says of a response where to look
        for what it has only begun, at the same host; the response is the one that has ended.
        """
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self.guard.check(url, headers, content)
        own = {name.lower() for name in headers}
        # A token is minted for a request that is sent; another credential says whose replies of the cache may be believed.
        field = {} if callable(credential) else _under(own, credential)
        ask = Ask(method, url, _host(url), {**field, **headers}, content, most)
        question = current()
        known = question.known(ask) if question else None
        if known is not None:  # whether a run is stopped or its budget used up: this costs nothing
            return known
        if callable(credential):
            self.guard.check_signed(url, headers)
            field = _under(own, credential())
        self.guard.check_field(url, headers, field)
        ask = replace(ask, headers={**field, **headers})
        with self._free:  # kept while it waits to ask again, so that a host which is overrun is asked by fewer
            deadline = time.monotonic() + (timeout or self.timeout)
            response = self._send(ask, deadline, question.model if question else None)
            if question:
                question.heard(response)
            if waits:
                response = self._ended(ask, response, waits, deadline)
                if question:
                    question.ended(response)
        return response

    def _ended(self, ask: Ask, response: Response, waits: Waits, deadline: float) -> Response:
        """What a response has begun, once it has ended: it is looked at again and again, which costs nothing. Raises ProviderError."""
        started, seconds, pause = time.monotonic(), response.seconds, self.first_pause / 2
        while 200 <= response.status < 300 and (url := waits(response)):
            if urlsplit(url)[:2] != urlsplit(ask.url)[:2]:
                raise ProviderError(f"{ask.host} redirects to another host, which gradegate does not call", Trouble.MALFORMED)
            if time.monotonic() + pause >= deadline:
                raise ProviderError(f"{ask.host} accepted the request and did not finish in time", Trouble.DEADLINE)
            self._deadlines.pause(pause)
            pause = min(pause * 2, LONGEST_LOOK)
            looked = self._try(replace(ask, method="GET", url=url, content=None), deadline)
            if isinstance(looked, ProviderError) and _is_final(looked):
                raise looked
            if isinstance(looked, Response) and not retries.passes(looked):
                response = replace(looked, seconds=seconds + time.monotonic() - started)
        return response

    def _look(self, name: str, address: Address | None) -> None:
        self.guard.check_peer(name, address)  # whichever guard it is by now

    def stop(self) -> None:
        """Cut every call in flight and refuse further ones."""
        self._deadlines.stop()
        self.budget.stop()
        aside = self._aside
        if aside is not None:
            aside.stop()

    def _send(self, ask: Ask, deadline: float, model: Hashable = None) -> Response:
        left = 0 if self._hosts.is_down(ask.host) else self.retries
        pause = self.first_pause
        while True:
            asked = time.monotonic()
            self.budget.take(model)  # each try is a request that may cost
            deadline += time.monotonic() - asked
            answer = self._try(ask, deadline)
            if not isinstance(answer, Response) or not 200 <= answer.status < 300:
                self.budget.spend(NO_USAGE, model=model)
            if isinstance(answer, Response) and not retries.passes(answer):
                self._hosts.answered(ask.host)
                return answer
            wait = self._wait(answer, ask.host, pause)
            if left <= 0 or time.monotonic() + wait >= deadline or _is_final(answer):
                if isinstance(answer, ProviderError):
                    self._hosts.failed(ask.host)
                    raise answer
                if answer.status != retries.TOO_MANY:  # a host that says so is alive
                    self._hosts.failed(ask.host)
                return answer
            left, pause = left - 1, min(pause * 2, retries.LONGEST_PAUSE)
            self._deadlines.pause(wait)

    def _wait(self, answer: Response | ProviderError, host: str, pause: float) -> float:
        if isinstance(answer, ProviderError):
            return retries.wait(None, pause)
        if answer.status == retries.TOO_MANY:
            self._hosts.too_busy(host)
        return retries.wait(answer, pause)

    def _try(self, ask: Ask, deadline: float) -> Response | ProviderError:
        """The response, or why there is none."""
        with self._deadlines.watch(deadline) as call:
            started = time.monotonic()
            answer: Response | ProviderError
            try:
                answer = self._sender().send(ask, max(deadline - started, 0.001))
            except ProviderError as e:
                answer = e
            # The answer, unless it was cut: what was read until then may look whole, as its end is the connection's.
            if self._deadlines.stopped:
                return stopped()
            late = isinstance(answer, ProviderError) and time.monotonic() >= call.deadline - 0.01
            if call.expired or (late and not _is_final(answer)):
                seconds = time.monotonic() - started
                return ProviderError(f"{ask.host} did not answer within {seconds:.0f} s", Trouble.DEADLINE)
            return answer


def _written(fields: Mapping[str, Any] | None, form: bool) -> bytes | None:
    return None if fields is None else urlencode(fields).encode() if form else json.dumps(fields).encode()


def _is_final(answer: Response | ProviderError) -> bool:
    return isinstance(answer, ProviderError) and answer.trouble is not Trouble.UNREACHABLE


def _under(own: Container[str], credential: Mapping[str, str]) -> dict[str, str]:
    """The headers of a credential that a request does not have itself."""
    return {name: text for name, text in credential.items() if name.lower() not in own}


def _host(url: str) -> str:
    """Host and port. Raises ProviderError."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError as e:
        raise ProviderError(f"the provider cannot be called: {e}", Trouble.SETUP) from e
