"""Patterns of paths, such as ``tests/**/*.yaml``, followed only so far.

``Path.glob`` has no end to what it looks at: a pattern over a tree of a million files, or through links to folders above,
takes minutes and gigabytes before it gives its first file.
"""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gradegate.files.bounds import MAX_ENTRIES, MAX_MATCHES

_MAGIC = re.compile(r"[*?\[]")
_MAX_PARTS = 64


class TooMany(ValueError):
    """A pattern looks at too many files, or matches too many; the message says so of the pattern."""


def split(pattern: str) -> tuple[str, tuple[str, ...]]:
    """The folder that a pattern starts in, as written, and the parts behind it; the first of them is a pattern."""
    parts = PurePosixPath(pattern).parts
    start = next((number for number, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
    folder = str(PurePosixPath(*parts[:start])) if start else "."
    # `**` several times in a row is as good as once.
    return folder, tuple(part for before, part in itertools.pairwise(("", *parts[start:])) if not before == part == "**")


def matches(folder: Path, parts: Sequence[str]) -> set[Path]:
    """The files and folders below one that the parts match; ``**`` goes through no links. Raises TooMany.

    As in a shell, what is hidden, such as a checkout in `.base`, is matched by a part that begins with a dot alone.
    """
    if len(parts) > _MAX_PARTS:
        raise TooMany(f"has more than {_MAX_PARTS} parts")
    found: set[Path] = set()
    for path in _Walk().matches(folder, tuple(parts)):
        found.add(path)
        if len(found) > MAX_MATCHES:
            raise TooMany(f"matches more than {MAX_MATCHES:,} files")
    return found


@dataclass
class _Walk:
    entries: int = 0

    def matches(self, folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        if not parts:
            yield folder
            return
        first, rest = parts[0], parts[1:]
        if first == "**":
            yield from self.matches(folder, rest)
            for entry in self._entries(folder):
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield from self.matches(folder / entry.name, parts)
        elif not _MAGIC.search(first):
            if os.path.lexists(folder / first):
                yield from self.matches(folder / first, rest)
        else:
            fits = re.compile(fnmatch.translate(first)).match
            for entry in self._entries(folder):
                if fits(entry.name) and (first.startswith(".") or not entry.name.startswith(".")):
                    yield from self.matches(folder / entry.name, rest)

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                listed = list(itertools.islice(entries, MAX_ENTRIES + 1 - self.entries))
        except OSError:  # no folder, or none that may be read
            return []
        self.entries += len(listed) + 1
        if self.entries > MAX_ENTRIES:
            raise TooMany(f"looks at more than {MAX_ENTRIES:,} files")
        return listed
