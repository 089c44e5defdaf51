"""The files of the repository: every path from a config stays inside it, through symbolic links too.

Patterns of paths, such as ``tests/**/*.yaml``, are followed only so far. ``Path.glob`` has no end to what it looks at: a
pattern over a tree of a million files, or through links to folders above, takes minutes and gigabytes before its first file.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise, takewhile
from pathlib import Path

from gradegate.errors import ConfigError, Origin
from gradegate.files.git import Vouched, repository_of
from gradegate.files.limits import MAX_ENTRIES, MAX_FILE, MAX_MATCHES, READ, TooMuch
from gradegate.files.paths import holds_credentials, is_code, is_hidden, is_material
from gradegate.registry import near_miss
from gradegate.security.environment import Environment
from gradegate.structs import FrozenStruct, Struct

_NAMES = 5_000  # of a folder that are looked at, for one that was meant
_MAX_PARTS = 64


class Workspace(FrozenStruct, eq=False):
    """A folder that config files may read from, and nothing beyond it.

    ``vouched`` says of what it holds which files are read; ``opened`` are those that were. ``named`` are all that were looked for,
    as they were written and before links, ``folders`` those in which a pattern looked.
    """

    root: Path
    vouched: Vouched | None = None
    opened: set[Path] = set()
    named: set[Path] = set()
    folders: set[Path] = set()
    instead: Mapping[Path, bytes] = {}  # what files are going to hold

    @classmethod
    def around(
        cls, config: Path, cwd: Path, environment: Environment, vouched: Vouched | None = None
    ) -> Workspace:
        """$GITHUB_WORKSPACE, else the repository, else the working directory, whichever holds the config first."""
        config = config.resolve()
        for folder in (environment.workspace, repository_of(config.parent), cwd):
            # The root of the file system, here in place of a folder that there is not, is never taken.
            root = Path(folder or "/").resolve()
            if config.is_relative_to(root) and root != root.parent:
                return cls(root, vouched)
        return cls(config.parent, vouched)

    def name(self, path: Path) -> str:
        """A path as messages and annotations show it: relative to the root, with forward slashes."""
        try:
            return path.resolve().relative_to(self.root).as_posix()
        except ValueError:
            return path.name

    def locate(self, reference: str, base: Path, origin: Origin) -> Path:
        """Where a ``file://`` reference leads, inside the workspace. Raises ConfigError."""
        written = reference.removeprefix("file://")
        if "\0" in written:
            raise ConfigError.at(
                f"the path {written!r} contains a NUL character", origin, "write a plain path"
            )
        try:
            path = (base / written).resolve()
        except (OSError, RuntimeError) as e:
            raise ConfigError.at(
                f"`{reference}` cannot be followed: {e}", origin, "correct the path"
            ) from e
        self.named.add(base / written)
        if not path.is_relative_to(self.root):
            cure = "keep the file, and what its links point to, inside the repository"
            raise ConfigError.at(f"`{reference}` leads out of the workspace", origin, cure)
        if holds_credentials(path.relative_to(self.root)):
            cure = "move what a model may see into a file with another name"
            what = f"`{reference}` is a file with credentials, which gradegate does not read"
            raise ConfigError.at(what, origin, cure)
        folder = base.resolve()  # which may be hidden itself: the workflow names the config
        if is_hidden(path.relative_to(folder if path.is_relative_to(folder) else self.root)):
            cure = "move what a model may see into a file and a folder that do not start with a dot"
            what = f"`{reference}` is hidden, as what tools keep for themselves is, and is not read"
            raise ConfigError.at(what, origin, cure)
        return path

    def _check_ending(self, path: Path, origin: Origin) -> None:
        """Raises ConfigError for a file of a config that is no text, data, code or picture by its name."""
        if not is_material(path):
            what = f"`{self.name(path)}` is not read: its ending is none of texts, data, code and pictures"
            raise ConfigError.at(
                what, origin, "give it an ending such as .txt, .md, .json or .yaml"
            )

    def read(self, reference: str, base: Path, origin: Origin, *, code: bool = False) -> bytes:
        """The content of a file inside the workspace. Raises ConfigError, also for a ``file://`` with code, unless ``code``."""
        if reference.startswith("file://") and is_code(reference) and not code:
            what = f"`{reference}` is code, which gradegate does not run here"
            cure = "write what it makes into a text, JSON or YAML file in an earlier step"
            raise ConfigError.at(what, origin, cure)
        path = self.locate(reference, base, origin)
        if reference.startswith("file://"):
            self._check_ending(path, origin)
        self.opened.add(path)
        if path in self.instead:
            return self.instead[path]
        try:
            # The check was on the resolved path, and a link put there meanwhile is not followed.
            with os.fdopen(
                os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb"
            ) as file:
                content = file.read(MAX_FILE + 1)
        except FileNotFoundError as e:
            what, cure = absent(reference, path, self.root)
            raise ConfigError.at(what, origin, cure) from e
        except OSError as e:
            raise ConfigError.at(
                f"`{reference}` cannot be read: {e.strerror}", origin, "correct the path"
            ) from e
        if len(content) > MAX_FILE:
            raise ConfigError.at(
                f"`{reference}` has more than {MAX_FILE >> 20} MiB", origin, "use a smaller file"
            )
        try:
            READ.add_bytes(len(content))
        except TooMuch as e:
            raise ConfigError.at(str(e), origin, "read smaller files, or fewer") from e
        if self.vouched is not None:
            written = base / reference.removeprefix("file://")
            self.vouched.vouch(written, content, self.name(path), origin)
        return content

    def text(self, reference: str, base: Path, origin: Origin, *, code: bool = False) -> str:
        """A text file, whole. Raises ConfigError, as ``read``."""
        try:
            return self.read(reference, base, origin, code=code).decode("utf-8-sig")
        except UnicodeDecodeError as e:
            raise ConfigError.at(
                f"`{reference}` is not UTF-8 text", origin, "save it as UTF-8"
            ) from e

    def glob(self, pattern: str, base: Path, origin: Origin) -> list[Path]:
        """Files that a pattern matches, sorted; a plain path must exist. Raises ConfigError when there is none."""
        written = pattern.removeprefix("file://")
        if not glob.has_magic(written):
            path = self.locate(pattern, base, origin)
            if not path.is_file():
                what, cure = absent(pattern, path, self.root)
                raise ConfigError.at(what, origin, cure)
            self._check_ending(path, origin)
            return [path]
        folder, parts = split(written)
        anchor = self.locate(folder, base, origin)
        self.folders.add(anchor)
        if not anchor.is_dir():
            what, cure = absent(pattern, anchor / "*", self.root)
            raise ConfigError.at(what.replace("does not exist", "matches no file"), origin, cure)
        try:
            matched = sorted(matches(anchor, parts))
        except TooMany as e:
            raise ConfigError.at(
                f"`{pattern}` {e}", origin, "name a folder with fewer files"
            ) from e
        if self.vouched is not None:
            as_written = [
                base / folder / path.relative_to(anchor) for path in matched
            ]  # its links are looked at, too
            self.vouched.all_of(base / folder, as_written, origin)
        paths = [self.locate(str(path), base, origin) for path in matched]
        files = [path for path in paths if path.is_file()]
        if not files:
            what = f"`{pattern}` matches no file in {inside(anchor, self.root)}"
            raise ConfigError.at(what, origin, "correct the pattern")
        for file in files:
            self._check_ending(file, origin)
        return files


def absent(written: str, path: Path, root: Path) -> tuple[str, str]:
    """What is wrong with a path as it was written, which leads to ``path``, and the cure. Names are relative to ``root``."""
    if path.is_dir():
        return f"`{written}` is a folder, and no file", "name a file in it"
    plain = written.removeprefix("file://")
    if re.match(r"[A-Za-z]:[\\/]", plain):
        return (
            f"`{written}` is a path on one machine only",
            "name the file by its path from the file that names it, with `/`",
        )
    slashed = (path.parent / path.name.replace("\\", "/")).resolve()
    if "\\" in path.name and slashed.is_relative_to(root.resolve()) and slashed.exists():
        return (
            f"`{written}` does not exist: folders are parted with `/`",
            f'write "{written.replace(chr(92), "/")}"',
        )
    folder, name = path.parent, path.name
    while not folder.is_dir() and folder != folder.parent:
        folder, name = folder.parent, folder.name
    wants_folder = folder != path.parent
    what = f"`{written}` does not exist: {inside(folder, root)} {'has no folder' if wants_folder else 'has no file'} `{name}`"
    others = []
    with suppress(OSError), os.scandir(folder) as entries:
        others = sorted(
            entry.name for entry in islice(entries, _NAMES) if entry.is_dir() == wants_folder
        )
    if meant := near_miss(name, others):
        return (
            what,
            f'did you mean "{written.replace(name, meant) if written.count(name) == 1 else meant}"?',
        )
    if not wants_folder and not os.path.isabs(plain) and (root / plain).is_file():  # noqa: PTH117  # it is as it was written
        other = (
            os.path.relpath(root / plain, path.parent.resolve()) if path.parent.is_dir() else plain
        )
        return what, f'paths are relative to the file that names them: write "{other}"'
    return what, "correct the path"


def inside(folder: Path, root: Path) -> str:
    """A folder as messages name it."""
    if folder == root:
        return "the root of the workspace"
    name = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else folder.name
    return f"the folder `{name}`"


# --- patterns -------------------------------------------------------------------------------------------------


class TooMany(ValueError):
    """A pattern looks at too many files, or matches too many; the message says so of the pattern."""


def searched(pattern: Path) -> Path:
    """The folder that a pattern looks into: what stands before its first sign."""
    return Path(*takewhile(lambda part: not glob.has_magic(part), pattern.parts))


def split(pattern: str) -> tuple[str, tuple[str, ...]]:
    """The folder that a pattern starts in, as written, and the parts behind it; the first of them is a pattern."""
    folder = searched(Path(pattern))
    parts = Path(pattern).parts[len(folder.parts) :]
    # `**` several times in a row is as good as once.
    return str(folder), tuple(
        part for before, part in pairwise(("", *parts)) if not before == part == "**"
    )


def matches(folder: Path, parts: Sequence[str]) -> set[Path]:
    """The files and folders below one that the parts match; ``**`` goes through no links. Raises TooMany.

    As in a shell, what is hidden, such as a checkout in `.base`, is matched by a part that begins with a dot alone.
    """
    if len(parts) > _MAX_PARTS:
        raise TooMany(f"has more than {_MAX_PARTS} parts")
    found = set()
    for path in _Walk().matches(folder, tuple(parts)):
        found.add(path)
        if len(found) > MAX_MATCHES:
            raise TooMany(f"matches more than {MAX_MATCHES:,} files")
    return found


class _Walk(Struct):
    entries: int = 0

    def matches(self, folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        if not parts:
            yield folder
            return
        first, rest = parts[0], parts[1:]
        if first == "**":
            yield from self.matches(folder, rest)
            for entry in self._entries(folder):
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield from self.matches(folder / entry.name, parts)
        elif not glob.has_magic(first):
            if os.path.lexists(folder / first):
                yield from self.matches(folder / first, rest)
        else:
            fits = re.compile(fnmatch.translate(first)).match
            for entry in self._entries(folder):
                if fits(entry.name) and (first.startswith(".") or not entry.name.startswith(".")):
                    yield from self.matches(folder / entry.name, rest)

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                listed = list(islice(entries, MAX_ENTRIES + 1 - self.entries))
        except OSError:  # no folder, or none that may be read
            return []
        self.entries += len(listed) + 1
        if self.entries > MAX_ENTRIES:
            raise TooMany(f"looks at more than {MAX_ENTRIES:,} files")
        return listed
