"""One HTTP client for providers and GitHub: pooled, retried, bounded in time and size, and stoppable at once."""

from __future__ import annotations

import email.utils
import json
import math
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from gradegate.errors import ProviderError, Trouble

RETRIED = frozenset({408, 429, 500, 502, 503, 504, 524, 529})
# These 429s are about money, not speed: asking again cannot help.
HOPELESS = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated"})
MAX_BYTES = 16 * 1024 * 1024
CONNECT_SECONDS = 10.0
LONGEST_PAUSE = 60.0
TOO_MANY = 429
BUSY_SECONDS = 60.0  # the window of most rate limits
DEAD_AFTER = 3  # calls in a row that failed after all retries: further calls to that host are tried once
FOREIGN = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, UnicodeError)


@dataclass(frozen=True, slots=True)
class Response:
    """A response; ``headers`` in lower case, ``seconds`` of the last attempt alone."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    host: str
    seconds: float = 0.0

    def json(self) -> Any:
        """The body as JSON. Raises ProviderError."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as e:
            start = self.body[:80].decode("utf-8", "backslashreplace")
            raise ProviderError(f"{self.host} answered something that is not JSON: {start!r}", Trouble.MALFORMED) from e


@dataclass(frozen=True, slots=True)
class _Ask:
    method: str
    url: str
    host: str
    headers: Mapping[str, str]
    data: bytes | None


@dataclass(slots=True, eq=False)
class _Call:
    """A request in flight, so that another thread can cut its connection."""

    deadline: float
    connection: HTTPConnection | None = None
    sock: Any = None  # the connection forgets it when the body has no length
    expired: bool = False

    def cut(self) -> None:
        for sock in {self.sock, getattr(self.connection, "sock", None)} - {None}:
            with suppress(OSError):  # already closed by the other side
                sock.shutdown(socket.SHUT_RDWR)


_current = threading.local()


class _Watched:
    """Tells the call of this thread which connection it uses, from the first packet on.

    Head and body leave in one packet: each system call hands the interpreter to another thread and has to get it back.
    """

    _held: list[bytes] | None = None

    def connect(self) -> Any:
        self._tell()
        return super().connect()  # type: ignore[misc]

    def request(self, *args: Any, **kwargs: Any) -> Any:
        self._tell()
        self._held = []
        try:
            super().request(*args, **kwargs)  # type: ignore[misc]
        finally:
            held, self._held = b"".join(self._held), None
        self.send(held)
        self._tell()

    def send(self, data: Any) -> Any:
        if self._held is not None and isinstance(data, bytes):
            self._held.append(data)
        else:
            super().send(data)  # type: ignore[misc]

    def _tell(self) -> None:
        call: _Call | None = getattr(_current, "call", None)
        if call is not None:
            call.connection = self  # type: ignore[assignment]  # always mixed into a connection
            call.sock = getattr(self, "sock", None)


class _Plain(_Watched, HTTPConnection):
    pass


class _Secure(_Watched, HTTPSConnection):
    pass


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}


@dataclass(eq=False)
class Client:
    """Sends requests from any number of threads, at most ``slots`` at a time.

    ``timeout`` is the deadline of one call in seconds, retries included. No redirect is followed and no ``.netrc`` is
    read, so a key goes to the host that it was meant for and nowhere else.
    """

    timeout: float = 300.0
    retries: int = 4
    slots: int = 64
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    first_pause: float = 0.5

    def __post_init__(self) -> None:
        self._session = requests.Session()
        self._session.trust_env = False
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, _Adapter(pool_maxsize=self.slots, pool_connections=32))
        self._proxies: dict[str, dict[str, str]] = {}
        self._verify = self.environ.get("REQUESTS_CA_BUNDLE") or self.environ.get("SSL_CERT_FILE") or True
        self._free = threading.BoundedSemaphore(self.slots)
        self._stopping = threading.Event()
        self._calls: set[_Call] = set()
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None
        self._dead: Counter[str] = Counter()
        self._busy: dict[str, float] = {}  # since when a host answers nothing but 429

    def send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: Any = None, timeout: float | None = None
    ) -> Response:
        """One request; ``body`` is sent as JSON, bytes as they are. Raises ProviderError when there is no answer."""
        host = _host(url)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with self._free:  # kept while it waits to ask again, so that a host which is overrun is asked by fewer
            return self._send(_Ask(method, url, host, headers, data), time.monotonic() + (timeout or self.timeout))

    def _send(self, ask: _Ask, deadline: float) -> Response:
        left = 0 if self._is_dead(ask.host) else self.retries
        pause = self.first_pause
        while True:
            answer, failure = self._try(ask, deadline)
            if answer is not None and (answer.status not in RETRIED or _hopeless(answer)):
                self._dead[ask.host] = 0
                self._busy.pop(ask.host, None)
                return answer
            if answer is not None and answer.status == TOO_MANY:
                self._busy.setdefault(ask.host, time.monotonic())
            wait = self._pause(answer, pause)
            if left <= 0 or time.monotonic() + wait >= deadline or _final(failure):
                self._dead[ask.host] += answer is None or answer.status != TOO_MANY  # a host that says so is alive
                if answer is None:
                    assert failure is not None
                    raise failure
                return answer
            left, pause = left - 1, min(pause * 2, LONGEST_PAUSE)
            if self._stopping.wait(wait):
                raise ProviderError("the run was stopped", Trouble.STOPPED)

    def _is_dead(self, host: str) -> bool:
        """Whether a host fails every call, or has said for a minute that it is too busy: then it is asked once a call."""
        busy = time.monotonic() - self._busy.get(host, math.inf)
        return self._dead[host] >= DEAD_AFTER or busy > BUSY_SECONDS

    def _pause(self, answer: Response | None, pause: float) -> float:
        """Seconds before the next try: as the host asks, else longer each time, and longer for one that is overrun."""
        asked = _asked_pause(answer) if answer is not None else None
        if asked is not None:
            return asked
        if answer is not None and answer.status == TOO_MANY:
            pause *= 4
        return pause * random.uniform(0.5, 1.0)  # jitter, so that workers do not come back in step

    def stop(self) -> None:
        """Cut every call in flight and refuse further ones."""
        self._stopping.set()
        with self._lock:
            calls = list(self._calls)
        for call in calls:
            call.cut()

    def _try(self, ask: _Ask, deadline: float) -> tuple[Response | None, ProviderError | None]:
        with self._watch(deadline) as call:
            if self._stopping.is_set():
                raise ProviderError("the run was stopped", Trouble.STOPPED)
            started = time.monotonic()
            try:
                answer = self._once(ask, max(deadline - started, 0.001))
            except FOREIGN as e:
                return None, self._translate(e, ask.host, call, time.monotonic() - started)
            if call.expired or self._stopping.is_set():
                # What was read up to the cut may look like a whole answer: its end is where the connection ended.
                return None, self._translate(ConnectionError("cut"), ask.host, call, time.monotonic() - started)
            return answer, None

    def _once(self, ask: _Ask, seconds: float) -> Response:
        started = time.monotonic()
        headers = {"Content-Type": "application/json", "Accept": "application/json", **ask.headers}
        request = requests.Request(ask.method, ask.url, headers=headers, data=ask.data).prepare()
        # Straight to the adapter: no cookies, no redirects, no .netrc, and a third less work a call.
        response = self._session.get_adapter(ask.url).send(
            request,
            stream=True,
            timeout=(min(CONNECT_SECONDS, seconds), seconds),
            verify=self._verify,
            proxies=self._proxies_for(ask.url, ask.host),
        )
        try:
            content: bytes = response.raw.read(MAX_BYTES + 1, decode_content=True)
        finally:
            response.raw.release_conn() if response.raw.length_remaining == 0 else response.close()
        if len(content) > MAX_BYTES:
            raise ProviderError(f"{ask.host} answered more than {MAX_BYTES >> 20} MiB", Trouble.MALFORMED)
        lower = {name.lower(): value for name, value in response.headers.items()}
        return Response(response.status_code, lower, content, ask.host, time.monotonic() - started)

    def _translate(self, error: Exception, host: str, call: _Call, seconds: float) -> ProviderError:
        if self._stopping.is_set():
            return ProviderError("the run was stopped", Trouble.STOPPED)
        if call.expired or (isinstance(error, requests.Timeout) and time.monotonic() >= call.deadline - 0.01):
            return ProviderError(f"{host} did not answer within {seconds:.0f} s", Trouble.DEADLINE)
        bad_address = (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, UnicodeError)
        if isinstance(error, (*bad_address, requests.exceptions.MissingSchema, requests.exceptions.InvalidHeader)):
            return ProviderError(f"{host or 'the provider'} cannot be asked: {error}", Trouble.SETUP)
        return ProviderError(f"{host} cannot be reached: {_innermost(error)}", Trouble.UNREACHABLE)

    def _proxies_for(self, url: str, host: str) -> dict[str, str]:
        if host not in self._proxies:
            self._proxies[host] = dict(get_environ_proxies(url))
        return self._proxies[host]

    @contextmanager
    def _watch(self, deadline: float) -> Iterator[_Call]:
        call = _Call(deadline)
        with self._lock:
            self._calls.add(call)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._cut_late_calls, daemon=True, name="deadlines")
                self._watcher.start()
        _current.call = call
        try:
            yield call
        finally:
            _current.call = None
            with self._lock:
                self._calls.discard(call)

    def _cut_late_calls(self) -> None:
        # Socket time-outs restart with every byte; only this bounds a server that answers one byte at a time.
        while not self._stopping.wait(0.25):
            now = time.monotonic()
            with self._lock:
                late = [call for call in self._calls if call.deadline < now]
            for call in late:
                call.expired = True
                call.cut()
        while self._calls:  # a call that was not yet connected when the run was stopped is cut once it is
            with self._lock:
                calls = list(self._calls)
            for call in calls:
                call.cut()
            time.sleep(0.05)


def _host(url: str) -> str:
    """Raises ProviderError."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError as e:
        raise ProviderError(f"the provider cannot be asked: {e}", Trouble.SETUP) from e


def _final(failure: ProviderError | None) -> bool:
    return failure is not None and failure.trouble is not Trouble.UNREACHABLE


def _hopeless(answer: Response) -> bool:
    if answer.status != 429:
        return False
    try:
        error = json.loads(answer.body)["error"]
        return bool(HOPELESS & {error.get("code"), error.get("type")})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _asked_pause(answer: Response) -> float | None:
    """Seconds of ``retry-after-ms`` or ``Retry-After`` (seconds or a date, RFC 9110 section 10.2.3)."""
    try:
        if "retry-after-ms" in answer.headers:
            return max(0.0, float(answer.headers["retry-after-ms"]) / 1000)
        asked = answer.headers.get("retry-after", "")
        if not asked:
            return None
        if asked.replace(".", "", 1).isdigit():
            return float(asked)
        return max(0.0, email.utils.parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _innermost(error: BaseException) -> str:
    """The plainest words in a chain of wrapped exceptions: ``Connection refused`` and not three class names."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
