"""The HTTP client of providers and of GitHub: it paces, retries, bounds and stops requests.

Headers of the API and of the config stay apart from the fields of the credential, which gradegate's own code makes. They meet
at the socket, so that the rest of a request can be searched for credentials.
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
# The address to poll for a result that a response has only begun; empty for a final response
PendingUrl = Callable[[Response], str]
LONGEST_POLL = 4.0  # seconds between two polls
RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 524, 529})
# Error codes of a 429 that is about money, not speed: a retry cannot help.
QUOTA_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated"}
)
UNAUTHORIZED = 401
# Troubles without a response that a retry may cure
PASSING_TROUBLES = frozenset({Trouble.UNREACHABLE, Trouble.INCOMPLETE})
LONGEST_PAUSE = 60.0
TOO_MANY_REQUESTS = 429
# A host that answers with one of these is too busy and did not do the request.
BUSY_STATUSES = frozenset({TOO_MANY_REQUESTS, 503, 529})
# Seconds before a refused request is sent again, where the host announces no pause
LONGEST_BUSY_PAUSE = 2.0
FIRST_CALLS = 8  # in flight at first to a host that belongs to no vendor
# Calls in a row that failed after all retries: further calls to that host are tried once
DEAD_AFTER = 3


@dataclass(eq=False)
class Client:
    """Sends requests from any number of threads.

    To each host, under each key, at most ``slots`` requests are in flight, at the pace that the host accepts. With ``patience``
    (seconds), a call waits for a busy host as long as other calls succeed; without, each refusal costs a retry. ``timeout`` is
    the deadline of one call in seconds, retries included. The client follows no redirect and reads no ``.netrc``, so a key goes
    only to the host that it is meant for.
    """

    timeout: float = TIMEOUT
    retries: int = RETRIES
    slots: int = 64
    environ: NamedTexts = field(default_factory=dict, repr=False)
    first_pause: float = FIRST_PAUSE
    ramps: bool = False  # whether calls to a host of no vendor begin with a few at a time
    patience: float = 0.0
    guard: Guard = Guard()
    budget: Budget = field(default_factory=Budget)
    replies: ResponseCache | None = None
    tokens: Tokens = field(default_factory=Tokens)
    # Models, with their hosts, that answered a call. A reply of the cache proves nothing about the key, so it does not count.
    live_models: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.connections: Connections | None = None
        self._lock = threading.Lock()
        self._lanes: dict[Hashable, Lane] = {}
        self._failures = Counter[str]()  # calls in a row to a host that failed after all retries
        self._deadlines = Deadlines()
        self._sign_in_client: Client | None = None

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
        """Send one request for a token: outside of the budget and of the cache, over connections of its own.

        ``secret`` has members of the body. Only these and the fields of ``credential`` may contain a secret. The body is sent as a
        form if ``headers`` say so, else as JSON. Raises ProviderError if there is no answer within a few seconds.
        """
        is_form = "form" in headers.get("Content-Type", "")
        self.guard.check_request(method, url, headers, _encode_body(body, is_form))
        content = _encode_body(body and {**body, **secret}, is_form)
        with self._lock:
            if self._sign_in_client is None:
                self._sign_in_client = Client(
                    SIGN_IN_SECONDS, SIGN_IN_RETRIES, environ=self.environ
                )
            client = self._sign_in_client
        if self._deadlines.is_stopped:
            client.stop()
        fields = credential.make_fields(method, url, content or b"")
        request = HttpRequest(method, url, _host_of(url), {**headers, **fields}, content)
        response = client._send(request, "", SIGN_IN_SECONDS)  # noqa: SLF001  # no call of a model
        if response.is_success:
            self.live_models.add(request.host)
        return response

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
        """Send one request; ``body`` is sent as JSON, bytes as they are. Returns the cached response if there is one.

        ``headers`` win over fields of ``credential`` with the same name. A token that ended during the run is renewed once. If
        ``pending_url`` gives an address of the same host for a response, it is polled until it gives none for the response.
        Raises ProviderError if there is no answer of at most ``max_bytes``.
        """
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self.guard.check_request(method, url, headers, content)
        header_names = {name.lower(): text for name, text in headers.items()}
        make_fields = partial(credential.make_fields, method, url, content or b"")

        # Fixed fields say whose replies of the cache may be believed. Other fields are made only for a request that is sent.
        fixed_fields = {}
        if credential.is_fixed:
            fixed_fields = _without(header_names, make_fields())
        request = HttpRequest(
            method, url, _host_of(url), {**fixed_fields, **headers}, content, max_bytes
        )
        call = CURRENT_CALL.get()
        cached = call.find_response(request) if call else None
        if cached is not None:  # even if the run is stopped or its budget used up: it costs nothing
            return cached

        # Fields that are minted or signed for each request do not tell keys apart.
        key: tuple[str | None, ...] = ()
        if credential.is_fixed:
            key = (*fixed_fields.values(), header_names.get("authorization"))
        else:
            self.guard.check_signed_request(method, url, headers)
        seconds = timeout or self.timeout
        for _ in range(2):
            fields = make_fields()
            added_fields = _without(header_names, fields)
            self.guard.check_credential(method, url, headers, added_fields)
            request = replace(request, headers={**added_fields, **headers})
            response = self._send(request, key, seconds, call.model if call else None)
            if response.status != UNAUTHORIZED or not credential.discard_refused(fields):
                break

        model_at_host = f"{call.model[0]} at {request.host}" if call else request.host
        if response.is_success:
            credential.record_success(fields)
            self.live_models.add(model_at_host)
        else:
            response = replace(response, refusing_model=model_at_host)
        if call:
            call.record_response(response)
        if pending_url:
            response = self._poll(request, response, pending_url, time.monotonic() + seconds)
            if call:
                call.replace_response(response)
        return response

    def notes(self) -> Sequence[str]:
        """Sentences about hosts that limited the calls of this run."""
        notes = [lane.waiting_note() for lane in self._lanes.values()]
        return [note for note in notes if note]

    def stop(self) -> None:
        """Cut every call in flight and refuse further calls."""
        self.budget.stop()
        self._deadlines.stop()
        if self._sign_in_client is not None:
            self._sign_in_client.stop()

    def _send(
        self, request: HttpRequest, key: Hashable, seconds: float, model: Hashable = None
    ) -> Response:
        """Send a request until it is answered or its retries end. ``seconds`` do not pass while it waits for its turn."""
        lane = self._lane(request, key)
        turn = Turn()
        pause = self.first_pause
        # A host that failed every call is tried once a call
        retries_left = 0 if self._failures[request.host] >= DEAD_AFTER else self.retries
        while True:
            lane.enter(turn, lambda: self.budget.reserve_call(model))
            started = time.monotonic()
            result = None
            try:
                result = self._try(request, started + seconds)
            finally:
                # No memory, for example. Other calls wait for the end of this one.
                if result is None:
                    self.budget.spend(NO_USAGE, model=model)
                    lane.release_place()
            seconds -= time.monotonic() - started

            # Tell the budget and the lane. An answer that no retry can improve is returned.
            announced = None
            if isinstance(result, Response):
                if result.status in RETRIED_STATUSES:
                    announced = parse_pause(result.headers)
                is_settled = self._settle_response(result, announced, turn, lane, model)
                if is_settled and not _may_retry(result):
                    self._failures[request.host] = 0
                    return result
            else:
                is_settled = self._settle_failure(result, turn, lane, model)

            # Jitter, so that calls do not come back in step
            own_pause = pause * random.uniform(0.5, 1.0)
            pause = min(pause * 2, LONGEST_PAUSE)

            # The host refused the request and will take it later: that costs no retry.
            if not is_settled:
                if isinstance(result, Response) and not announced:
                    self._deadlines.pause(min(own_pause, LONGEST_BUSY_PAUSE))
                continue

            seconds_to_wait = own_pause if announced is None else announced
            if retries_left <= 0 or seconds_to_wait >= seconds or _is_final(result):
                self._failures[request.host] += 1
                if isinstance(result, ProviderError):
                    raise result
                return result
            retries_left -= 1
            self._deadlines.pause(seconds_to_wait)

    def _settle_response(
        self,
        response: Response,
        announced: float | None,
        turn: Turn,
        lane: Lane,
        model: Hashable,
    ) -> bool:
        """Tell the budget and the lane about a response. Returns False if a busy host refused the request, which is sent again.

        Raises ProviderError if the host will take no other request in time.
        """
        if response.status in BUSY_STATUSES and not _is_out_of_quota(response):
            self.budget.return_call(model)
            if self.patience and (response.status == TOO_MANY_REQUESTS or lane.successes):
                refusal = lane.record_refusal(turn, announced)
                self._check_progress(lane, response, announced or 0.0, refusal.seconds)
                # A 503 that does not slow the others is about this request, and costs a retry.
                return response.status != TOO_MANY_REQUESTS and not refusal.slows
            lane.release_place()
            return True

        if not response.is_success:
            self.budget.spend(NO_USAGE, model=model)
        lane.record_answer(turn, response.is_success, parse_quota(response.headers))
        if self.patience and _is_out_of_quota(response):
            raise lane.close(
                ProviderError(
                    f"{response.host} says that the quota of this key is used up{_host_message(response)}"
                    ": add credit or raise the limit there",
                    Trouble.STATUS,
                    status=TOO_MANY_REQUESTS,
                )
            )
        return True

    def _settle_failure(
        self, error: ProviderError, turn: Turn, lane: Lane, model: Hashable
    ) -> bool:
        """Tell the budget and the lane about a request without a response.

        Returns False if the host may come back, so that the request is sent again. Raises the error if the host does not come back.
        """
        self.budget.spend(NO_USAGE, model=model)
        if error.trouble is not Trouble.UNREACHABLE or not lane.successes or not self.patience:
            lane.release_place()
            return True
        if lane.record_loss(turn) >= self.timeout:
            raise lane.close(error)
        return False

    def _check_progress(
        self, lane: Lane, response: Response, announced: float, stalled: float
    ) -> None:
        """Raises ProviderError if a busy host will not take another call in time. Both times are in seconds."""
        status = f"{response.host} answered {response.status}"
        message = _host_message(response)
        if stalled > self.patience:
            reason = f"{status} for {stalled:,.0f} s{message}"
        elif announced > self.patience:
            reason = f"{status} and asks to wait {announced:,.0f} s{message}"
        elif announced > self.budget.seconds_left:
            reason = f"{status} and asks to wait {announced:,.0f} s, longer than the budget lasts{message}"
        else:
            return
        error = ProviderError(
            f"{reason}: ask for a higher limit there, or run fewer cases",
            Trouble.STATUS,
            status=response.status,
        )
        raise lane.close(error) if response.status == TOO_MANY_REQUESTS else error

    def _poll(
        self, request: HttpRequest, response: Response, pending_url: PendingUrl, deadline: float
    ) -> Response:
        """Poll for the final response of a request that the host has accepted. Polls cost nothing. Raises ProviderError."""
        started = time.monotonic()
        seconds = response.seconds
        pause = self.first_pause / 2
        while response.is_success:
            url = pending_url(response)
            if not url:
                break
            if urlsplit(url)[:2] != urlsplit(request.url)[:2]:
                raise ProviderError(
                    f"{request.host} redirects to another host, which gradegate does not call"
                )
            if time.monotonic() + pause >= deadline:
                raise ProviderError(
                    f"{request.host} accepted the request and did not finish in time",
                    Trouble.DEADLINE,
                )
            self._deadlines.pause(pause)
            pause = min(pause * 2, LONGEST_POLL)
            self.guard.check_credential("GET", url, NO_FIELDS, request.headers)
            result = self._try(replace(request, method="GET", url=url, content=None), deadline)
            if isinstance(result, Response):
                if not _may_retry(result):
                    response = replace(result, seconds=seconds + time.monotonic() - started)
            elif _is_final(result):
                raise result
        return response

    def _try(self, request: HttpRequest, deadline: float) -> Response | ProviderError:
        """Send a request once. Returns the response, or the error if there is none."""
        with self._deadlines.watch(deadline) as call:
            started = time.monotonic()
            result: Response | ProviderError
            try:
                result = self._open_connections().send(request, max(deadline - started, 0.001))
            except ProviderError as e:
                result = e

            # A response that was cut may look whole, because the end of its connection is its end.
            if self._deadlines.is_stopped:
                return stopped_error()
            is_late = isinstance(result, ProviderError) and time.monotonic() >= call.deadline - 0.01
            if call.has_expired or (is_late and not _is_final(result)):
                seconds = time.monotonic() - started
                return ProviderError(
                    f"{request.host} did not answer within {seconds:.0f} s", Trouble.DEADLINE
                )
            return result

    def _open_connections(self) -> Connections:
        """Make the connections at the first request: importing them takes a fifth of the time of checking a config."""
        with self._lock:
            if self.connections is None:
                from gradegate.http.connections import Connections

                # The guard may be replaced later. urllib3 keeps the check as long as its pools, and the client owns these.
                client = weakref.proxy(self)
                self.connections = Connections(
                    self.slots,
                    self.environ,
                    lambda *place: client.guard.check_host(*place),  # noqa: PLW0108
                )
            return self.connections

    def _lane(self, request: HttpRequest, key: Hashable) -> Lane:
        """The lane of a host under one key."""
        with self._lock:
            lane = self._lanes.get((request.host, key))
            if lane is None:
                first = self.slots
                if self.ramps and not self.guard.egress.leads_to_vendor(request.url):
                    first = FIRST_CALLS
                lane = Lane(Pace(first, self.slots), request.host, self._is_over)
                self._lanes[request.host, key] = lane
            return lane

    def _is_over(self) -> bool:
        return self._deadlines.is_stopped or self.budget.seconds_left <= 0


def _may_retry(response: Response) -> bool:
    return response.status in RETRIED_STATUSES and not _is_out_of_quota(response)


def _is_final(result: Response | ProviderError) -> bool:
    """Whether this is an error that no retry can cure."""
    return isinstance(result, ProviderError) and result.trouble not in PASSING_TROUBLES


def _is_out_of_quota(response: Response) -> bool:
    if response.status != TOO_MANY_REQUESTS:
        return False
    error = _error_member(response)
    return not QUOTA_CODES.isdisjoint((str(error.get("code")), str(error.get("type"))))


def _host_message(response: Response) -> str:
    """The host's own words about an error, in brackets; empty if there are none."""
    message = _error_member(response).get("message")
    return f" ({excerpt(str(message), 200)})" if message else ""


def _error_member(response: Response) -> JsonObject:
    """The member ``error`` of a response; empty if there is none."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        error = json.loads(response.body)["error"]
        if isinstance(error, dict):
            return error
    return {}


def _encode_body(body: JsonObject | None, is_form: bool) -> bytes | None:
    if body is None:
        return None
    text = urlencode(body) if is_form else json.dumps(body)
    return text.encode()


def _without(header_names: Container[str], fields: NamedTexts) -> dict[str, str]:
    """The fields of a credential that the headers of a request do not have."""
    return {name: text for name, text in fields.items() if name.lower() not in header_names}


def _host_of(url: str) -> str:
    """Host and port. Raises ProviderError."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError as e:
        raise ProviderError(f"the provider cannot be called: {e}", Trouble.SETUP) from e
