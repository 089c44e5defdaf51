"""How a packed body is unpacked, member by member and within its limit."""

import gzip
import zlib

import pytest

from gradegate.http.exchange import unpack_body

MEMBER = gzip.compress(b"x")


def test_a_body_of_several_members_is_unpacked_whole():
    long = gzip.compress(bytes(range(256)) * 300)
    assert unpack_body(MEMBER + long + MEMBER, "gzip", 1_000_000) == b"x" + bytes(range(256)) * 300 + b"x"
    assert unpack_body(MEMBER * 9, "gzip", 4) == b"xxxx"
    with pytest.raises(ValueError, match="ends too early"):
        unpack_body(MEMBER + long[:-1], "gzip", 1_000_000)


class CountedUnpacker:
    """An unpacker of zlib that counts the bytes that it gets."""

    made = zlib.decompressobj
    count = 0

    def __init__(self, *options):
        self._unpacker = CountedUnpacker.made(*options)

    def decompress(self, body, limit):
        CountedUnpacker.count += len(body)
        return self._unpacker.decompress(body, limit)

    def __getattr__(self, name):
        return getattr(self._unpacker, name)


def test_the_work_grows_with_the_members_and_not_with_their_square(monkeypatch):
    monkeypatch.setattr(zlib, "decompressobj", CountedUnpacker)
    monkeypatch.setattr(CountedUnpacker, "count", 0)
    assert unpack_body(MEMBER * 5_000, "gzip", 1_000_000) == b"x" * 5_000
    assert CountedUnpacker.count <= 5_000 * 1_024  # all members after each member would be 262 million bytes
