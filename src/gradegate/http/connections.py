"""One HTTP request over pooled connections.

Requests finds the way to a host: proxies, certificates and pools, which an ``HTTPAdapter`` may override. urllib3 sends the
request itself, because only urllib3 shows the socket, and a deadline for the whole call needs the socket. urllib3 makes its
sockets in the undocumented ``_new_conn``, to the name in ``_dns_host``. ``tests/http/test_adapter.py`` checks everything here
that rests on undocumented parts.
"""

import socket
import time
from collections.abc import Callable
from http.client import IncompleteRead
from importlib import metadata
from typing import Any, NamedTuple

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidHeader, InvalidSchema, InvalidURL, MissingSchema
from requests.utils import get_environ_proxies
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from gradegate.errors import ProviderError, Trouble
from gradegate.http.budget import current_call
from gradegate.http.exchange import HttpRequest, Response, unpack_body
from gradegate.security.hosts import Address, Host, parse_address
from gradegate.structs import NamedTexts

CONNECT_SECONDS = 10.0
POOLS = 32  # of connections, each to one host
_LIBRARY_ERRORS = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    OSError,
    UnicodeError,
)
_NO_CONNECTION = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
    socket.gaierror,
)
_UNSENDABLE = (
    InvalidURL,
    InvalidSchema,
    MissingSchema,
    urllib3.exceptions.LocationValueError,
    InvalidHeader,
    urllib3.exceptions.InvalidHeader,
    UnicodeError,
)
_NO_RETRY = urllib3.Retry(0, read=False)  # as requests asks: the client retries itself
# Takes the URL of a host with its port, and the address of its name. Raises ProviderError if that must not be called.
CheckHost = Callable[[str, "Address | None"], None]


class _Route(NamedTuple):
    """What requests share that differ only in their bodies."""

    pool: Any
    method: str
    target: str  # as the first line of a request has it
    headers: NamedTexts


class Connections:
    """Connections that are kept and used again. Follows no redirect, and reads no cookie and no ``.netrc``."""

    def __init__(self, size: int, environ: NamedTexts, check_host: CheckHost) -> None:
        """Raises ProviderError if another package has overwritten urllib3, as the dependency of niquests does."""
        installed = metadata.version("urllib3")
        loaded = urllib3.__version__  # type: ignore[attr-defined]
        if installed != loaded:
            raise ProviderError(
                f"another package has replaced urllib3 {installed} by {loaded}, with which no host can be called: "
                "install gradegate in an environment of its own, such as with pipx",
                Trouble.SETUP,
            )
        self.adapter = Adapter(check_host, pool_maxsize=size, pool_connections=POOLS)
        self._routes: dict[tuple[Any, ...], _Route] = {}
        self._verify = environ.get("REQUESTS_CA_BUNDLE") or environ.get("SSL_CERT_FILE") or True

    def send(self, request: HttpRequest, seconds: float) -> Response:
        """The response to one request. Raises ProviderError: SETUP, UNREACHABLE, INCOMPLETE, or MALFORMED if it is too long."""
        try:
            return self._send(request, seconds)
        except _UNSENDABLE as e:
            raise ProviderError(
                f"{request.host or 'the provider'} cannot be called: {e}", Trouble.SETUP
            ) from e
        except _LIBRARY_ERRORS as e:
            is_connected = True
            is_cut = False
            error: BaseException = e
            cause: BaseException | None = e
            while cause:
                error = cause
                if isinstance(error, _NO_CONNECTION):
                    is_connected = False
                if isinstance(error, IncompleteRead):
                    is_cut = True
                cause = error.__cause__ or error.__context__

            # The innermost error has the plainest words: `Connection refused` and not three class names
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if is_cut:
                reason = "its body ends too early"
            problem = "gave no complete response"
            trouble = Trouble.INCOMPLETE
            if not is_connected:
                problem = "cannot be reached"
                trouble = Trouble.UNREACHABLE
            raise ProviderError(f"{request.host} {problem}: {reason}", trouble) from e

    def _send(self, request: HttpRequest, seconds: float) -> Response:
        started = time.monotonic()
        route = self._route(request)
        content = request.content or b""
        headers = route.headers
        if content or route.method not in ("GET", "HEAD"):
            headers = {**headers, "Content-Length": str(len(content))}

        # Straight to the pool: no cookies, no redirects, no .netrc, and half the work a call.
        response = route.pool.urlopen(
            route.method,
            route.target,
            content or None,
            headers,
            retries=_NO_RETRY,
            redirect=False,
            assert_same_host=False,
            timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds),
            preload_content=False,
            decode_content=False,
        )
        # Read the packed body, up to a byte too many. A body that ends too early raises only at the read after its end.
        max_bytes = request.max_bytes + 1
        packed = bytearray()
        try:
            while len(packed) < max_bytes:
                part = response.read(max_bytes - len(packed), decode_content=False)
                packed += part
                if not part or response.length_remaining == 0:
                    break
        finally:
            if response.length_remaining == 0:
                response.release_conn()
            else:
                response.close()

        response_headers = {name.lower(): response.headers[name] for name in response.headers}
        encoding = response_headers.get("content-encoding", "")
        try:
            body = unpack_body(bytes(packed), encoding, max_bytes)
        except ValueError as e:
            raise ProviderError(f"{request.host} sent a reply that cannot be unpacked: {e}") from e
        if len(body) > request.max_bytes:
            raise ProviderError(f"{request.host} answered more than {request.max_bytes >> 20} MiB")
        return Response(
            response.status, response_headers, body, request.host, time.monotonic() - started
        )

    def _route(self, request: HttpRequest) -> _Route:
        """The route of a request. Finding one takes a third of a call, and most requests share one."""
        key = request.method, request.url, *request.headers.items()
        if route := self._routes.get(key):
            return route
        # As many as there are pools, so no route leads to a pool that made room for another
        if len(self._routes) >= POOLS:
            self._routes.clear()
        self._routes[key] = self.adapter.route(request, self._verify)
        return self._routes[key]


class WatchedConnection:
    """Tells the call of this thread which connection it uses, from the first packet on.

    Head and body leave in one packet: each system call hands the interpreter to another thread and has to get it back.
    """

    _parts: list[bytes] | None = None  # of the request that is being put together
    check_host: CheckHost

    def connect(self) -> Any:
        """As urllib3 does."""
        self._show_connection()
        super().connect()  # type: ignore[misc]

    def _new_conn(self) -> Any:
        """A socket to a host that may be called. Connects to no other host, and sends nothing before the check."""
        url = f"http://{Host(self.host, self.port)}"  # type: ignore[attr-defined]
        for *_, place in socket.getaddrinfo(self._dns_host, self.port, type=socket.SOCK_STREAM):  # type: ignore[attr-defined]
            self.check_host(url, parse_address(str(place[0])))
        sock = super()._new_conn()  # type: ignore[misc]
        try:  # the name may lead elsewhere by now
            self.check_host(url, parse_address(sock.getpeername()[0]))
        except (ProviderError, OSError):
            sock.close()
            raise
        return sock

    def request(self, *args: Any, **kwargs: Any) -> Any:
        """Collect the parts that urllib3 sends, and send them at once."""
        self._show_connection()
        self._parts = []
        try:
            super().request(*args, **kwargs)  # type: ignore[misc]
        finally:
            packet = b"".join(self._parts)
            self._parts = None
        self.send(packet)
        self._show_connection()

    def send(self, content: Any) -> Any:
        """Collect a part of a request, or send it if it is not collected."""
        if self._parts is not None and isinstance(content, bytes):
            self._parts.append(content)
        else:
            super().send(content)  # type: ignore[misc]

    def _show_connection(self) -> None:
        if call := current_call():
            call.watch_connection(self)


class Adapter(HTTPAdapter):
    """Hands out connections that can be watched, with a proxy and without."""

    def __init__(self, check_host: CheckHost, **kwargs: Any) -> None:
        # A method of the connections: it checks where they lead before anything is sent.
        members = {"check_host": staticmethod(check_host)}
        plain = type("Plain", (WatchedConnection, HTTPConnection), members)
        secure = type("Secure", (WatchedConnection, HTTPSConnection), members)
        self._pools = {
            "http": type("PlainPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
            "https": type("SecurePool", (HTTPSConnectionPool,), {"ConnectionCls": secure}),
        }
        super().__init__(**kwargs)

    def route(self, request: HttpRequest, verify: bool | str) -> _Route:
        """What ``HTTPAdapter.send`` finds out about a request before it sends it."""
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            **request.headers,
        }
        prepared = requests.Request(request.method, request.url, headers=headers).prepare()
        proxies = get_environ_proxies(request.url)
        pool = self.get_connection_with_tls_context(prepared, verify, proxies)
        self.cert_verify(pool, prepared.url, verify, None)  # type: ignore[no-untyped-call]
        prepared.headers.pop("Content-Length", None)  # the names of these headers have no case
        target = self.request_url(prepared, proxies)
        return _Route(pool, str(prepared.method), target, dict(prepared.headers))

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """As requests makes it, with pools of watched connections."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        """As requests makes it, with pools of watched connections."""
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = self._pools
        return manager
