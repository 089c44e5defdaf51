"""Reads the files that a config names: every path stays inside the repository, through symbolic links too."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from gradegate.errors import ConfigError, Origin
from gradegate.files.git import repository_of
from gradegate.files.limits import MAX_FILE, READ, TooMuch
from gradegate.files.paths import holds_credentials, is_code, is_hidden, is_material
from gradegate.files.patterns import TooManyFiles, find_matches, split_pattern
from gradegate.files.vouched import Vouched
from gradegate.registry import near_miss
from gradegate.security.environment import Environment
from gradegate.structs import FrozenStruct

_MOST_NAMES = 5_000  # names of a folder that are compared with a wrong one


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

        content = self._read_content(path, reference, origin)
        if self.vouched is not None:
            written = base / reference.removeprefix("file://")
            self.vouched.vouch(written, content, self.name(path), origin)
        return content

    def text(self, reference: str, base: Path, origin: Origin, *, code: bool = False) -> str:
        """The content of a text file. Raises ConfigError, as ``read``."""
        content = self.read(reference, base, origin, code=code)
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as e:
            what = f"`{reference}` is not UTF-8 text"
            raise ConfigError.at(what, origin, "save it as UTF-8") from e

    def glob(self, pattern: str, base: Path, origin: Origin) -> list[Path]:
        """The files that a pattern matches, sorted, or the file of a plain path. Raises ConfigError if there is none."""
        if glob.has_magic(pattern.removeprefix("file://")):
            files = self._match_pattern(pattern, base, origin)
        else:
            path = self.locate(pattern, base, origin)
            if not path.is_file():
                raise self._absent_error(pattern, path, origin)
            files = [path]
        for file in files:
            self._check_ending(file, origin)
        return files

    def _match_pattern(self, pattern: str, base: Path, origin: Origin) -> list[Path]:
        """The files that a pattern matches, sorted. Raises ConfigError if there is none."""
        folder, parts = split_pattern(pattern.removeprefix("file://"))
        anchor = self.locate(folder, base, origin)
        self.folders.add(anchor)
        if not anchor.is_dir():
            what, cure = describe_absent_path(pattern, anchor / "*", self.root)
            raise ConfigError.at(what.replace("does not exist", "matches no file"), origin, cure)
        try:
            matches = sorted(find_matches(anchor, parts))
        except TooManyFiles as e:
            what = f"`{pattern}` {e}"
            raise ConfigError.at(what, origin, "name a folder with fewer files") from e
        if self.vouched is not None:
            # As they are written: links on the way are checked, too.
            places = [base / folder / path.relative_to(anchor) for path in matches]
            self.vouched.check_folder(base / folder, places, origin)

        paths = [self.locate(str(path), base, origin) for path in matches]
        files = [path for path in paths if path.is_file()]
        if not files:
            what = f"`{pattern}` matches no file in {describe_folder(anchor, self.root)}"
            raise ConfigError.at(what, origin, "correct the pattern")
        return files

    def _read_content(self, path: Path, reference: str, origin: Origin) -> bytes:
        """The content of a file, which counts for the limit of the run. Raises ConfigError."""
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
        return content

    def _check_ending(self, path: Path, origin: Origin) -> None:
        """Raises ConfigError for a file that is no text, data, code or picture by its name."""
        if not is_material(path):
            what = f"`{self.name(path)}` is not read: its ending is none of texts, data, code and pictures"
            cure = "give it an ending such as .txt, .md, .json or .yaml"
            raise ConfigError.at(what, origin, cure)

    def _absent_error(self, reference: str, path: Path, origin: Origin) -> ConfigError:
        what, cure = describe_absent_path(reference, path, self.root)
        return ConfigError.at(what, origin, cure)


def describe_absent_path(written: str, path: Path, root: Path) -> tuple[str, str]:
    """What is wrong with a path that leads to no file, and the cure.

    The path is ``written`` in the config, and leads to ``path``. Names in messages are relative to ``root``.
    """
    if path.is_dir():
        return f"`{written}` is a folder, and no file", "name a file in it"

    # Paths of Windows, such as `C:\\tests.yaml` and `tests\\a.yaml`
    plain = written.removeprefix("file://")
    if re.match(r"[A-Za-z]:[\\/]", plain):
        what = f"`{written}` is a path on one machine only"
        return what, "name the file by its path from the file that names it, with `/`"
    if "\\" in path.name:
        with_slashes = (path.parent / path.name.replace("\\", "/")).resolve()
        if with_slashes.is_relative_to(root.resolve()) and with_slashes.exists():
            what = f"`{written}` does not exist: folders are parted with `/`"
            return what, f'write "{written.replace(chr(92), "/")}"'

    # The first part of the path that does not exist, and the folder that lacks it
    folder = path.parent
    name = path.name
    while not folder.is_dir() and folder != folder.parent:
        name = folder.name
        folder = folder.parent
    lacks_folder = folder != path.parent
    kind = "folder" if lacks_folder else "file"
    what = f"`{written}` does not exist: {describe_folder(folder, root)} has no {kind} `{name}`"

    # A similar name is in that folder.
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


def describe_folder(folder: Path, root: Path) -> str:
    """A folder as messages name it, relative to the root of the workspace if it is inside."""
    if folder == root:
        return "the root of the workspace"
    name = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else folder.name
    return f"the folder `{name}`"
