"""Opens plain files only, and writes a file completely or not at all, never through a link of the repository.

Reading a pipe or a device could take for ever. A file is written next to its place, and then renamed.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import TextIO

from gradegate.files.limits import MIB
from gradegate.structs import FrozenStruct

_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Opens a file that must not exist yet
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnusableError(ValueError):
    """The file cannot be read, or is not what it should be; the message says why, without its name."""


@contextmanager
def open_plain_file(
    path: Path, max_bytes: int, *, follows_links: bool = False
) -> Iterator[BufferedReader]:
    """Open a regular file, and no pipe, device or folder. Raises UnusableError, also for a larger file."""
    flags = _FILE if follows_links else _FILE | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags)
    except ValueError as e:  # the name contains a NUL character
        raise UnusableError(str(e)) from e
    except OSError as e:
        reason = e.strerror or str(e)
        if e.errno == errno.ELOOP:
            reason = "it is a symbolic link, and none is followed"
            if follows_links:
                reason = "its links lead in a circle"
        raise UnusableError(reason) from e

    status = os.fstat(descriptor)
    problem = ""
    if status.st_size > max_bytes:
        problem = f"it has more than {max_bytes // MIB} MiB"
    elif stat.S_ISDIR(status.st_mode):
        problem = "it is a folder"
    elif not stat.S_ISREG(status.st_mode):
        problem = "it is not a plain file"
    if problem:
        os.close(descriptor)
        raise UnusableError(problem)
    with os.fdopen(descriptor, "rb") as file:
        yield file


# --- files that are written -----------------------------------------------------------------------------------


class Place(FrozenStruct):
    """Where a file is written. Below the root no symbolic link is followed."""

    root: Path  # may be reached through links
    parts: tuple[str, ...]  # folders below the root, and the name of the file
    shared: bool = False  # anybody may write the file: later steps of a job may not be root
    private: bool = False  # only its owner may read it, or enter a folder that is made for it

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.parts)

    @property
    def steps(self) -> list[Path]:
        """The path of each folder below the root, and of the file."""
        return [
            self.root.joinpath(*self.parts[:length]) for length in range(1, len(self.parts) + 1)
        ]


@contextmanager
def replace_file(place: Place) -> Iterator[TextIO]:
    """Open a new text file. It replaces the file at the place if the block ends without an exception. Raises OSError."""
    folder = open_folder(place)
    try:
        _check_replaceable(place, folder)
        # Not made of the user's name: a long one would leave no room for more.
        temporary = f".gradegate-{secrets.token_hex(8)}.tmp"
        try:
            mode = 0o600 if place.private else 0o666
            descriptor = os.open(temporary, NEW, mode, dir_fd=folder)
            if place.shared:
                os.fchmod(descriptor, 0o666)  # whatever the umask
            with os.fdopen(
                descriptor, "w", encoding="utf-8", errors="replace", newline="\n"
            ) as file:
                yield file
            os.replace(temporary, place.parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):  # it was renamed
                os.unlink(temporary, dir_fd=folder)
    finally:
        os.close(folder)


def _check_replaceable(place: Place, folder: int) -> None:
    """Raises OSError if a link, or anything else than a plain file, is at the place, in an open folder."""
    try:
        mode = os.stat(place.parts[-1], dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    shown = "/".join(place.parts)
    if stat.S_ISLNK(mode):
        raise _link_error(shown)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EEXIST, f"`{shown}` is there already, and is not a plain file")


def open_folder(place: Place) -> int:
    """Open the folder of the file, and make it if it is missing. Returns its descriptor. Raises OSError."""
    folder = os.open(place.root, _FOLDER)
    # One folder after another, each inside of the last: a path could lead through a link that was put there since.
    for position, name in enumerate(place.parts[:-1], start=1):
        parent = folder
        try:
            is_new = False
            with suppress(FileExistsError):
                os.mkdir(name, 0o700 if place.private else 0o777, dir_fd=parent)
                is_new = True
            folder = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
            if is_new and place.shared:
                os.fchmod(folder, 0o777)
        except NotADirectoryError as e:
            shown = "/".join(place.parts[:position])
            mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                raise _link_error(shown) from e
            raise OSError(e.errno, f"`{shown}` is not a folder") from e
        finally:
            os.close(parent)
    return folder


def remove(place: Place) -> None:
    """Remove the file, or a link in its place. Raises OSError, also for a folder."""
    if not os.path.lexists(place.path):
        return
    folder = open_folder(place)
    try:
        os.unlink(place.parts[-1], dir_fd=folder)
    except IsADirectoryError as e:
        raise OSError(e.errno, "it is a folder") from e
    finally:
        os.close(folder)


def _link_error(shown: str) -> OSError:
    return OSError(errno.ELOOP, f"`{shown}` is a symbolic link, and reports follow none")
