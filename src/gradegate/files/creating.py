"""Makes new files, all of them or none: nothing that is there is touched, and no link that a repository holds is followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gradegate.errors import ConfigError, Mistake
from gradegate.files.replacing import NEW, Place, opened_folder
from gradegate.values.figures import many

_THERE = " is there already"
MOVE = "move it away, or start in another folder: gradegate overwrites no file"


def create(files: Mapping[Place, str], cures: Mapping[Place, str] | None = None) -> None:
    """Write each text to its place. Raises ConfigError with everything that is in the way, and leaves nothing behind then.

    ``cures`` say of places what to do where something is there, if not ``MOVE``.
    """
    check_free(files, cures)
    folders = [folder for place in files for folder in list(_steps(place))[:-1] if not os.path.lexists(folder)]
    made: list[Path] = []
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
        folders.clear()
        made.clear()
    except OSError as e:
        what = f"`{'/'.join(place.parts)}` could not be written: {e.strerror or e}"
        raise ConfigError.at(what, None, "nothing was left behind; correct that, and start again") from e
    finally:  # also when it is interrupted
        _remove(made, folders)


def check_free(files: Iterable[Place], cures: Mapping[Place, str] | None = None) -> None:
    """Raise ConfigError with everything that is in the way."""
    found = dict.fromkeys(it for place in files for it in _in_the_way(place, (cures or {}).get(place, MOVE)))
    there = [it for it in found if it.what.endswith(_THERE)]
    more = f" (and {many(len(there) - 1, 'other file')})" if there[1:] else ""
    if mistakes := [replace(it, what=it.what + more) if it in there else it for it in found if it not in there[1:]]:
        raise ConfigError(*mistakes)


def _in_the_way(place: Place, cure: str) -> Iterator[Mistake]:
    """What has the name of the file, or is no folder where one is needed."""
    for position, path in enumerate(_steps(place), start=1):
        shown = "/".join(place.parts[:position])
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return
        except OSError as e:
            yield Mistake(f"`{shown}` cannot be looked at: {e.strerror}", None, "start in another folder")
            return
        if position == len(place.parts):
            yield Mistake(f"`{shown}`{_THERE}", None, cure)
        elif stat.S_ISLNK(mode):
            yield Mistake(f"`{shown}` is a symbolic link", None, "make it a folder: links of a repository are not followed")
            return
        elif not stat.S_ISDIR(mode):
            yield Mistake(f"`{shown}` is not a folder", None, "move it away: files are to be made in a folder of that name")
            return


def _steps(place: Place) -> Iterator[Path]:
    """Each folder on the way, and the file."""
    path = place.root
    for part in place.parts:
        path = path / part
        yield path


def _remove(files: list[Path], folders: list[Path]) -> None:
    """Take back what was made; a folder that holds something else stays."""
    for path in files:
        with suppress(OSError):
            path.unlink()
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError):
            folder.rmdir()
