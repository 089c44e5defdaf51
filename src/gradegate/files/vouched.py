"""Compares files with those of a commit: what differs is not read.

If a workflow runs with secrets and anybody can start it, only files of the workflow's commit are read. The name of a git
object is the hash of its content. So the name of a commit determines every file in it, whatever else is in the folder.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from gradegate.errors import ConfigError, Origin
from gradegate.files.git import (
    SHA,
    folders_of,
    head_of,
    object_name,
    read_object,
    repository_of,
    tree_of,
)
from gradegate.security.environment import Environment, describe_event
from gradegate.structs import FrozenStruct

# Modes in a tree; that of a file has more digits
FILE = b"100"
FOLDER = b"40000"
LINK = b"120000"
MOST_LINKS = 40  # on the way to one file, as in Linux
CURE = "check out the repository with actions/checkout and without `ref`, and change no file that a config names"
WHERE = "docs/github.md says why"


class Entry(NamedTuple):
    """What a tree contains under one name: the mode, and the name of the object."""

    mode: bytes
    name: str


class Vouched(FrozenStruct, eq=False):
    """The files of a commit. Each file that is read is compared with the commit."""

    root: Path
    objects: Path  # the folder in which git keeps the content of commits
    commit: str
    event: str
    trees: dict[str, dict[bytes, Entry]] = {}

    @classmethod
    def around(cls, config: Path, environment: Environment) -> Self:
        """The commit that the workflow runs at, in the repository of a config. Raises ConfigError if it is not checked out."""
        commit = environment.commit
        danger = f"{environment.event_shown} can run with secrets for anybody"
        if not SHA.fullmatch(commit):
            raise ConfigError.at(f"{danger}, and GITHUB_SHA names no commit", None, WHERE)
        root = repository_of(config.resolve().parent)
        cure = f"{CURE}; {WHERE}"
        if root is None:
            what = f"{danger}, and there is no git repository around `{config.name}`"
            raise ConfigError.at(what, None, cure)
        workspace = repository_of(Path(environment.workspace or root).resolve())
        for folder in (root, workspace or root):
            head = head_of(folder)
            if head != commit:
                place = head or "an unknown commit"
                what = f"{danger}, and the checkout is at {place}, not at {commit}"
                raise ConfigError.at(what, None, cure)
        return cls(root, folders_of(root)[1] / "objects", commit, environment.event)

    def vouch(self, path: Path, content: bytes, shown: str, origin: Origin) -> None:
        """Raises ConfigError unless the commit has this content at this path, through the same links."""
        if object_name("blob", content, len(self.commit)) != self.object_at(path, shown, origin):
            raise self._refusal(f"`{shown}` is not as it is in", origin)

    def object_at(self, path: Path, shown: str, origin: Origin | None) -> str:
        """The name of the content that the commit has at a path, as it is written. Raises ConfigError."""
        try:
            return self._follow(path)
        except (LookupError, ValueError, OSError) as e:
            raise self._refusal(f"`{shown}` cannot be found in", origin) from e

    def _follow(self, path: Path) -> str:
        """The name of the content at a path. Every step must be in the checkout what it is in the commit.

        Raises LookupError, ValueError and OSError.
        """
        top = self.root
        for parent in reversed(path.parents):
            if parent.resolve() == self.root:
                top = parent
                break
        steps = list(reversed(path.relative_to(top).parts))
        location: list[str] = []
        links = 0
        while steps:
            step = steps.pop()
            if step == "..":
                location.pop()
                continue
            location.append(step)
            place = self.root.joinpath(*location)
            entry = self._entry(location)
            if not self._is_unchanged(place, entry):
                raise LookupError(step)
            if entry.mode == LINK:
                links += 1
                steps += reversed(place.readlink().parts)
                location.pop()
            if links > MOST_LINKS:
                raise LookupError(step)
        entry = self._entry(location)
        if not entry.mode.startswith(FILE):
            raise LookupError(path)
        return entry.name

    def check_folder(
        self, folder: Path, matches: Iterable[Path], origin: Origin | None = None
    ) -> None:
        """Raises ConfigError unless a pattern matches the same files in a folder as in the commit."""
        try:
            steps = folder.resolve().relative_to(self.root).parts
            changed = next(self._changed(steps, self._entry(steps).name), None)
        except (LookupError, ValueError, OSError) as e:
            raise self._refusal(f"the folder `{folder.name}` cannot be found in", origin) from e
        if changed is not None:
            name = changed.relative_to(self.root)
            raise self._refusal(f"`{name}` is missing, or no longer what it is in", origin)
        for match in matches:
            if match.is_file():
                self.object_at(match, match.name, origin)

    def contains(self, steps: Sequence[str]) -> bool:
        """Whether the commit has anything at these steps below its root. Raises ValueError, OSError and LookupError."""
        try:
            self._entry(steps)
        except KeyError:
            return False
        except NotADirectoryError:  # a link or a file is in place of a folder
            pass
        return True

    def files(self, steps: Sequence[str] = ()) -> Iterator[str]:
        """Every path of the commit below these steps, from the root, without those in submodules.

        Raises ValueError, OSError, and LookupError if a folder of the commit cannot be read.
        """
        try:
            stack = [(tuple(steps), self._entry(steps))]
        except (KeyError, NotADirectoryError):
            return
        while stack:
            path, entry = stack.pop()
            if entry.mode != FOLDER:
                yield "/".join(path)
                continue
            for name, child in reversed(self._tree(entry.name).items()):
                stack.append(((*path, os.fsdecode(name)), child))

    def _refusal(self, what: str, origin: Origin | None) -> ConfigError:
        why = f"{what} the commit {self.commit}, and nothing else is read at {describe_event(self.event)}"
        return ConfigError.at(why, origin, f"{CURE}; {WHERE}")

    def _changed(self, steps: tuple[str, ...], tree: str) -> Iterator[Path]:
        """Places below a folder where the checkout lacks what the commit has."""
        for name, entry in self._tree(tree).items():
            path = (*steps, os.fsdecode(name))
            place = self.root.joinpath(*path)
            if not self._is_unchanged(place, entry):
                yield place
            elif entry.mode == FOLDER:
                yield from self._changed(path, entry.name)

    def _is_unchanged(self, place: Path, entry: Entry) -> bool:
        """Whether a place is the same kind of thing as in the commit: a file, a folder, or a link to the same path."""
        if place.is_symlink():
            target = os.readlink(os.fsencode(place))  # noqa: PTH115  # a Path would drop "./"
            name = object_name("blob", target, len(self.commit))
            return entry.mode == LINK and name == entry.name
        if entry.mode.startswith(FILE):
            return place.is_file()
        return entry.mode != LINK and place.is_dir()

    def _entry(self, steps: Sequence[str]) -> Entry:
        """The entry of the commit at these steps.

        Raises KeyError if there is none, NotADirectoryError if a link or a file is on the way, and LookupError.
        """
        entry = self._tree(self.commit)[b""]
        for step in steps:
            if entry.mode != FOLDER:
                raise NotADirectoryError(step)
            entry = self._tree(entry.name)[os.fsencode(step)]
        return entry

    def _tree(self, name: str) -> dict[bytes, Entry]:
        """The entries of a tree. The name of the commit stands for a tree with one folder: the root."""
        if name not in self.trees:
            self.trees[name] = self._read_tree(name)
        return self.trees[name]

    def _read_tree(self, name: str) -> dict[bytes, Entry]:
        if name == self.commit:
            return {b"": Entry(FOLDER, tree_of(self.objects, name))}
        content = read_object(self.objects, name, "tree")
        digest_size = len(name) // 2
        return dict(_parse_tree(content, digest_size))


def _parse_tree(content: bytes, digest_size: int) -> Iterator[tuple[bytes, Entry]]:
    """The entries of a tree object: mode, space, name, a zero byte and the digest, one after another."""
    position = 0
    while position < len(content):
        end = content.index(b"\0", position)
        mode, _, name = content[position:end].partition(b" ")
        position = end + 1 + digest_size
        yield name, Entry(mode, content[end + 1 : position].hex())


def commit_lacks(root: Path, place: Path) -> bool:
    """Whether the commit of a checkout has nothing at ``place`` that is absent on disk.

    For a file: the commit does not have it. For a folder: every file that the commit has below it
    is on disk. False if the commit cannot be read: then nobody knows what it contains.
    """
    commit = head_of(root)
    if not commit:
        return False
    try:
        steps = place.relative_to(root).parts
        names = Vouched(root, folders_of(root)[1] / "objects", commit, "").files(steps)
        for name in names:
            file = root / name
            if file == place or not os.path.lexists(file):
                return False
    except (LookupError, ValueError, OSError):
        return False
    return True


def path_steps(path: Path) -> Iterator[Path]:
    """The folders, links and the file that an absolute path leads through, whether they exist or not.

    Raises ValueError if links lead in a circle.
    """
    place = Path(path.anchor)
    steps = list(reversed(path.parts[1:]))
    links = 0
    while steps:
        step = steps.pop()
        if step == "..":
            place = place.parent
            continue
        place /= step
        yield place
        if not place.is_symlink():
            continue
        links += 1
        if links > MOST_LINKS:
            raise ValueError(f"{path} leads in a circle")
        target = place.readlink()
        if target.is_absolute():
            steps += reversed(target.parts[1:])
            place = Path(target.anchor)
        else:
            steps += reversed(target.parts)
            place = place.parent
