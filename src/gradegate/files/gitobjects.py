"""Objects of git, read without git from the files of a repository, and believed only under their own names.

The name of an object is the hash of what it holds, so that whoever knows the name of a commit knows every file in it, whatever
else lies in the folder, and however it came there.
Formats: https://git-scm.com/docs/gitformat-pack and https://git-scm.com/book/en/v2/Git-Internals-Git-Objects.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LARGEST = 32 * 1024 * 1024  # bytes of a commit or a tree; a tree of 100,000 files has four million
DEEPEST = 500  # deltas upon deltas; git makes chains of 50, and of 250 when told to try hard
LONGEST = 63  # bits of a number
KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
BY_OFFSET, BY_NAME = 6, 7  # the two ways in which a delta names what it changes
INDEX = b"\xfftOc\x00\x00\x00\x02"  # version 2, which git writes since 2008
CHUNK = 65536


def object_name(kind: str, content: bytes, length: int) -> str:
    """The name that git gives to an object; ``length`` is that of the repository's names: 40 (SHA-1) or 64 (SHA-256)."""
    digest = hashlib.sha256() if length == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"%s %d\0" % (kind.encode(), len(content)))
    digest.update(content)
    return digest.hexdigest()


def read_object(folder: Path, name: str, kind: str) -> bytes:
    """The content of an object in the folder ``objects`` of a repository. Raises LookupError when it cannot be had."""
    try:
        found = _loose(folder, name) or _packed(folder, name)
    except (OSError, ValueError, zlib.error, struct.error) as e:
        raise LookupError(name) from e
    if found is None or found[0] != kind or object_name(*found, len(name)) != name:
        raise LookupError(name)
    return found[1]


def _loose(folder: Path, name: str) -> tuple[str, bytes] | None:
    path = folder / name[:2] / name[2:]
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head, _, content = _inflate(file, LARGEST, exactly=False).partition(b"\0")
    return head.partition(b" ")[0].decode(), content


def _packed(folder: Path, name: str) -> tuple[str, bytes] | None:
    for path in sorted((folder / "pack").glob("*.idx")):
        with path.open("rb") as index:
            offset = _offset(index, bytes.fromhex(name))
            if offset is not None:
                with path.with_suffix(".pack").open("rb") as pack:
                    return _Pack(index, pack, len(name) // 2).read(offset)
    return None


def _offset(index: BinaryIO, name: bytes) -> int | None:
    """Where the pack of an index holds an object, or None."""
    if _at(index, 0, len(INDEX)) != INDEX:
        raise ValueError("the index of a pack has a version that is not known")
    fanout = struct.unpack(">256I", _at(index, len(INDEX), 1024))
    names, size, count = len(INDEX) + 1024, len(name), fanout[-1]
    first, last = fanout[name[0] - 1] if name[0] else 0, fanout[name[0]]
    bucket = _at(index, names + first * size, max(last - first, 0) * size)
    places = [i for i in range(last - first) if bucket[i * size : (i + 1) * size] == name]
    if not places:
        return None
    offsets = names + count * (size + 4)  # behind the names stand checksums of four bytes
    (offset,) = struct.unpack(">I", _at(index, offsets + (first + places[0]) * 4, 4))
    if offset & 0x80000000:  # a pack above 2 GiB: the number is the place of a longer number
        (offset,) = struct.unpack(">Q", _at(index, offsets + count * 4 + (offset & 0x7FFFFFFF) * 8, 8))
    return int(offset)


@dataclass(frozen=True, slots=True)
class _Pack:
    index: BinaryIO
    file: BinaryIO
    size: int  # bytes of a name

    def read(self, offset: int) -> tuple[str, bytes]:
        deltas: list[bytes] = []
        while True:
            self.file.seek(offset)
            # The kind and the size of an entry.
            byte = self._byte()
            more = _number(iter(self._byte, None)) if byte & 0x80 else 0
            number, size = byte >> 4 & 7, more << 4 | byte & 15
            if number in KINDS:
                break
            base = self._base(number, offset)
            deltas.append(_inflate(self.file, size))
            if len(deltas) > DEEPEST or sum(map(len, deltas)) > LARGEST:
                raise ValueError("a chain of deltas has no end")
            offset = base
        content = _inflate(self.file, size)
        for delta in reversed(deltas):
            content = _changed(content, delta)
        return KINDS[number], content

    def _base(self, number: int, offset: int) -> int:
        if number == BY_OFFSET:
            byte = self._byte()
            back = byte & 0x7F
            while byte & 0x80:
                byte = self._byte()
                back = (back + 1) << 7 | byte & 0x7F
                if back >> LONGEST:
                    break
            return offset - back
        base = _offset(self.index, self.file.read(self.size)) if number == BY_NAME else None
        if base is None:
            raise ValueError("an entry of a pack is no object, or changes one that is not there")
        return base

    def _byte(self) -> int:
        return self.file.read(1)[0]


def _at(file: BinaryIO, place: int, size: int) -> bytes:
    file.seek(place)
    content = file.read(min(size, LARGEST))
    if len(content) != size:
        raise ValueError("a file of git ends too early")
    return content


def _inflate(file: BinaryIO, size: int, *, exactly: bool = True) -> bytes:
    if size > LARGEST:
        raise ValueError("an object is larger than any commit or tree")
    engine, content = zlib.decompressobj(), bytearray()
    while not engine.eof and len(content) <= size and (piece := engine.unconsumed_tail or file.read(CHUNK)):
        content += engine.decompress(piece, size + 1 - len(content))
    if not engine.eof or len(content) > size or (exactly and len(content) < size):
        raise ValueError("an object has another size than it says")
    return bytes(content)


def _changed(base: bytes, delta: bytes) -> bytes:
    """What a delta makes of an object: pieces copied from it, and pieces of its own."""
    steps = iter(delta)
    source, target = _number(steps), _number(steps)
    if source != len(base) or target > LARGEST:
        raise ValueError("a delta belongs to another object")
    made = bytearray()
    for code in steps:
        if code & 0x80:
            start = sum(_next(steps) << 8 * i for i in range(4) if code >> i & 1)
            size = sum(_next(steps) << 8 * i for i in range(3) if code >> i & 16) or 0x10000
            made += base[start : start + size]
        else:
            made += bytes(_next(steps) for _ in range(code))
        if len(made) > target:
            break
    if len(made) != target:
        raise ValueError("a delta makes another size than it says")
    return bytes(made)


def _number(steps: Iterator[int]) -> int:
    number = shift = 0
    for byte in steps:
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return number
        if shift > LONGEST:
            break
    raise ValueError("a number has no end")


def _next(steps: Iterator[int]) -> int:
    byte = next(steps, None)
    if byte is None:
        raise ValueError("a delta ends too early")
    return byte
