"""Plain files: read where they are nothing else, and written whole or not at all, never through a link of the repository.

Whoever reads a pipe or a device may wait for ever. A file is written next to its place and renamed; of new ones all are made
or none, and nothing that is there is touched.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import TextIO

from gradegate.core.numbers import format_count
from gradegate.errors import ConfigError, Mistake
from gradegate.files.limits import MIB
from gradegate.structs import FrozenStruct, replace

_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Opens a file that must not exist yet
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_THERE = " is there already"
MOVE = "move it away, or start in another folder: gradegate overwrites no file"


class UnusableError(ValueError):
    """The file cannot be read, or is not what it should be; the message says why, without its name."""


@contextmanager
def regular(path: Path, most: int, *, links: bool = False) -> Iterator[BufferedReader]:
    """Open a regular file of at most ``most`` bytes; with ``links`` also through links. Raises UnusableError."""
    try:
        descriptor = os.open(path, _FILE | (0 if links else os.O_NOFOLLOW))
    except (OSError, ValueError) as e:  # a name may contain a NUL character
        reason = getattr(e, "strerror", None) or str(e)
        if getattr(e, "errno", None) == errno.ELOOP:
            reason = "it is a symbolic link, and none is followed"
            if links:
                reason = "its links lead in a circle"
        raise UnusableError(reason) from e

    status = os.fstat(descriptor)
    problem = ""
    if status.st_size > most:
        problem = f"it has more than {most // MIB} MiB"
    elif stat.S_ISDIR(status.st_mode):
        problem = "it is a folder"
    elif not stat.S_ISREG(status.st_mode):
        problem = "it is not a plain file"
    if problem:
        os.close(descriptor)
        raise UnusableError(problem)
    with os.fdopen(descriptor, "rb") as file:
        yield file


# --- a file that is replaced ----------------------------------------------------------------------------------


class Place(FrozenStruct):
    """Where a file is written: ``parts`` (folders, then its name) below ``root``, which is taken as it is.

    Below the root no symbolic link is followed. ``shared``: anybody may write the file, because later steps of a job may not
    be root. ``private``: only its owner may read it, or enter a folder that is made for it.
    """

    root: Path
    parts: tuple[str, ...]
    shared: bool = False
    private: bool = False

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.parts)

    @property
    def steps(self) -> list[Path]:
        """Each folder on the way, and the file."""
        return [self.root.joinpath(*self.parts[: number + 1]) for number in range(len(self.parts))]


@contextmanager
def replacing(place: Place) -> Iterator[TextIO]:
    """Open a new text file. It replaces the file at the place if the block ends without an exception. Raises OSError."""
    folder = opened_folder(place)
    name = place.parts[-1]
    shown = "/".join(place.parts)
    try:
        with suppress(FileNotFoundError):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                raise _link_error(shown)
            if not stat.S_ISREG(mode):
                raise OSError(errno.EEXIST, f"`{shown}` is there already, and is not a plain file")
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
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):  # it was renamed
                os.unlink(temporary, dir_fd=folder)
    finally:
        os.close(folder)


def opened_folder(place: Place) -> int:
    """Open the folder of the file, step by step from the root; missing folders are made. Raises OSError."""
    folder = os.open(place.root, _FOLDER)
    for position, name in enumerate(place.parts[:-1], start=1):
        parent = folder
        try:
            is_made = False
            with suppress(FileExistsError):
                os.mkdir(name, 0o700 if place.private else 0o777, dir_fd=parent)
                is_made = True
            folder = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
            if is_made and place.shared:
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
    folder = opened_folder(place)
    try:
        os.unlink(place.parts[-1], dir_fd=folder)
    except IsADirectoryError as e:
        raise OSError(e.errno, "it is a folder") from e
    finally:
        os.close(folder)


def _link_error(shown: str) -> OSError:
    return OSError(errno.ELOOP, f"`{shown}` is a symbolic link, and reports follow none")


NO_CURES: Mapping[Place, str] = {}

# --- new files ------------------------------------------------------------------------------------------------


def create(files: Mapping[Place, str], cures: Mapping[Place, str] = NO_CURES) -> None:
    """Write each text to its place, in new files. After any failure, nothing is left behind.

    ``cures`` say what to do if something is at a place, where that is not ``MOVE``. Raises ConfigError, with everything that
    is in the way or with the file that could not be written.
    """
    check_free(files, cures)
    missing_folders = []
    for place in files:
        missing_folders += [folder for folder in place.steps[:-1] if not os.path.lexists(folder)]

    new_files: list[Path] = []
    is_complete = False
    try:
        for place, text in files.items():
            try:
                _write_new_file(place, text, new_files)
            except OSError as e:
                what = f"`{'/'.join(place.parts)}` could not be written: {e.strerror or e}"
                cure = "nothing was left behind; correct that, and start again"
                raise ConfigError.at(what, None, cure) from e
        is_complete = True
    finally:  # also after an interrupt
        if not is_complete:
            _remove_new(new_files, missing_folders)


def _write_new_file(place: Place, text: str, new_files: list[Path]) -> None:
    """Write a text to a new file. Adds the file to ``new_files`` before it is complete. Raises OSError."""
    folder = opened_folder(place)
    try:
        descriptor = os.open(place.parts[-1], NEW, 0o666, dir_fd=folder)
        new_files.append(place.path)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    finally:
        os.close(folder)


def _remove_new(files: Iterable[Path], folders: Iterable[Path]) -> None:
    """Remove new files, and the folders that were made for them, the deepest first."""
    for path in files:
        with suppress(OSError):
            path.unlink()
    for path in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError):  # a folder with other files stays
            path.rmdir()


def check_free(files: Iterable[Place], cures: Mapping[Place, str] = NO_CURES) -> None:
    """Raise ConfigError with everything that is in the way."""
    existing: dict[Mistake, None] = {}
    # The first of the existing files, and whatever else is in the way
    mistakes: dict[Mistake, None] = {}
    for place in files:
        for mistake in _obstacles(place, cures.get(place, MOVE)):
            if mistake.what.endswith(_THERE):
                existing[mistake] = None
                if len(existing) > 1:
                    continue
            mistakes[mistake] = None
    if not mistakes:
        return
    more = ""
    if len(existing) > 1:
        more = f" (and {format_count(len(existing) - 1, 'other file')})"
    raise ConfigError(
        *(
            replace(mistake, what=mistake.what + more) if mistake in existing else mistake
            for mistake in mistakes
        )
    )


def _obstacles(place: Place, cure: str) -> Iterator[Mistake]:
    """Whatever has the name of the file, or stands in place of one of its folders."""
    for position, path in enumerate(place.steps, start=1):
        shown = "/".join(place.parts[:position])
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return
        except OSError as e:
            what = f"`{shown}` cannot be looked at: {e.strerror}"
            yield Mistake(what, None, "start in another folder")
            return
        if position == len(place.parts):
            yield Mistake(f"`{shown}`{_THERE}", None, cure)
        elif stat.S_ISLNK(mode):
            cure = "make it a folder: links of a repository are not followed"
            yield Mistake(f"`{shown}` is a symbolic link", None, cure)
            return
        elif not stat.S_ISDIR(mode):
            cure = "move it away: files are to be made in a folder of that name"
            yield Mistake(f"`{shown}` is not a folder", None, cure)
            return
