"""Cuts what is only for debuggers off the libraries of a folder: section headers, symbols and debug information.

What `strip` does, for a build that has no package manager. A library is loaded by its program headers; what lies behind the last
byte that they name is read by no loader.
"""

import struct
import sys
from pathlib import Path

MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little endian: amd64 and arm64
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")


def lean(file: bytes) -> bytes:
    """The file up to the end of its last segment, and without the table of sections; another kind of file as it is."""
    if not file.startswith(MAGIC):
        return file
    fields = list(HEADER.unpack_from(file))
    at, size, count = fields[5], fields[9], fields[10]
    segments = [SEGMENT.unpack_from(file, at + size * number) for number in range(count)]
    end = max(
        [at + size * count, *(offset + length for _, _, offset, _, _, length, _, _ in segments)]
    )
    fields[6] = fields[12] = fields[13] = (
        0  # where sections are listed, how many, and which has their names
    )
    return HEADER.pack(*fields) + file[HEADER.size : end]


def main(folder: str) -> None:
    """Write anew what becomes shorter."""
    for path in Path(folder).rglob("*.so*"):
        if path.is_file() and not path.is_symlink():
            whole = path.read_bytes()
            if len(short := lean(whole)) < len(whole):
                path.write_bytes(short)


if __name__ == "__main__":
    main(sys.argv[1])
