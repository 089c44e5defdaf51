"""What to say of a file that is not there: the folder that was looked in, and the name in it that may have been meant."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import islice
from pathlib import Path

from gradegate.registry import near

_MOST = 5_000  # names of a folder that are looked at


def absent(written: str, path: Path, root: Path) -> tuple[str, str]:
    """What is wrong with a path as it was written, which leads to ``path``, and the cure. Names are relative to ``root``."""
    if path.is_dir():
        return f"`{written}` is a folder, and no file", "name a file in it"
    plain = written.removeprefix("file://")
    if re.match(r"[A-Za-z]:[\\/]", plain):
        return (f"`{written}` is a path on one machine only", "name the file by its path from the file that names it, with `/`")
    slashed = (path.parent / path.name.replace("\\", "/")).resolve()
    if "\\" in path.name and slashed.is_relative_to(root.resolve()) and slashed.exists():
        return f"`{written}` does not exist: folders are parted with `/`", f'write "{written.replace(chr(92), "/")}"'
    folder, name = path.parent, path.name
    while not folder.is_dir() and folder != folder.parent:
        folder, name = folder.parent, folder.name
    wants_folder = folder != path.parent
    what = f"`{written}` does not exist: {inside(folder, root)} {'has no folder' if wants_folder else 'has no file'} `{name}`"
    others: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        others = sorted(entry.name for entry in islice(entries, _MOST) if entry.is_dir() == wants_folder)
    if meant := near(name, others):
        return what, f'did you mean "{written.replace(name, meant) if written.count(name) == 1 else meant}"?'
    if not wants_folder and not os.path.isabs(plain) and (root / plain).is_file():  # noqa: PTH117  # it is as it was written
        other = os.path.relpath(root / plain, path.parent.resolve()) if path.parent.is_dir() else plain
        return what, f'paths are relative to the file that names them: write "{other}"'
    return what, "correct the path"


def inside(folder: Path, root: Path) -> str:
    """A folder as messages name it."""
    if folder == root:
        return "the root of the workspace"
    name = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else folder.name
    return f"the folder `{name}`"
