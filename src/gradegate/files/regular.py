"""Opens a regular file and nothing else: whoever reads a pipe or a device may wait for ever."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from gradegate.files.bounds import MIB

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class UnusableError(ValueError):
    """The file cannot be read, or is not what it should be; the message says why, without its name."""


@contextmanager
def regular(path: Path, most: int, *, links: bool = False) -> Iterator[BufferedReader]:
    """A regular file of at most ``most`` bytes; with ``links`` also the one that a link leads to. Raises UnusableError."""
    try:
        descriptor = os.open(path, _FLAGS | (0 if links else os.O_NOFOLLOW))
    except (OSError, ValueError) as e:  # a name may hold a NUL character
        raise UnusableError(getattr(e, "strerror", None) or str(e)) from e
    about = os.fstat(descriptor)
    wrong = "it is a folder" if stat.S_ISDIR(about.st_mode) else "it is not a plain file"
    if about.st_size > most:
        wrong = f"it has more than {most // MIB} MiB"
    if not stat.S_ISREG(about.st_mode) or about.st_size > most:
        os.close(descriptor)
        raise UnusableError(wrong)
    with os.fdopen(descriptor, "rb") as file:
        yield file
