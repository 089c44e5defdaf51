"""Finds the files that a pattern of paths matches, such as ``tests/**/*.yaml``, within limits.

``Path.glob`` has no limits: a pattern over a tree of a million files, or through links to folders above, takes minutes and
gigabytes before its first file.
"""

import fnmatch
import glob
import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path

from gradegate.files.limits import MAX_ENTRIES, MAX_MATCHES
from gradegate.structs import Struct

_MAX_PARTS = 64


class TooManyFiles(ValueError):
    """A pattern looks at too many files, or matches too many. The message continues a sentence about the pattern."""


def folder_of_pattern(pattern: Path) -> Path:
    """The folder in which a pattern searches: all parts of the path before the first wildcard."""
    return Path(*takewhile(lambda part: not glob.has_magic(part), pattern.parts))


def split_pattern(pattern: str) -> tuple[str, tuple[str, ...]]:
    """The folder in which a pattern searches, as written, and the parts after it; the first of them has a wildcard."""
    folder = folder_of_pattern(Path(pattern))
    parts: list[str] = []
    for part in Path(pattern).parts[len(folder.parts) :]:
        if part == "**" and parts[-1:] == ["**"]:
            continue  # several `**` in a row mean the same as one
        parts.append(part)
    return str(folder), tuple(parts)


def find_matches(folder: Path, parts: Sequence[str]) -> set[Path]:
    """The files and folders below a folder that the parts match; ``**`` follows no links. Raises TooManyFiles.

    As in a shell, hidden names, such as a checkout in `.base`, are matched only by a part that begins with a dot.
    """
    if len(parts) > _MAX_PARTS:
        raise TooManyFiles(f"has more than {_MAX_PARTS} parts")
    paths = set()
    for path in _Search().find(folder, tuple(parts)):
        paths.add(path)
        if len(paths) > MAX_MATCHES:
            raise TooManyFiles(f"matches more than {MAX_MATCHES:,} files")
    return paths


class _Search(Struct):
    """The search for one pattern, which counts the entries of folders that it looks at."""

    entry_count: int = 0

    def find(self, folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        """Whatever the parts match below a folder. The same path may come several times. Raises TooManyFiles."""
        if not parts:
            yield folder
            return
        first, *others = parts
        rest = tuple(others)

        # `**` stands for no folder, or for any folder and `**` again.
        if first == "**":
            yield from self.find(folder, rest)
            for entry in self._entries_of(folder):
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield from self.find(folder / entry.name, parts)
        elif glob.has_magic(first):
            name_pattern = re.compile(fnmatch.translate(first))
            for entry in self._entries_of(folder):
                is_visible = first.startswith(".") or not entry.name.startswith(".")
                if is_visible and name_pattern.match(entry.name):
                    yield from self.find(folder / entry.name, rest)
        elif os.path.lexists(folder / first):
            yield from self.find(folder / first, rest)

    def _entries_of(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as scan:
                entries = list(islice(scan, MAX_ENTRIES + 1 - self.entry_count))
        except OSError:  # not a folder, or not readable
            return []
        self.entry_count += len(entries) + 1
        if self.entry_count > MAX_ENTRIES:
            raise TooManyFiles(f"looks at more than {MAX_ENTRIES:,} files")
        return entries
