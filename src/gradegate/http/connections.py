"""One HTTP request over pooled connections.

Requests finds the way to a host: proxies, certificates and pools, which an ``HTTPAdapter`` may override. The request itself is
urllib3's, because only urllib3 shows the socket, which a deadline for the whole call needs. Of urllib3, the sockets are made in the
undocumented ``_new_conn`` to the name in ``_dns_host``; ``tests/http/test_adapter.py`` checks all that is leaned on.
"""

import socket
import time
from collections.abc import Callable
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
from gradegate.http import budget
from gradegate.http.exchange import HttpRequest, Response, unpack_body
from gradegate.security.hosts import Address, Host, literal
from gradegate.structs import NamedTexts

CONNECT_SECONDS = 10.0
_FOREIGN = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, UnicodeError)
_UNCONNECTED = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
    socket.gaierror,
)
_NO_PLACE = (InvalidURL, InvalidSchema, MissingSchema, urllib3.exceptions.LocationValueError)
_UNSENDABLE = (*_NO_PLACE, InvalidHeader, urllib3.exceptions.InvalidHeader, UnicodeError)
_ONCE = urllib3.Retry(0, read=False)  # as requests asks: the client tries again itself
POOLS = 32  # of connections, each to one host
# Told the URL of a host with its port, and the address that its name led to; raises ProviderError when that is not asked.
CheckHost = Callable[[str, "Address | None"], None]


class _Route(NamedTuple):
    """Where requests that are alike but for their bodies go, over which connections, and under which headers."""

    pool: Any
    method: str
    target: str  # as the first line of a request has it
    headers: NamedTexts


class Connections:
    """Connections that are kept and used again. No redirect is followed, and no cookie or ``.netrc`` is read.

    Raises ProviderError where another package has overwritten urllib3, as the dependency of niquests does.
    """

    def __init__(self, size: int, environ: NamedTexts, look: CheckHost) -> None:
        installed = metadata.version("urllib3")
        loaded = urllib3.__version__  # type: ignore[attr-defined]
        if installed != loaded:
            raise ProviderError(
                f"another package has replaced urllib3 {installed} by {loaded}, with which no host can be called: "
                "install gradegate in an environment of its own, such as with pipx",
                Trouble.SETUP,
            )
        self._adapter = Adapter(look, pool_maxsize=size, pool_connections=POOLS)
        self._routes: dict[tuple[Any, ...], _Route] = {}
        self._verify = environ.get("REQUESTS_CA_BUNDLE") or environ.get("SSL_CERT_FILE") or True

    def send(self, ask: HttpRequest, seconds: float) -> Response:
        """The response to one request. Raises ProviderError: SETUP, UNREACHABLE, INCOMPLETE, or MALFORMED when it is too long."""
        try:
            return self._send(ask, seconds)
        except _UNSENDABLE as e:
            raise ProviderError(
                f"{ask.host or 'the provider'} cannot be called: {e}", Trouble.SETUP
            ) from e
        except _FOREIGN as e:
            # The plainest words in the chain: `Connection refused` and not three class names
            error: BaseException = e
            connected = not isinstance(e, _UNCONNECTED)
            while (inner := error.__cause__ or error.__context__) is not None:
                error = inner
                connected = connected and not isinstance(error, _UNCONNECTED)
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if connected:
                raise ProviderError(
                    f"{ask.host} gave no complete response: {why}", Trouble.INCOMPLETE
                ) from e
            raise ProviderError(f"{ask.host} cannot be reached: {why}", Trouble.UNREACHABLE) from e

    def _send(self, ask: HttpRequest, seconds: float) -> Response:
        started = time.monotonic()
        route = self._route(ask)
        content = ask.content or b""
        sized = bool(content) or route.method not in ("GET", "HEAD")
        headers = {**route.headers, "Content-Length": str(len(content))} if sized else route.headers
        # Straight to the pool: no cookies, no redirects, no .netrc, and half the work a call.
        response = route.pool.urlopen(
            route.method,
            route.target,
            content or None,
            headers,
            retries=_ONCE,
            redirect=False,
            assert_same_host=False,
            timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds),
            preload_content=False,
            decode_content=False,
        )
        try:
            # The body as it was sent, up to a byte too many; one that ends too early raises only at the read after its end.
            parts = []
            left = ask.max_bytes + 1
            while left and (part := response.read(left, decode_content=False)):
                parts.append(part)
                left -= len(part) if response.length_remaining != 0 else left
            packed = b"".join(parts)
        finally:
            response.release_conn() if response.length_remaining == 0 else response.close()
        lower = {name.lower(): response.headers[name] for name in response.headers}
        try:
            content = unpack_body(packed, lower.get("content-encoding", ""), ask.max_bytes + 1)
        except ValueError as e:
            raise ProviderError(f"{ask.host} sent a reply that cannot be unpacked: {e}") from e
        if len(content) > ask.max_bytes:
            raise ProviderError(f"{ask.host} answered more than {ask.max_bytes >> 20} MiB")
        return Response(response.status, lower, content, ask.host, time.monotonic() - started)

    def _route(self, ask: HttpRequest) -> _Route:
        """The route of a request. To find it takes a third of a call, and it is the same for most."""
        kind = ask.method, ask.url, *ask.headers.items()
        if route := self._routes.get(kind):
            return route
        # As many as there are pools, so that no route leads to one that made room for others
        if len(self._routes) >= POOLS:
            self._routes.clear()
        self._routes[kind] = self._adapter.route(ask, self._verify)
        return self._routes[kind]


class _Watched:
    """Tells the call of this thread which connection it uses, from the first packet on.

    Head and body leave in one packet: each system call hands the interpreter to another thread and has to get it back.
    """

    _held: list[bytes] | None = None
    look: CheckHost

    def connect(self) -> Any:
        self._tell()
        super().connect()  # type: ignore[misc]

    def _new_conn(self) -> Any:
        """A socket to a host that may be asked. Nothing else is connected to, and nothing is sent before all this is known."""
        url = f"http://{Host(self.host, self.port)}"  # type: ignore[attr-defined]
        for *_, place in socket.getaddrinfo(self._dns_host, self.port, type=socket.SOCK_STREAM):  # type: ignore[attr-defined]
            self.look(url, literal(str(place[0])))
        sock = super()._new_conn()  # type: ignore[misc]
        try:  # the name may lead elsewhere by now
            self.look(url, literal(sock.getpeername()[0]))
        except (ProviderError, OSError):
            sock.close()
            raise
        return sock

    def request(self, *args: Any, **kwargs: Any) -> Any:
        self._tell()
        self._held = []
        try:
            super().request(*args, **kwargs)  # type: ignore[misc]
        finally:
            held = b"".join(self._held)
            self._held = None
        self.send(held)
        self._tell()

    def send(self, content: Any) -> Any:
        if self._held is not None and isinstance(content, bytes):
            self._held.append(content)
        else:
            super().send(content)  # type: ignore[misc]

    def _tell(self) -> None:
        if call := budget.current_call():
            call.watch_connection(self)


class Adapter(HTTPAdapter):
    """Hands out connections that can be watched, with a proxy and without."""

    def __init__(self, look: CheckHost, **kwargs: Any) -> None:
        # Pools of connections that tell ``look`` where they lead before anything is sent.
        own = {"look": staticmethod(look)}
        plain = type("Plain", (_Watched, HTTPConnection), own)
        secure = type("Secure", (_Watched, HTTPSConnection), own)
        self._pools = {
            "http": type("PlainPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
            "https": type("SecurePool", (HTTPSConnectionPool,), {"ConnectionCls": secure}),
        }
        super().__init__(**kwargs)

    def route(self, ask: HttpRequest, verify: bool | str) -> _Route:
        """What ``HTTPAdapter.send`` finds out about a request before it sends it."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", **ask.headers}
        request = requests.Request(ask.method, ask.url, headers=headers).prepare()
        proxies = get_environ_proxies(ask.url)
        pool = self.get_connection_with_tls_context(request, verify, proxies)
        self.cert_verify(pool, request.url, verify, None)  # type: ignore[no-untyped-call]
        fixed = {
            name: text for name, text in request.headers.items() if name.lower() != "content-length"
        }
        return _Route(pool, str(request.method), self.request_url(request, proxies), fixed)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """As requests makes it, with our pools."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        """As requests makes it, with our pools."""
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = self._pools
        return manager
