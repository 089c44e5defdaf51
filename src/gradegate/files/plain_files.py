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
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_THERE = " is there already"
MOVE = "move it away, or start in another folder: gradegate overwrites no file"


class UnusableError(ValueError):
    """The file cannot be read, or is not what it should be; the message says why, without its name."""


@contextmanager
def regular(path: Path, most: int, *, links: bool = False) -> Iterator[BufferedReader]:
    """A regular file of at most ``most`` bytes; with ``links`` also the one that a link leads to. Raises UnusableError."""
    try:
        descriptor = os.open(path, _FILE | (0 if links else os.O_NOFOLLOW))
    except (OSError, ValueError) as e:  # a name may hold a NUL character
        why = getattr(e, "strerror", None) or str(e)
        if getattr(e, "errno", None) == errno.ELOOP:
            why = (
                "its links lead in a circle"
                if links
                else "it is a symbolic link, and none is followed"
            )
        raise UnusableError(why) from e
    about = os.fstat(descriptor)
    wrong = "it is a folder" if stat.S_ISDIR(about.st_mode) else "it is not a plain file"
    if about.st_size > most:
        wrong = f"it has more than {most // MIB} MiB"
    if not stat.S_ISREG(about.st_mode) or about.st_size > most:
        os.close(descriptor)
        raise UnusableError(wrong)
    with os.fdopen(descriptor, "rb") as file:
        yield file


# --- a file that is replaced ----------------------------------------------------------------------------------


class Place(FrozenStruct):
    """Where a file is to be: ``parts`` (folders, then its name) below ``root``, which is taken as it is.

    Below the root no symbolic link is followed. ``shared``: anybody may write what is made, as later steps of a job that
    are not root must. ``private``: nobody but its owner may read it, nor enter a folder that is made for it.
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
    """A text file that takes the place when the block ends well, and leaves what was there otherwise. Raises OSError."""
    folder = opened_folder(place)
    name, shown = place.parts[-1], "/".join(place.parts)
    try:
        with suppress(FileNotFoundError):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                raise _link(shown)
            if not stat.S_ISREG(mode):
                raise OSError(errno.EEXIST, f"`{shown}` is there already, and is not a plain file")
        # A name of its own: a long one of the user's leaves no room for more.
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
                os.mkdir(name, 0o700 if place.private else 0o777, dir_fd=above)
                made = True
            folder = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
            if made and place.shared:
                os.fchmod(folder, 0o777)
        except NotADirectoryError as e:
            # What stands where a folder should be.
            shown = "/".join(place.parts[:position])
            linked = stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
            raise (
                _link(shown) if linked else OSError(e.errno, f"`{shown}` is not a folder")
            ) from e
        finally:
            os.close(above)
    return folder


def remove(place: Place) -> None:
    """Remove what has the name of the file; a link is removed itself. Raises OSError, also for a folder."""
    if not os.path.lexists(place.path):
        return
    folder = opened_folder(place)
    try:
        os.unlink(place.parts[-1], dir_fd=folder)
    except IsADirectoryError as e:
        raise OSError(e.errno, "it is a folder") from e
    finally:
        os.close(folder)


def _link(shown: str) -> OSError:
    return OSError(errno.ELOOP, f"`{shown}` is a symbolic link, and reports follow none")


# --- new files ------------------------------------------------------------------------------------------------


def create(files: Mapping[Place, str], cures: Mapping[Place, str] | None = None) -> None:
    """Write each text to its place. Raises ConfigError with everything that is in the way, and leaves nothing behind then.

    ``cures`` say of places what to do where something is there, if not ``MOVE``.
    """
    check_free(files, cures)
    folders = [
        folder for place in files for folder in place.steps[:-1] if not os.path.lexists(folder)
    ]
    made = []
    try:
        for place, text in files.items():
            # A file that was begun is among those ``made``, whole or not.
            folder = opened_folder(place)
            try:
                descriptor = os.open(place.parts[-1], NEW, 0o666, dir_fd=folder)
                made.append(place.path)
                with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                    file.write(text)
            finally:
                os.close(folder)
        folders, made = [], []
    except OSError as e:
        what = f"`{'/'.join(place.parts)}` could not be written: {e.strerror or e}"
        raise ConfigError.at(
            what, None, "nothing was left behind; correct that, and start again"
        ) from e
    finally:  # also when it is interrupted; a folder that holds something else stays
        for path in made:
            with suppress(OSError):
                path.unlink()
        for path in sorted(folders, key=lambda path: len(path.parts), reverse=True):
            with suppress(OSError):
                path.rmdir()


def check_free(files: Iterable[Place], cures: Mapping[Place, str] | None = None) -> None:
    """Raise ConfigError with everything that is in the way."""
    found = dict.fromkeys(
        it for place in files for it in _in_the_way(place, (cures or {}).get(place, MOVE))
    )
    there = [it for it in found if it.what.endswith(_THERE)]
    more = f" (and {format_count(len(there) - 1, 'other file')})" if there[1:] else ""
    if mistakes := [
        replace(it, what=it.what + more) if it in there else it
        for it in found
        if it not in there[1:]
    ]:
        raise ConfigError(*mistakes)


def _in_the_way(place: Place, cure: str) -> Iterator[Mistake]:
    """What has the name of the file, or is no folder where one is needed."""
    for position, path in enumerate(place.steps, start=1):
        shown = "/".join(place.parts[:position])
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return
        except OSError as e:
            yield Mistake(
                f"`{shown}` cannot be looked at: {e.strerror}", None, "start in another folder"
            )
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
