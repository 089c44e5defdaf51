"""Reads which commit is checked out, and the files of a commit, without git and without the configuration of a repository.

The name of a git object is the hash of its content. So the name of a commit determines every file in it, whatever else is
in the folder. The program ``git`` is not used: a repository can configure what that starts.

If a workflow runs with secrets and anybody can start it, only files of the workflow's commit are read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gradegate.errors import ConfigError, Origin
from gradegate.files.plain_files import open_plain_file
from gradegate.security.environment import Environment, describe_event
from gradegate.structs import FrozenStruct

if TYPE_CHECKING:
    from dulwich.object_store import DiskObjectStore

# Bytes of a loose commit or tree; a tree of 100,000 files has four million.
LARGEST = 32 * 1024 * 1024
MOST_NAME = 64 * 1024  # bytes of a file with one name
MOST_REFS = 64 * 1024 * 1024  # bytes of the file with all refs
SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
MOST_MOVED = 100  # renames are looked for among so many files on each side
_MAIN = "refs/heads/main"


def commit_of(folder: Path, environment: Environment) -> str:
    """$GITHUB_SHA, else the commit of HEAD in the repository around the folder, else an empty string."""
    if SHA.fullmatch(environment.commit):
        return environment.commit
    root = repository_of(folder)
    return head_of(root) if root else ""


def repository_of(folder: Path) -> Path | None:
    """The folder itself or its nearest parent that contains ``.git``. None outside of a repository."""
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            return parent
    return None


def files_checked_out(path: Path, repository: Path | None = None) -> dict[bytes, bytes]:
    """Object ids of the checked-out commit by path: of this path, of all files below, and of links on the way.

    Without ``repository`` the repository around the path is searched. If the index, which lists what is checked out, is damaged,
    the result is not empty: https://git-scm.com/docs/index-format
    """
    root = repository or repository_of(path.parent)
    if root is None:
        return {}
    from dulwich.index import Index

    try:
        entries = Index(folders_of(root)[0] / "index").items()  # empty if there is no index
    except Exception:  # damaged bytes raise many kinds of exceptions
        return {b"": b""}

    def relative_names(places: Iterable[Path]) -> list[bytes]:
        inside = [place for place in places if place.is_relative_to(root)]
        return [os.fsencode(place.relative_to(root)) for place in inside]

    names = relative_names((path, path.resolve()))
    prefixes = tuple((name + b"/").removeprefix(b"./") for name in names)
    links = set(relative_names({path, path.resolve(), *path.parents} - {root, *root.parents}))
    objects = {}
    for name, entry in entries:
        if name in links or name.startswith(prefixes):
            objects[name] = getattr(entry, "sha", b"")  # a conflict has no object
    return objects


def head_of(root: Path) -> str:
    """The full hash of the commit that is checked out in a work tree. An empty string if the files of git do not say.

    Format: https://git-scm.com/docs/gitrepository-layout (HEAD, refs, packed-refs; a linked work tree has a file `.git`).
    """
    try:
        git, common = folders_of(root)
        head = _read_text(git / "HEAD").strip()
        if not SHA.fullmatch(head):
            head = _resolve_ref(head.removeprefix("ref:").strip(), git, common)
    except (OSError, ValueError):
        return ""
    return head if SHA.fullmatch(head) else ""


def _resolve_ref(name: str, git: Path, common: Path) -> str:
    """The commit of a ref; an empty string if there is none. Raises OSError and ValueError."""
    for place in (git / name, common / name):
        if place.is_file():
            return _read_text(place).strip()
    for line in _packed_refs(common):
        if line.endswith(f" {name}"):
            return line.split()[0]
    return ""


def default_branch_is_checked_out(folder: Path, environ: Mapping[str, str]) -> bool:
    """Whether HEAD is the default branch: in GitLab by its variables, else `origin/HEAD`, else `main`, else `master`.

    ``environ`` is the environment of the process, without variables of files. False outside of a repository and for a
    detached HEAD.
    """
    # https://docs.gitlab.com/ci/variables/predefined_variables/
    branch = environ.get("CI_DEFAULT_BRANCH", "")
    if branch:
        return environ.get("CI_COMMIT_BRANCH", "") == branch
    root = repository_of(folder.resolve())
    if root is None:
        return False
    try:
        git, common = folders_of(root)
        head = _read_text(git / "HEAD").strip()
        origin = common / "refs" / "remotes" / "origin" / "HEAD"
        if origin.is_file():
            name = _read_text(origin).strip().removeprefix("ref: refs/remotes/origin/")
            return head == f"ref: refs/heads/{name}"
        refs = {_MAIN, "refs/remotes/origin/main"}
        has_main = any((common / ref).is_file() for ref in refs)
        if not has_main:
            has_main = any(line.partition(" ")[2] in refs for line in _packed_refs(common))
    except (OSError, ValueError):
        return False
    return head == f"ref: {_MAIN}" or (head == "ref: refs/heads/master" and not has_main)


def folders_of(root: Path) -> tuple[Path, Path]:
    """The folder with a work tree's HEAD, and the folder that several work trees share. Raises OSError and ValueError."""
    git = root / ".git"
    if git.is_file():
        git = root / _read_text(git).removeprefix("gitdir:").strip()
    shared = git / "commondir"
    return git, git / _read_text(shared).strip() if shared.is_file() else git


def _packed_refs(common: Path) -> list[str]:
    """The lines of the file with all refs. Raises OSError and ValueError."""
    packed = common / "packed-refs"
    return _read_text(packed, MOST_REFS).splitlines() if packed.is_file() else []


def _read_text(path: Path, most: int = MOST_NAME) -> str:
    """A small regular file, never one that would block or not end. Raises OSError and ValueError."""
    with open_plain_file(path, most, follows_links=True) as file:
        return file.read(most).decode()


def object_name(kind: str, content: bytes, length: int) -> str:
    """The name of an object in git; names of the repository have a ``length`` of 40 (SHA-1) or 64 (SHA-256)."""
    digest = hashlib.sha256() if length == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"%s %d\0" % (kind.encode(), len(content)))
    digest.update(content)
    return digest.hexdigest()


def read_object(folder: Path, name: str, kind: str) -> bytes:
    """The content of an object in the folder ``objects`` of a repository. Raises LookupError if it cannot be read."""
    from dulwich.objects import ObjectID

    store = _open_store(folder, name)
    try:
        _, content = store.get_raw(ObjectID(name.encode()))
    except Exception:  # damaged bytes raise many kinds of exceptions
        content = None  # the exception is not kept, because it keeps files open
    store.close()
    if content is None or object_name(kind, content, len(name)) != name:
        raise LookupError(name)
    return content


def _open_store(folder: Path, name: str) -> DiskObjectStore:
    """The objects of a repository with names like this one."""
    from dulwich.object_format import SHA1, SHA256
    from dulwich.object_store import DiskObjectStore

    form = SHA256 if len(name) == 64 else SHA1
    return DiskObjectStore(folder, object_format=form, loose_object_size_limit=LARGEST)


def _tree_of(objects: Path, commit: str) -> str:
    """The name of the tree of a commit. Raises LookupError if the commit cannot be read."""
    first_line = read_object(objects, commit, "commit").partition(b"\n")[0]
    return first_line.removeprefix(b"tree ").decode()


def renamed_files(base: Path, head: Path) -> dict[str, str]:
    """Renamed files between the commits of two checkouts, as git detects them: new names by the names in the base.

    Empty if a commit cannot be read.
    """
    from dulwich.diff_tree import CHANGE_RENAME, RenameDetector
    from dulwich.object_store import BaseObjectStore, OverlayObjectStore
    from dulwich.objects import ObjectID

    renames = {}
    with ExitStack() as open_stores:
        try:
            stores = list[BaseObjectStore]()
            trees = list[ObjectID]()
            for root in (base, head):
                objects = folders_of(root)[1] / "objects"
                commit = head_of(root)
                trees.append(ObjectID(_tree_of(objects, commit).encode()))
                store = _open_store(objects, commit)
                open_stores.callback(store.close)
                stores.append(store)
            detector = RenameDetector(OverlayObjectStore(stores), max_files=MOST_MOVED)
            for change in detector.changes_with_renames(trees[0], trees[1]):
                if change.type == CHANGE_RENAME and change.old and change.new:
                    renames[os.fsdecode(change.old.path)] = os.fsdecode(change.new.path)
        except Exception:  # damaged bytes raise many kinds of exceptions
            return {}
    return renames


def commit_lacks(root: Path, place: Path) -> bool:
    """Whether the commit of a checkout lacks a file, or every file of a folder that is not checked out.

    False if the commit cannot be read: then nobody knows what it contains.
    """
    commit = head_of(root)
    if not commit:
        return False
    try:
        steps = place.relative_to(root).parts
        names = Vouched(root, folders_of(root)[1] / "objects", commit, "").files(steps)
        return all(os.path.lexists(root / name) and root / name != place for name in names)
    except (LookupError, ValueError, OSError):
        return False


# --- the files of a commit -------------------------------------------------------------------------------------------

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
    def around(cls, config: Path, environment: Environment) -> Vouched:
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
        if object_name("blob", content, len(self.commit)) != self.find(path, shown, origin):
            raise self._refusal(f"`{shown}` is not as it is in", origin)

    def find(self, path: Path, shown: str, origin: Origin | None) -> str:
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
            if not self._is(place, entry):
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

    def all_of(self, folder: Path, matches: Iterable[Path], origin: Origin | None = None) -> None:
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
                self.find(match, match.name, origin)

    def holds(self, steps: Sequence[str]) -> bool:
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
            if not self._is(place, entry):
                yield place
            elif entry.mode == FOLDER:
                yield from self._changed(path, entry.name)

    def _is(self, place: Path, entry: Entry) -> bool:
        """Whether a place is a file, folder or link as in the commit. A link must lead where it led."""
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
            if name == self.commit:
                self.trees[name] = {b"": Entry(FOLDER, _tree_of(self.objects, name))}
            else:
                content = read_object(self.objects, name, "tree")
                self.trees[name] = dict(_parse_tree(content, len(name) // 2))
        return self.trees[name]


def _parse_tree(content: bytes, digest_size: int) -> Iterator[tuple[bytes, Entry]]:
    """The entries of a tree object: mode, space, name, a zero byte and the digest, one after another."""
    position = 0
    while position < len(content):
        end = content.index(b"\0", position)
        mode, _, name = content[position:end].partition(b" ")
        position = end + 1 + digest_size
        yield name, Entry(mode, content[end + 1 : position].hex())


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
