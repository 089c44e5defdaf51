"""Every path that is looked at on the way to a file: links on the way lead from one to the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MOST_LINKS = 40  # on the way to one file, as in Linux


def ways(path: Path) -> Iterator[Path]:
    """The folders, links and the file that an absolute path leads through, whether they are there or not.

    Raises ValueError where links lead in a circle.
    """
    at, steps, links = Path(path.anchor), list(reversed(path.parts[1:])), 0
    while steps:
        step = steps.pop()
        if step == "..":
            at = at.parent
            continue
        at /= step
        yield at
        if at.is_symlink():
            links += 1
            if links > MOST_LINKS:
                raise ValueError(f"{path} leads in a circle")
            target = at.readlink()
            steps += reversed(target.parts[1:] if target.is_absolute() else target.parts)
            at = Path(target.anchor) if target.is_absolute() else at.parent
