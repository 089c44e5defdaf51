"""Files of JSON lines that say at their end how many lines they have, and their digest: what is cut is seen to be.

They come from other jobs, and anybody may have written them: they are read strictly, and within bounds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gradegate.files.bounds import MAX_ANSWERS, MAX_BASELINE, MAX_FILE
from gradegate.files.regular import UnusableError, regular
from gradegate.files.replacing import Place, replacing
from gradegate.files.validation import first_wrong
from gradegate.reporting.visible import one_line

M = TypeVar("M", bound=BaseModel)
_MOST = 2 * MAX_ANSWERS + 10  # lines: an answer and what was asked of it again, and what stands around them


class Damaged(ValueError):
    """The file cannot be used; the message says why, and at which line."""


class Footer(BaseModel):
    """The last line: how many there are before it, and the SHA-256 of all their bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    lines: int
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


def write(place: Place, lines: Iterable[str]) -> str:
    """Write lines, each without its end, and the footer; gives the digest. Raises OSError."""
    digest, count = hashlib.sha256(), 0
    with replacing(place) as file:
        for line in lines:
            text = line + "\n"
            digest.update(text.encode())
            file.write(text)
            count += 1
        file.write(Footer(lines=count, sha256=digest.hexdigest()).model_dump_json() + "\n")
    return digest.hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """A file of lines. Raises Damaged."""
    try:
        with regular(path, MAX_BASELINE) as file:
            yield file
    except UnusableError as e:
        raise Damaged(str(e)) from e


def checked(file: BufferedReader) -> Footer:
    """The footer, once all before it is what the footer says; the file is at its start again. Raises Damaged."""
    digest, count, last = hashlib.sha256(), 0, b""
    file.seek(0)
    while line := file.readline(MAX_FILE):
        if last:
            digest.update(last)
            count += 1
        if count > _MOST:
            raise Damaged(f"it has more than {_MOST:,} lines")
        if not line.endswith(b"\n"):
            raise Damaged(f"it is cut: line {count + 1} has no end")
        last = line
    footer = parsed(Footer, last, count + 1, "it is cut: the last line is no footer")
    if footer.lines != count:
        raise Damaged(f"it is cut: it has {count:,} of {footer.lines:,} lines")
    if footer.sha256 != digest.hexdigest():
        raise Damaged("it was changed after it was written: its digest is another")
    file.seek(0)
    return footer


def lines(file: BufferedReader, count: int) -> Iterator[tuple[int, bytes]]:
    """The first so many lines with their numbers, from 1."""
    for number in range(1, count + 1):
        yield number, file.readline(MAX_FILE)


def parsed(model: type[M], line: bytes, number: int, otherwise: str = "") -> M:
    """A line as that model. Raises Damaged, with ``otherwise`` for the words."""
    try:
        return model.model_validate_json(line)
    except ValidationError as e:
        raise Damaged(otherwise or one_line(f"line {number}: {first_wrong(e)}", 200)) from e
