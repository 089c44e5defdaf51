"""One HTTP client for providers and GitHub: pooled, retried, bounded in time and size, and stoppable at once.

The headers of API and config, and the credential field of the provider, which our own code fills, stay apart up to the socket, so that
whatever else a request holds can be looked at for credentials.
"""

from __future__ import annotations

import json
import random
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Container, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from gradegate.core.settings import RETRIES, TIMEOUT
from gradegate.core.usage import NO_USAGE
from gradegate.errors import ProviderError, Trouble
from gradegate.files.limits import MAX_BODY
from gradegate.http.budget import Budget, Deadlines, stopped_error
from gradegate.http.credentials import NO_CREDENTIAL, NO_FIELDS, Credential
from gradegate.http.exchange import HttpRequest, Response
from gradegate.http.guard import Guard
from gradegate.http.pacing import FIRST_PAUSE, Lane, Pace, Turn
from gradegate.http.rate_limits import parse_pause, parse_quota
from gradegate.http.response_cache import CURRENT_CALL, ResponseCache
from gradegate.http.tokens import Tokens
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, NamedTexts, replace

if TYPE_CHECKING:
    from gradegate.http.connections import Connections

SIGN_IN_SECONDS = 10.0
SIGN_IN_RETRIES = 2
# Where to look for what a response has only begun; empty for one that has ended
PendingUrl = Callable[[Response], str]
LONGEST_POLL = 4.0  # seconds between two looks
RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 524, 529})
# These 429s are about money, not speed: asking again cannot help.
QUOTA_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated"}
)
UNAUTHORIZED = 401
PASSING_TROUBLES = frozenset(
    {Trouble.UNREACHABLE, Trouble.INCOMPLETE}
)  # without a response; asking again may help
LONGEST_PAUSE = 60.0
# A host that answers so is too busy: the request was not done.
TOO_MANY_REQUESTS = 429
BUSY_STATUSES = frozenset({TOO_MANY_REQUESTS, 503, 529})
LONGEST_BUSY_PAUSE = (
    2.0  # seconds of a refused call before it asks again, where the host announces none
)
FIRST_CALLS = 8  # in flight to a host that is no vendor's, before it has shown that it bears more
# Calls in a row that failed after all retries: further calls to that host are tried once
DEAD_AFTER = 3


def may_retry(answer: Response) -> bool:
    """Whether asking again may help."""
    return answer.status in RETRIED_STATUSES and not _is_out_of_quota(answer)


def _is_out_of_quota(answer: Response) -> bool:
    if answer.status != TOO_MANY_REQUESTS:
        return False
    error = _error_of(answer)
    return not QUOTA_CODES.isdisjoint((str(error.get("code")), str(error.get("type"))))


def _error_of(answer: Response) -> JsonObject:
    """The member ``error`` of a response; empty if there is none."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        error = json.loads(answer.body)["error"]
        return error if isinstance(error, dict) else {}
    return {}


def _message_of(answer: Response) -> str:
    """What a host says of an error, in brackets; empty if it says nothing."""
    message = _error_of(answer).get("message")
    return f" ({excerpt(str(message), 200)})" if message else ""


@dataclass(eq=False)
class Client:
    """Sends requests from any number of threads, to each host under one key at most ``slots`` at a time, at a pace that it bears.

    With ``patience``, in seconds, a call waits for a busy host as long as other calls succeed. Without, a busy host costs retries.
    ``timeout`` is the deadline of one call in seconds, retries included. No redirect is followed and no ``.netrc`` is
    read, so a key goes to the host that it was meant for and nowhere else.
    """

    timeout: float = TIMEOUT
    retries: int = RETRIES
    slots: int = 64
    environ: NamedTexts = field(default_factory=dict, repr=False)
    first_pause: float = FIRST_PAUSE
    ramps: bool = False  # whether calls to a host that is no vendor's begin with a few at a time
    patience: float = 0.0
    guard: Guard = Guard()
    budget: Budget = field(default_factory=Budget)
    replies: ResponseCache | None = None  # the cache, where there is one
    tokens: Tokens = field(default_factory=Tokens)  # that requests are signed in with
    # Models, with their hosts, that answered a call. A reply of the cache proves nothing about the key, so it does not count.
    live_models: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._connections: Connections | None = None
        self._making = threading.Lock()
        self._lanes: dict[Hashable, Lane] = {}
        self._dead = Counter[str]()  # calls in a row to a host that failed after all retries
        self._deadlines = Deadlines()
        self._aside: Client | None = None

    def sign_in(
        self,
        method: str,
        url: str,
        *,
        headers: NamedTexts,
        body: JsonObject | None = None,
        credential: Credential = NO_CREDENTIAL,
        secret: NamedTexts = NO_FIELDS,
    ) -> Response:
        """One request for a token. It is no question: on no account, in no cache, and over connections of its own.

        ``secret`` are members of its body: these and the fields of ``credential`` hold one, and nothing else may. A body is a form
        where ``headers`` say so. Raises ProviderError when there is no answer within a few seconds.
        """
        form = "form" in headers.get("Content-Type", "")
        self.guard.check_request(method, url, headers, _written(body, form))
        content = _written(body and {**body, **secret}, form)
        with self._making:
            if self._aside is None:
                self._aside = Client(SIGN_IN_SECONDS, SIGN_IN_RETRIES, environ=self.environ)
            aside = self._aside
        if self._deadlines.is_stopped:
            aside.stop()
        fields = credential.make_fields(method, url, content or b"")
        ask = HttpRequest(method, url, _host(url), {**headers, **fields}, content)
        answer = aside._send(ask, "", SIGN_IN_SECONDS)  # noqa: SLF001  # as no question
        if answer.is_success:
            self.live_models.add(ask.host)
        return answer

    def _sender(self) -> Connections:
        """Made when something is sent: to import what it takes is a fifth of what it takes to check a config."""
        with self._making:
            if self._connections is None:
                from gradegate.http.connections import Connections

                # Whichever guard it is by then looks. urllib3 keeps what looks as long as the pool, which the client has.
                client = weakref.proxy(self)
                self._connections = Connections(
                    self.slots,
                    self.environ,
                    lambda *seen: client.guard.check_host(*seen),  # noqa: PLW0108
                )
            return self._connections

    def send(
        self,
        method: str,
        url: str,
        *,
        headers: NamedTexts,
        body: Any = None,
        timeout: float | None = None,
        credential: Credential = NO_CREDENTIAL,
        max_bytes: int = MAX_BODY,
        pending_url: PendingUrl | None = None,
    ) -> Response:
        """One request; ``body`` is sent as JSON, bytes as they are. Raises ProviderError when there is no answer of at most ``most`` bytes.

        The fields of ``credential`` join under ``headers``. A token that ended in the middle of a run is renewed once. ``waits`` says
        of a response where to look for what it has only begun, at the same host; the response is the one that has ended.
        """
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self.guard.check_request(method, url, headers, content)
        own = {name.lower(): text for name, text in headers.items()}
        make_fields = partial(credential.make_fields, method, url, content or b"")
        # Fixed fields say whose replies of the cache may be believed; others are made only for a request that is sent.
        fixed_fields = _under(own, make_fields()) if credential.is_fixed else {}
        ask = HttpRequest(method, url, _host(url), {**fixed_fields, **headers}, content, max_bytes)
        question = CURRENT_CALL.get()
        known = question.find_response(ask) if question else None
        if known is not None:  # whether a run is stopped or its budget used up: this costs nothing
            return known
        if not credential.is_fixed:
            self.guard.check_signed_request(method, url, headers)
        # What is minted or signed for each request tells no keys apart.
        key = (*fixed_fields.values(), own.get("authorization")) if credential.is_fixed else ()
        seconds = timeout or self.timeout
        for _ in range(2):
            fields = make_fields()
            added_fields = _under(own, fields)
            self.guard.check_credential(method, url, headers, added_fields)
            ask = replace(ask, headers={**added_fields, **headers})
            response = self._send(ask, key, seconds, question.model if question else None)
            if response.status != UNAUTHORIZED or not credential.may_renew(fields):
                break
        if response.is_success:
            credential.record_success(fields)
        asked = f"{question.model[0]} at {ask.host}" if question else ask.host
        if response.is_success:
            self.live_models.add(asked)
        else:
            response = replace(response, asked=asked)
        if question:
            question.record_response(response)
        if pending_url:
            response = self._ended(ask, response, pending_url, time.monotonic() + seconds)
            if question:
                question.replace_response(response)
        return response

    def _lane(self, ask: HttpRequest, key: Hashable) -> Lane:
        """The calls to a host under one key."""
        with self._making:
            lane = self._lanes.get((ask.host, key))
            if lane is None:
                first = self.slots
                if self.ramps and not self.guard.egress.leads_to_vendor(ask.url):
                    first = FIRST_CALLS
                lane = Lane(Pace(first, self.slots), ask.host, self._is_over)
                self._lanes[ask.host, key] = lane
            return lane

    def _is_over(self) -> bool:
        return self._deadlines.is_stopped or self.budget.seconds_left <= 0

    def notes(self) -> Sequence[str]:
        """Sentences about hosts that limited the calls of this run."""
        return [*filter(None, (lane.waiting_note() for lane in self._lanes.values()))]

    def _ended(
        self, ask: HttpRequest, response: Response, pending_url: PendingUrl, deadline: float
    ) -> Response:
        """What a response has begun, once it has ended: it is looked at again and again, which costs nothing. Raises ProviderError."""
        started = time.monotonic()
        seconds = response.seconds
        pause = self.first_pause / 2
        while response.is_success and (url := pending_url(response)):
            if urlsplit(url)[:2] != urlsplit(ask.url)[:2]:
                raise ProviderError(
                    f"{ask.host} redirects to another host, which gradegate does not call"
                )
            if time.monotonic() + pause >= deadline:
                raise ProviderError(
                    f"{ask.host} accepted the request and did not finish in time", Trouble.DEADLINE
                )
            self._deadlines.pause(pause)
            pause = min(pause * 2, LONGEST_POLL)
            self.guard.check_credential("GET", url, NO_FIELDS, ask.headers)
            looked = self._try(replace(ask, method="GET", url=url, content=None), deadline)
            if isinstance(looked, ProviderError) and _is_final(looked):
                raise looked
            if isinstance(looked, Response) and not may_retry(looked):
                response = replace(looked, seconds=seconds + time.monotonic() - started)
        return response

    def stop(self) -> None:
        """Cut every call in flight and refuse further ones."""
        self.budget.stop()
        self._deadlines.stop()
        if self._aside is not None:
            self._aside.stop()

    def _send(
        self, ask: HttpRequest, key: Hashable, seconds: float, model: Hashable = None
    ) -> Response:
        """The response; ``seconds`` are the call's own, which do not pass while it waits for its turn."""
        lane = self._lane(ask, key)
        turn = Turn()
        pause = self.first_pause
        # A host that failed every call is asked once a call
        left = 0 if self._dead[ask.host] >= DEAD_AFTER else self.retries
        while True:
            lane.enter(turn, lambda: self.budget.reserve_call(model))
            started = time.monotonic()
            answer = None
            try:
                answer = self._try(ask, started + seconds)
            finally:
                if answer is None:  # as without memory: others wait for the end of this request
                    self.budget.spend(NO_USAGE, model=model)
                    lane.release_place()
            seconds -= time.monotonic() - started
            announced = None
            if isinstance(answer, Response):
                if answer.status in RETRIED_STATUSES:
                    announced = parse_pause(answer.headers)
                is_settled = self._settle_response(answer, announced, turn, lane, model)
                if is_settled and not may_retry(answer):
                    self._dead[ask.host] = 0
                    return answer
            else:
                is_settled = self._settle_failure(answer, turn, lane, model)
            # Jitter, so that calls do not come back in step
            own_pause = pause * random.uniform(0.5, 1.0)
            pause = min(pause * 2, LONGEST_PAUSE)
            if not is_settled:
                if isinstance(answer, Response) and not announced:
                    self._deadlines.pause(min(own_pause, LONGEST_BUSY_PAUSE))
                continue
            seconds_to_wait = own_pause if announced is None else announced
            if left <= 0 or seconds_to_wait >= seconds or _is_final(answer):
                self._dead[ask.host] += 1
                if isinstance(answer, ProviderError):
                    raise answer
                return answer
            left -= 1
            self._deadlines.pause(seconds_to_wait)

    def _settle_response(
        self,
        response: Response,
        announced: float | None,
        turn: Turn,
        lane: Lane,
        model: Hashable,
    ) -> bool:
        """Tell budget and lane what came of a request. False where a busy host did not do it, so that it is sent again.

        Raises ProviderError where the host will take no other in time.
        """
        if response.status in BUSY_STATUSES and not _is_out_of_quota(response):
            self.budget.return_call(model)
            if self.patience and (response.status == TOO_MANY_REQUESTS or lane.successes):
                refusal = lane.record_refusal(turn, announced)
                self._check_progress(lane, response, announced or 0.0, refusal.seconds)
                # A 503 that does not slow the others is about this request alone, and costs a retry.
                return response.status != TOO_MANY_REQUESTS and not refusal.slows
            lane.release_place()
            return True
        if not response.is_success:
            self.budget.spend(NO_USAGE, model=model)
        lane.record_answer(turn, response.is_success, parse_quota(response.headers))
        if _is_out_of_quota(response) and self.patience:
            raise lane.close(_out_of_quota(response))
        return True

    def _settle_failure(
        self, error: ProviderError, turn: Turn, lane: Lane, model: Hashable
    ) -> bool:
        """The same for a request without a response. False where the host may come back. Raises the error where it does not."""
        self.budget.spend(NO_USAGE, model=model)
        if error.trouble is not Trouble.UNREACHABLE or not lane.successes or not self.patience:
            lane.release_place()
            return True
        if lane.record_loss(turn) >= self.timeout:
            raise lane.close(error)
        return False

    def _check_progress(
        self, lane: Lane, answer: Response, announced: float, stalled: float
    ) -> None:
        """Raises ProviderError when a busy host will not take another call in time."""
        what = f"{answer.host} answered {answer.status}"
        said = _message_of(answer)
        if stalled > self.patience:
            why = f"{what} for {stalled:,.0f} s{said}"
        elif announced > self.patience:
            why = f"{what} and asks to wait {announced:,.0f} s{said}"
        elif announced > self.budget.seconds_left:
            why = f"{what} and asks to wait {announced:,.0f} s, longer than the budget lasts{said}"
        else:
            return
        error = ProviderError(
            f"{why}: ask for a higher limit there, or run fewer cases",
            Trouble.STATUS,
            status=answer.status,
        )
        raise lane.close(error) if answer.status == TOO_MANY_REQUESTS else error

    def _try(self, ask: HttpRequest, deadline: float) -> Response | ProviderError:
        """The response, or why there is none."""
        with self._deadlines.watch(deadline) as call:
            started = time.monotonic()
            answer: Response | ProviderError
            try:
                answer = self._sender().send(ask, max(deadline - started, 0.001))
            except ProviderError as e:
                answer = e
            # The answer, unless it was cut: what was read until then may look whole, as its end is the connection's.
            if self._deadlines.is_stopped:
                return stopped_error()
            late = isinstance(answer, ProviderError) and time.monotonic() >= call.deadline - 0.01
            if call.expired or (late and not _is_final(answer)):
                seconds = time.monotonic() - started
                return ProviderError(
                    f"{ask.host} did not answer within {seconds:.0f} s", Trouble.DEADLINE
                )
            return answer


def _out_of_quota(answer: Response) -> ProviderError:
    what = f"{answer.host} says that the quota of this key is used up{_message_of(answer)}"
    return ProviderError(
        f"{what}: add credit or raise the limit there", Trouble.STATUS, status=TOO_MANY_REQUESTS
    )


def _written(fields: JsonObject | None, form: bool) -> bytes | None:
    if fields is None:
        return None
    if form:
        return urlencode(fields).encode()
    return json.dumps(fields).encode()


def _is_final(answer: Response | ProviderError) -> bool:
    return isinstance(answer, ProviderError) and answer.trouble not in PASSING_TROUBLES


def _under(own: Container[str], credential: NamedTexts) -> dict[str, str]:
    """The headers of a credential that a request does not have itself."""
    return {name: text for name, text in credential.items() if name.lower() not in own}


def _host(url: str) -> str:
    """Host and port. Raises ProviderError."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError as e:
        raise ProviderError(f"the provider cannot be called: {e}", Trouble.SETUP) from e
