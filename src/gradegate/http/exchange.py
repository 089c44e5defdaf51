"""An HTTP request, its response, and how a packed body is unpacked."""

import zlib
from typing import Any

from gradegate.errors import ProviderError
from gradegate.files.json_text import parse_untrusted_json
from gradegate.files.limits import MAX_BODY, MAX_BODY_VALUES
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, NamedTexts

# Bytes that are unpacked at once. zlib copies what follows the end of a gzip member, so a body goes in by small pieces:
# a body of many tiny members would otherwise take quadratic time.
_PIECE = 1024


class HttpRequest(FrozenStruct):
    """One request; ``host`` as messages show it."""

    method: str
    url: str
    host: str
    headers: NamedTexts
    content: bytes | None
    max_bytes: int = MAX_BODY  # of the response


class Response(FrozenStruct):
    """A response; the names of ``headers`` are in lower case, ``seconds`` are those of the last attempt."""

    status: int
    headers: NamedTexts
    body: bytes
    host: str
    seconds: float = 0.0
    refusing_model: str = ""  # the model that refused the request, with its host

    @property
    def is_success(self) -> bool:
        """Whether the status says that the request was done."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The body as JSON. Raises ProviderError."""
        if self.body.count(b",") > MAX_BODY_VALUES:
            raise ProviderError(
                f"{self.host} answered JSON with more than {MAX_BODY_VALUES:,} values"
            )
        try:
            return parse_untrusted_json(self.body)
        except (ValueError, RecursionError) as e:
            start = excerpt(self.body[:400].decode("utf-8", "backslashreplace"), 80)
            raise ProviderError(f"{self.host} sent a reply that is not JSON: {start!r}") from e


def unpack_body(body: bytes, encodings: str, max_bytes: int) -> bytes:
    """The unpacked body, or its first ``max_bytes``. ``encodings`` is the header ``Content-Encoding``.

    Raises ValueError if the body is cut, or packed in a way that was not requested.
    """
    for encoding in map(str.strip, reversed(encodings.lower().split(","))):
        if encoding in ("gzip", "x-gzip", "deflate"):
            body = _inflate(body, encoding == "deflate", max_bytes)
        elif encoding not in ("", "identity"):
            raise ValueError(f"its encoding is {excerpt(encoding, 40)!r}")
    return body


def _inflate(body: bytes, is_deflate: bool, max_bytes: int) -> bytes:
    """Inflate a body, which is one or more members in a row. Raises ValueError.

    ``deflate`` has a zlib header, as RFC 9110 says, or none, as some servers send it.
    """
    content = bytearray()
    packed = memoryview(body)
    position = 0  # of the first byte that is not unpacked yet
    while position < len(packed) and len(content) < max_bytes:
        window_bits = zlib.MAX_WBITS | 32  # reads a header, of gzip or of zlib
        if is_deflate and packed[position] & 15 != 8:  # where a zlib header has its method
            window_bits = -zlib.MAX_WBITS
        unpacker = zlib.decompressobj(window_bits)

        while not unpacker.eof and len(content) < max_bytes:
            piece = packed[position : position + _PIECE]
            if not piece:
                raise ValueError("it ends too early")
            try:
                content += unpacker.decompress(piece, max_bytes - len(content))
            except zlib.error as e:
                raise ValueError("it is broken") from e
            bytes_left = len(unpacker.unconsumed_tail) + len(unpacker.unused_data)
            position += len(piece) - bytes_left
    return bytes(content)
