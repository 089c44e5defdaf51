"""Reads files of the repository: every path from a config stays inside it, through symbolic links too.

Patterns of paths, such as ``tests/**/*.yaml``, have limits. ``Path.glob`` has none: a pattern over a tree of a million
files, or through links to folders above, takes minutes and gigabytes before its first file.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path

from gradegate.errors import ConfigError, Origin
from gradegate.files.git import Vouched, repository_of
from gradegate.files.limits import MAX_ENTRIES, MAX_FILE, MAX_MATCHES, READ, TooMuch
from gradegate.files.paths import holds_credentials, is_code, is_hidden, is_material
from gradegate.registry import near_miss
from gradegate.security.environment import Environment
from gradegate.structs import FrozenStruct, Struct

_MOST_NAMES = 5_000  # names of a folder that are compared with a wrong one
_MAX_PARTS = 64


class Workspace(FrozenStruct, eq=False):
    """A folder that config files may read from, and nothing outside of it.

    ``vouched`` is the commit with which files are compared, if the event requires it. ``opened`` are the files that were
    read, ``named`` all that were looked for, as they are written and before links, ``folders`` those that patterns looked in.
    """

    root: Path
    vouched: Vouched | None = None
    opened: set[Path] = set()
    named: set[Path] = set()
    folders: set[Path] = set()
    instead: Mapping[Path, bytes] = {}  # contents that files are going to have

    @classmethod
    def around(
        cls, config: Path, cwd: Path, environment: Environment, vouched: Vouched | None = None
    ) -> Workspace:
        """$GITHUB_WORKSPACE, else the repository, else the working directory: the first one with the config inside."""
        config = config.resolve()
        for folder in (environment.workspace, repository_of(config.parent), cwd):
            if not folder:
                continue
            root = Path(folder).resolve()
            if config.is_relative_to(root) and root != root.parent:  # never the whole file system
                return cls(root, vouched)
        return cls(config.parent, vouched)

    def name(self, path: Path) -> str:
        """A path as messages and annotations show it: relative to the root, with forward slashes."""
        try:
            return path.resolve().relative_to(self.root).as_posix()
        except ValueError:
            return path.name

    def locate(self, reference: str, base: Path, origin: Origin) -> Path:
        """The path of a ``file://`` reference, inside the workspace. Raises ConfigError."""
        written = reference.removeprefix("file://")
        if "\0" in written:
            what = f"the path {written!r} contains a NUL character"
            raise ConfigError.at(what, origin, "write a plain path")
        try:
            path = (base / written).resolve()
        except (OSError, RuntimeError) as e:
            what = f"`{reference}` cannot be followed: {e}"
            raise ConfigError.at(what, origin, "correct the path") from e
        self.named.add(base / written)

        if not path.is_relative_to(self.root):
            what = f"`{reference}` leads out of the workspace"
            cure = "keep the file, and what its links point to, inside the repository"
            raise ConfigError.at(what, origin, cure)
        if holds_credentials(path.relative_to(self.root)):
            what = f"`{reference}` is a file with credentials, which gradegate does not read"
            cure = "move what a model may see into a file with another name"
            raise ConfigError.at(what, origin, cure)
        # The folder of the config may be hidden itself: the workflow names the config.
        folder = base.resolve()
        visible = folder if path.is_relative_to(folder) else self.root
        if is_hidden(path.relative_to(visible)):
            what = f"`{reference}` is hidden, as what tools keep for themselves is, and is not read"
            cure = "move what a model may see into a file and a folder that do not start with a dot"
            raise ConfigError.at(what, origin, cure)
        return path

    def _check_ending(self, path: Path, origin: Origin) -> None:
        """Raises ConfigError for a file that is no text, data, code or picture by its name."""
        if not is_material(path):
            what = f"`{self.name(path)}` is not read: its ending is none of texts, data, code and pictures"
            cure = "give it an ending such as .txt, .md, .json or .yaml"
            raise ConfigError.at(what, origin, cure)

    def read(self, reference: str, base: Path, origin: Origin, *, code: bool = False) -> bytes:
        """The content of a file inside the workspace. Raises ConfigError, also for a ``file://`` with code, unless ``code``."""
        is_reference = reference.startswith("file://")
        if is_reference and is_code(reference) and not code:
            what = f"`{reference}` is code, which gradegate does not run here"
            cure = "write what it makes into a text, JSON or YAML file in an earlier step"
            raise ConfigError.at(what, origin, cure)
        path = self.locate(reference, base, origin)
        if is_reference:
            self._check_ending(path, origin)
        self.opened.add(path)
        if path in self.instead:
            return self.instead[path]

        try:
            # The resolved path was checked. A link that was put there since then is not followed.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(MAX_FILE + 1)
        except FileNotFoundError as e:
            raise self._absent_error(reference, path, origin) from e
        except OSError as e:
            what = f"`{reference}` cannot be read: {e.strerror}"
            raise ConfigError.at(what, origin, "correct the path") from e
        if len(content) > MAX_FILE:
            what = f"`{reference}` has more than {MAX_FILE >> 20} MiB"
            raise ConfigError.at(what, origin, "use a smaller file")
        try:
            READ.add_bytes(len(content))
        except TooMuch as e:
            raise ConfigError.at(str(e), origin, "read smaller files, or fewer") from e
        if self.vouched is not None:
            written = base / reference.removeprefix("file://")
            self.vouched.vouch(written, content, self.name(path), origin)
        return content

    def text(self, reference: str, base: Path, origin: Origin, *, code: bool = False) -> str:
        """The content of a text file. Raises ConfigError, as ``read``."""
        try:
            return self.read(reference, base, origin, code=code).decode("utf-8-sig")
        except UnicodeDecodeError as e:
            raise ConfigError.at(
                f"`{reference}` is not UTF-8 text", origin, "save it as UTF-8"
            ) from e

    def glob(self, pattern: str, base: Path, origin: Origin) -> list[Path]:
        """The files that a pattern matches, sorted, or the file of a plain path. Raises ConfigError if there is none."""
        written = pattern.removeprefix("file://")
        if not glob.has_magic(written):
            path = self.locate(pattern, base, origin)
            if not path.is_file():
                raise self._absent_error(pattern, path, origin)
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
            what = f"`{pattern}` {e}"
            raise ConfigError.at(what, origin, "name a folder with fewer files") from e
        if self.vouched is not None:
            # As they are written: links on the way are checked, too.
            places = [base / folder / path.relative_to(anchor) for path in matched]
            self.vouched.all_of(base / folder, places, origin)

        paths = [self.locate(str(path), base, origin) for path in matched]
        files = [path for path in paths if path.is_file()]
        if not files:
            what = f"`{pattern}` matches no file in {inside(anchor, self.root)}"
            raise ConfigError.at(what, origin, "correct the pattern")
        for file in files:
            self._check_ending(file, origin)
        return files

    def _absent_error(self, reference: str, path: Path, origin: Origin) -> ConfigError:
        what, cure = absent(reference, path, self.root)
        return ConfigError.at(what, origin, cure)


def absent(written: str, path: Path, root: Path) -> tuple[str, str]:
    """The mistake and the cure for a path without a file: as it is ``written``, and where it leads.

    Names in messages are relative to ``root``.
    """
    if path.is_dir():
        return f"`{written}` is a folder, and no file", "name a file in it"
    plain = written.removeprefix("file://")

    # Paths of Windows
    if re.match(r"[A-Za-z]:[\\/]", plain):
        what = f"`{written}` is a path on one machine only"
        return what, "name the file by its path from the file that names it, with `/`"
    if "\\" in path.name:
        with_slashes = (path.parent / path.name.replace("\\", "/")).resolve()
        if with_slashes.is_relative_to(root.resolve()) and with_slashes.exists():
            what = f"`{written}` does not exist: folders are parted with `/`"
            return what, f'write "{written.replace(chr(92), "/")}"'

    # The first step that does not exist, and the folder in which it is missing
    folder = path.parent
    name = path.name
    while not folder.is_dir() and folder != folder.parent:
        name = folder.name
        folder = folder.parent
    lacks_folder = folder != path.parent
    kind = "folder" if lacks_folder else "file"
    what = f"`{written}` does not exist: {inside(folder, root)} has no {kind} `{name}`"

    names = []
    with suppress(OSError), os.scandir(folder) as entries:
        first_entries = islice(entries, _MOST_NAMES)
        names = [entry.name for entry in first_entries if entry.is_dir() == lacks_folder]
    if similar := near_miss(name, sorted(names)):
        if written.count(name) == 1:
            similar = written.replace(name, similar)
        return what, f'did you mean "{similar}"?'

    # It may be relative to the root of the repository.
    if not lacks_folder and not os.path.isabs(plain) and (root / plain).is_file():  # noqa: PTH117  # it is as it was written
        if path.parent.is_dir():
            plain = os.path.relpath(root / plain, path.parent.resolve())
        return what, f'paths are relative to the file that names them: write "{plain}"'
    return what, "correct the path"


def inside(folder: Path, root: Path) -> str:
    """A folder as messages name it."""
    if folder == root:
        return "the root of the workspace"
    name = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else folder.name
    return f"the folder `{name}`"


# --- patterns -------------------------------------------------------------------------------------------------


class TooMany(ValueError):
    """A pattern looks at too many files, or matches too many. The message continues a sentence about the pattern."""


def searched(pattern: Path) -> Path:
    """The folder in which a glob pattern searches: all parts of the path before the first wildcard."""
    return Path(*takewhile(lambda part: not glob.has_magic(part), pattern.parts))


def split(pattern: str) -> tuple[str, tuple[str, ...]]:
    """The folder in which a pattern starts, as written, and the parts after it; the first of them has a wildcard."""
    folder = searched(Path(pattern))
    parts: list[str] = []
    for part in Path(pattern).parts[len(folder.parts) :]:
        if part == "**" and parts[-1:] == ["**"]:
            continue  # several `**` in a row mean the same as one
        parts.append(part)
    return str(folder), tuple(parts)


def matches(folder: Path, parts: Sequence[str]) -> set[Path]:
    """The files and folders below a folder that the parts match; ``**`` follows no links. Raises TooMany.

    As in a shell, hidden names, such as a checkout in `.base`, are matched only by a part that begins with a dot.
    """
    if len(parts) > _MAX_PARTS:
        raise TooMany(f"has more than {_MAX_PARTS} parts")
    paths = set()
    for path in _PatternWalk().match(folder, tuple(parts)):
        paths.add(path)
        if len(paths) > MAX_MATCHES:
            raise TooMany(f"matches more than {MAX_MATCHES:,} files")
    return paths


class _PatternWalk(Struct):
    entries: int = 0  # that it looked at so far

    def match(self, folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        if not parts:
            yield folder
            return
        first = parts[0]
        rest = parts[1:]
        if first == "**":
            yield from self.match(folder, rest)
            for entry in self._list(folder):
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield from self.match(folder / entry.name, parts)
        elif not glob.has_magic(first):
            if os.path.lexists(folder / first):
                yield from self.match(folder / first, rest)
        else:
            fits = re.compile(fnmatch.translate(first)).match
            for entry in self._list(folder):
                is_visible = first.startswith(".") or not entry.name.startswith(".")
                if is_visible and fits(entry.name):
                    yield from self.match(folder / entry.name, rest)

    def _list(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                listed = list(islice(entries, MAX_ENTRIES + 1 - self.entries))
        except OSError:  # not a folder, or not readable
            return []
        self.entries += len(listed) + 1
        if self.entries > MAX_ENTRIES:
            raise TooMany(f"looks at more than {MAX_ENTRIES:,} files")
        return listed
