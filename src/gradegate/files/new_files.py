"""Writes new files: all of them or none. Nothing that exists is touched."""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gradegate.core.numbers import format_count
from gradegate.errors import ConfigError, Mistake
from gradegate.files.plain_files import NEW, Place, open_folder
from gradegate.structs import replace

MOVE = "move it away, or start in another folder: gradegate overwrites no file"
NO_CURES: Mapping[Place, str] = {}


def create_files(files: Mapping[Place, str], cures: Mapping[Place, str] = NO_CURES) -> None:
    """Write each text to its place, in new files. After any failure, nothing is left behind.

    ``cures`` say what to do if something is at a place, where that is not ``MOVE``. Raises ConfigError, with everything that
    is in the way or with the file that could not be written.
    """
    check_free(files, cures)
    missing_folders = []
    for place in files:
        missing_folders += [folder for folder in place.steps[:-1] if not os.path.lexists(folder)]

    started: list[Path] = []
    is_complete = False
    try:
        for place, text in files.items():
            try:
                _write_new_file(place, text, started)
            except OSError as e:
                what = f"`{'/'.join(place.parts)}` could not be written: {e.strerror or e}"
                cure = "nothing was left behind; correct that, and start again"
                raise ConfigError.at(what, None, cure) from e
        is_complete = True
    finally:  # also after an interrupt
        if not is_complete:
            _remove(started, missing_folders)


def check_free(files: Iterable[Place], cures: Mapping[Place, str] = NO_CURES) -> None:
    """Raise ConfigError with everything that is in the way. Of the existing files only the first one is named."""
    mistakes = []
    existing_files = []
    for place in files:
        obstacle = _find_obstacle(place, cures.get(place, MOVE))
        if obstacle is None:
            continue
        if obstacle.is_at_place:
            existing_files.append(obstacle.mistake)
        if not obstacle.is_at_place or len(existing_files) == 1:
            mistakes.append(obstacle.mistake)

    if len(existing_files) > 1:
        first = existing_files[0]
        others = format_count(len(existing_files) - 1, "other file")
        mistakes[mistakes.index(first)] = replace(first, what=f"{first.what} (and {others})")
    if mistakes:
        raise ConfigError(*dict.fromkeys(mistakes))


class _Obstacle(NamedTuple):
    """Why a file cannot be made."""

    mistake: Mistake
    is_at_place: bool  # something has the name of the file, and not of one of its folders


def _find_obstacle(place: Place, cure: str) -> _Obstacle | None:
    """What has the name of the file, or is in place of one of its folders. None if the file can be made.

    ``cure`` says what to do about something with the name of the file.
    """
    for position, path in enumerate(place.steps, start=1):
        shown = "/".join(place.parts[:position])
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return None
        except OSError as e:
            what = f"`{shown}` cannot be looked at: {e.strerror}"
            return _Obstacle(Mistake(what, None, "start in another folder"), False)
        if position == len(place.parts):
            return _Obstacle(Mistake(f"`{shown}` is there already", None, cure), True)
        if stat.S_ISLNK(mode):
            cure = "make it a folder: links of a repository are not followed"
            return _Obstacle(Mistake(f"`{shown}` is a symbolic link", None, cure), False)
        if not stat.S_ISDIR(mode):
            cure = "move it away: files are to be made in a folder of that name"
            return _Obstacle(Mistake(f"`{shown}` is not a folder", None, cure), False)
    return None


def _write_new_file(place: Place, text: str, started: list[Path]) -> None:
    """Write a text to a new file. Adds the file to ``started`` before it is complete. Raises OSError."""
    folder = open_folder(place)
    try:
        descriptor = os.open(place.parts[-1], NEW, 0o666, dir_fd=folder)
        started.append(place.path)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    finally:
        os.close(folder)


def _remove(files: Iterable[Path], folders: Iterable[Path]) -> None:
    """Remove new files, and the folders that were made for them, the deepest first."""
    for path in files:
        with suppress(OSError):
            path.unlink()
    for path in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError):  # a folder with other files stays
            path.rmdir()
