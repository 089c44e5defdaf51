"""Which program runs a file of JavaScript or TypeScript of the repository, and with which options it starts.

TypeScript runs as in promptfoo where the repository has tsx, which promptfoo itself takes; else node or bun read it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from gradegate.files.checkout import brought
from gradegate.processes.permission import Leave

_TYPED = (".ts", ".mts", ".cts")
_STRIPS = "22.18"  # the Node.js from which on it strips types by itself
_PLAIN = ("--no-warnings", "--input-type=commonjs")


class Missing(ValueError):
    """There is nothing here that runs the file: what is missing, and ``cure``, what to do."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what)
        self.cure = cure


def start(file: Path, folder: Path, leave: Leave, version: Callable[[tuple[str, ...]], str]) -> tuple[str, ...]:
    """The command that runs a text as JavaScript which may import the file; the text is its last argument. Raises Missing.

    ``version`` asks a node for its version, and gives an empty text where it says none.
    """
    typed = file.suffix.lower() in _TYPED
    packages = [above / "node_modules" for above in (folder, *folder.parents)] if typed else []
    if any(place.exists() and brought(place) for place in packages):
        packages = []  # a pull request that brings what TypeScript runs in, or a part of it, would judge itself
    bun = shutil.which("bun", path=":".join(str(place / ".bin") for place in packages))
    node = _found(leave.node, leave.env["PATH"], leave.cwd)
    if node is None and not bun:
        raise Missing(f"there is no `{leave.node or 'node'}` that runs `{file.name}`", _cure("", leave))
    if node and any((place / "tsx" / "package.json").is_file() for place in packages):
        return (node, "--import", "tsx", *_PLAIN, "--eval")
    said = version((node, *_PLAIN, "--eval")) if node and typed else ""
    major, minor = (int(part) for part in (said or "0.0").split(".")[:2])
    if said and (major, minor) < (23, 6) and not (major == 22 and minor >= 18):
        if not bun:
            what = f"`{file.name}` is TypeScript, and node is {said}, which does not read it"
            raise Missing(
                what, f"{_cure(f' {_STRIPS} or later', leave)}; or have a step install `tsx` or `bun`, which must not be in the commit"
            )
        node = None
    return (node, *_PLAIN, "--eval") if node else (str(bun), "--eval")


def _found(named: str, path: str, folder: Path) -> str | None:
    """The program: a file, a folder that holds it, or a name on PATH."""
    if not named:
        return shutil.which("node", path=path)
    places = (folder / named, folder / named / "bin" / "node", folder / named / "node", named)
    return next(filter(None, (shutil.which(str(place), path=path) for place in places)), None)


def _cure(version: str, leave: Leave) -> str:
    if leave.apart:
        return f"name the folder of a Node.js{version} of an earlier step by the input `node`, or give `image: node` (docs/exec.md)"
    return f"install Node.js{version}, or name it by <--node PATH>"
