"""What is sent over HTTP, and what came back."""

import zlib
from typing import Any

from gradegate.errors import ProviderError
from gradegate.files.documents import strict
from gradegate.files.limits import MAX_BODY, MAX_BODY_VALUES
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, NamedTexts


class HttpRequest(FrozenStruct):
    """One request; ``host`` as messages show it."""

    method: str
    url: str
    host: str
    headers: NamedTexts
    content: bytes | None
    max_bytes: int = MAX_BODY  # bytes that the response may have


class Response(FrozenStruct):
    """A response; ``headers`` in lower case, ``seconds`` of the last attempt alone."""

    status: int
    headers: NamedTexts
    body: bytes
    host: str
    seconds: float = 0.0
    asked: str = ""  # the model that was asked, with its host, where it refused

    @property
    def is_success(self) -> bool:
        """Whether the status says that the request was done."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The body as JSON. Raises ProviderError."""
        try:
            if self.body.count(b",") > MAX_BODY_VALUES:
                what = f"{self.host} answered JSON with more than {MAX_BODY_VALUES:,} values"
                raise ProviderError(what)
            return strict(self.body)
        except (ValueError, RecursionError) as e:
            start = excerpt(self.body[:400].decode("utf-8", "backslashreplace"), 80)
            raise ProviderError(f"{self.host} sent a reply that is not JSON: {start!r}") from e


def unpack_body(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """At most so many bytes of a body, whole. Raises ValueError when it is cut, or packed in a way not asked for."""
    for name in reversed([name.strip().lower() for name in encoding.split(",")]):
        if name in ("gzip", "x-gzip", "deflate"):
            body = _inflated(body, name == "deflate", max_bytes)
        elif name not in ("", "identity"):
            raise ValueError(f"its encoding is {excerpt(name, 40)!r}")
    return body


def _inflated(body: bytes, plain: bool, max_bytes: int) -> bytes:
    """``plain`` (deflate) is with a zlib header as RFC 9110 has it, or without as some servers send it."""
    if not body:
        return b""  # as of HEAD and 204
    parts: list[bytes] = []
    while body and sum(map(len, parts)) < max_bytes:  # a gzip body may have several members
        unpacker = zlib.decompressobj(
            zlib.MAX_WBITS | 32 if body[0] & 15 == 8 or not plain else -zlib.MAX_WBITS
        )
        try:
            parts.append(unpacker.decompress(body, max_bytes - sum(map(len, parts))))
        except zlib.error as e:
            raise ValueError("it is broken") from e
        if not unpacker.eof and not unpacker.unconsumed_tail:
            raise ValueError("it ends too early")
        body = unpacker.unused_data
    return b"".join(parts)
