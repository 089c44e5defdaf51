"""Writes a file next to its place and renames it: whole or not at all, and never through a link of the repository."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file is to be: ``parts`` (folders, then its name) below ``root``, which is taken as it is.

    Below the root no symbolic link is followed. ``shared``: anybody may write what is made, as later steps of a job that
    are not root must.
    """

    root: Path
    parts: tuple[str, ...]
    shared: bool = False

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.parts)


@contextmanager
def replacing(place: Place) -> Iterator[TextIO]:
    """A text file that takes the place when the block ends well, and leaves what was there otherwise. Raises OSError."""
    folder = opened_folder(place)
    try:
        _check_replaceable(place, folder)
        # A name of its own: a long one of the user's leaves no room for more.
        temporary = f".gradegate-{secrets.token_hex(8)}.tmp"
        try:
            descriptor = os.open(temporary, NEW, 0o666, dir_fd=folder)
            if place.shared:
                os.fchmod(descriptor, 0o666)  # whatever the umask
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n") as file:
                yield file
            os.replace(temporary, place.parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):  # it has its place
                os.unlink(temporary, dir_fd=folder)
    finally:
        os.close(folder)


def opened_folder(place: Place) -> int:
    """The folder of the file, opened step by step from the root; what is missing is made. Raises OSError."""
    folder = os.open(place.root, _FOLDER)
    for position, name in enumerate(place.parts[:-1], start=1):
        above = folder
        try:
            made = False
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=above)
                made = True
            folder = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
            if made and place.shared:
                os.fchmod(folder, 0o777)
        except NotADirectoryError as e:
            # What stands where a folder should be.
            shown = "/".join(place.parts[:position])
            linked = stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
            raise (_link(shown) if linked else OSError(e.errno, f"`{shown}` is not a folder")) from e
        finally:
            os.close(above)
    return folder


def _check_replaceable(place: Place, folder: int) -> None:
    """Raise OSError where something other than a plain file has the name already."""
    name, shown = place.parts[-1], "/".join(place.parts)
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise _link(shown)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EEXIST, f"`{shown}` is there already, and is not a plain file")


def _link(shown: str) -> OSError:
    return OSError(errno.ELOOP, f"`{shown}` is a symbolic link, and reports follow none")
