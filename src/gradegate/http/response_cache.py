"""What the client needs of a cache of responses, and of the call for which it sends a request.

``providers/cache`` implements both protocols, so the client imports nothing from providers.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from gradegate.core.usage import CacheReport
from gradegate.http.exchange import HttpRequest, Response


class ResponseCache(Protocol):
    """Responses of earlier runs."""

    def keys_of(self, request: HttpRequest, role: str) -> tuple[tuple[str, ...], bytes]:
        """What identifies a request apart from its body, and the key of the HMAC that signs its responses."""

    def find(self, key: bytes, seal_key: bytes) -> Any:
        """The stored response, or None."""

    def put(self, key: bytes, seal_key: bytes, stored: Any) -> None:
        """Store a response for later runs."""

    def add_saving(self, usd: float) -> None:
        """Add what a response from the cache would have cost, in US dollars."""

    def report(self) -> CacheReport:
        """What came from the cache so far."""

    @property
    def problems(self) -> Sequence[str]:
        """Sentences about replies that could not be read, believed or stored."""


class CurrentCall(Protocol):
    """The call for which this thread sends requests."""

    model: tuple[str, tuple[float, float] | None]  # its name, and US dollars per token in and out

    def find_response(self, request: HttpRequest) -> Response | None:
        """The response to a request, if the cache has it."""

    def record_response(self, response: Response) -> None:
        """Remember the response to the last request."""

    def replace_response(self, response: Response) -> None:
        """Replace the remembered response, which was only the beginning, with the final one."""


CURRENT_CALL: ContextVar[CurrentCall | None] = ContextVar("current_call", default=None)
