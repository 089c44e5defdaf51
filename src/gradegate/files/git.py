"""Which commit is checked out, and its files: the objects of git, read without git and without the configuration of a repository.

The name of an object is the hash of what it holds, so that whoever knows the name of a commit knows every file in it, whatever
else lies in the folder, and however it came there. The program ``git`` is not asked: a repository can configure what that starts.

When a workflow runs with secrets and anybody can start it, only files of the commit that the workflow runs at are read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.errors import ConfigError, Origin
from gradegate.files.plain_files import regular
from gradegate.security.environment import Environment, describe_event
from gradegate.structs import FrozenStruct

if TYPE_CHECKING:
    from dulwich.object_store import DiskObjectStore

# Bytes of a loose commit or tree; a tree of 100,000 files has four million.
LARGEST = 32 * 1024 * 1024
MOST_NAME, MOST_REFS = (
    64 * 1024,
    64 * 1024 * 1024,
)  # bytes of a file with one name, and of one with all
SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
MOST_MOVED = 100  # files that were added, and that were changed or removed, among which renames are looked for
_MAIN = "refs/heads/main"


def commit_of(folder: Path, environment: Environment) -> str:
    """$GITHUB_SHA, else the commit that HEAD of the repository around the folder names, else an empty string."""
    if SHA.fullmatch(environment.commit):
        return environment.commit
    root = repository_of(folder)
    return head_of(root) if root else ""


def repository_of(folder: Path) -> Path | None:
    """The nearest folder upwards that holds a ``.git``, or None."""
    return next(
        (parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None
    )


def files_checked_out(path: Path, repository: Path | None = None) -> dict[bytes, bytes]:
    """What the commit that is checked out holds at this path, in it, and as a link on the way: the objects by their paths.

    The repository is the one around the path, unless it is given. The result is not empty if the index, which lists what is
    checked out, is damaged: https://git-scm.com/docs/index-format
    """
    root = repository or repository_of(path.parent)
    if root is None:
        return {}
    from dulwich.index import Index

    try:
        listed = Index(folders_of(root)[0] / "index").items()  # nothing where there is none
    except Exception:  # what the library raises on damaged bytes has no end
        return {b"": b""}

    def names(places: Iterable[Path]) -> list[bytes]:
        return [os.fsencode(it.relative_to(root)) for it in places if it.is_relative_to(root)]

    inside = tuple((name + b"/").removeprefix(b"./") for name in names((path, path.resolve())))
    ways_to_it = {path, path.resolve(), *path.parents} - {root, *root.parents}
    links = set(names(ways_to_it))
    return {  # of a conflict there is no object
        name: getattr(entry, "sha", b"")
        for name, entry in listed
        if name in links or name.startswith(inside)
    }


def head_of(root: Path) -> str:
    """The commit that is checked out in a work tree, an empty string when its files do not say.

    Format: https://git-scm.com/docs/gitrepository-layout (HEAD, refs, packed-refs; a linked work tree has a file `.git`).
    """
    try:
        git, common = folders_of(root)
        head = _text(git / "HEAD").strip()
        if not SHA.fullmatch(head):
            name = head.removeprefix("ref:").strip()
            place = next((it for it in (git / name, common / name) if it.is_file()), None)
            if place:
                head = _text(place).strip()
            else:
                packed = _packed_refs(common)
                head = next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
    except (OSError, ValueError):
        return ""
    return head if SHA.fullmatch(head) else ""


def default_branch_is_checked_out(folder: Path, environ: Mapping[str, str]) -> bool:
    """Whether HEAD is the default branch: in GitLab by its variables, else the branch of `origin/HEAD`, else `main`, else `master`.

    ``environ`` is that of the process, and of no file. False outside of a repository and for a detached HEAD.
    """
    branch = environ.get(
        "CI_DEFAULT_BRANCH", ""
    )  # https://docs.gitlab.com/ci/variables/predefined_variables/
    if branch:
        return environ.get("CI_COMMIT_BRANCH", "") == branch
    root = repository_of(folder.resolve())
    if root is None:
        return False
    try:
        git, common = folders_of(root)
        head = _text(git / "HEAD").strip()
        origin = common / "refs" / "remotes" / "origin" / "HEAD"
        if origin.is_file():
            name = _text(origin).strip().removeprefix("ref: refs/remotes/origin/")
            return head == f"ref: refs/heads/{name}"
        refs = {_MAIN, "refs/remotes/origin/main"}
        has_main = any((common / ref).is_file() for ref in refs)
        if not has_main:
            has_main = any(line.partition(" ")[2] in refs for line in _packed_refs(common))
    except (OSError, ValueError):
        return False
    return head == f"ref: {_MAIN}" or (head == "ref: refs/heads/master" and not has_main)


def folders_of(root: Path) -> tuple[Path, Path]:
    """The folder of a work tree's HEAD, and the one with what several work trees share. Raises OSError and ValueError."""
    git = root / ".git"
    if git.is_file():
        git = root / _text(git).removeprefix("gitdir:").strip()
    shared = git / "commondir"
    return git, git / _text(shared).strip() if shared.is_file() else git


def _packed_refs(common: Path) -> list[str]:
    """The lines of the file that names all refs. Raises OSError and ValueError."""
    packed = common / "packed-refs"
    return _text(packed, MOST_REFS).splitlines() if packed.is_file() else []


def _text(path: Path, most: int = MOST_NAME) -> str:
    """A small plain file; what would block or never end is none. Raises OSError and ValueError."""
    with regular(path, most, links=True) as file:
        return file.read(most).decode()


def object_name(kind: str, content: bytes, length: int) -> str:
    """The name that git gives to an object; ``length`` is that of the repository's names: 40 (SHA-1) or 64 (SHA-256)."""
    digest = hashlib.sha256() if length == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"%s %d\0" % (kind.encode(), len(content)))
    digest.update(content)
    return digest.hexdigest()


def read_object(folder: Path, name: str, kind: str) -> bytes:
    """The content of an object in the folder ``objects`` of a repository. Raises LookupError when it cannot be had."""
    from dulwich.objects import ObjectID

    store = _open_store(folder, name)
    try:
        content = store.get_raw(ObjectID(name.encode()))[1]
    except Exception:  # as above: whatever it is, the object cannot be had
        content = None  # the exception is let go of, because it holds on to files
    store.close()
    if content is None or object_name(kind, content, len(name)) != name:
        raise LookupError(name)
    return content


def _open_store(folder: Path, name: str) -> DiskObjectStore:
    """The objects of a repository in which objects have such names."""
    from dulwich.object_format import SHA1, SHA256
    from dulwich.object_store import DiskObjectStore

    form = SHA256 if len(name) == 64 else SHA1
    return DiskObjectStore(folder, object_format=form, loose_object_size_limit=LARGEST)


def _tree_of(objects: Path, commit: str) -> str:
    """The name of the tree of a commit. Raises LookupError when the commit cannot be had."""
    first = read_object(objects, commit, "commit").partition(b"\n")[0]
    return first.removeprefix(b"tree ").decode()


def renamed_files(base: Path, head: Path) -> dict[str, str]:
    """The files that the commits of two checkouts have under different names, as git detects them, by the name in the base.

    None where a commit cannot be read.
    """
    from dulwich.diff_tree import CHANGE_RENAME, RenameDetector
    from dulwich.object_store import BaseObjectStore, OverlayObjectStore
    from dulwich.objects import ObjectID

    with ExitStack() as opened:
        try:
            stores, trees = list[BaseObjectStore](), list[ObjectID]()
            for root in (base, head):
                objects, commit = folders_of(root)[1] / "objects", head_of(root)
                trees.append(ObjectID(_tree_of(objects, commit).encode()))
                stores.append(_open_store(objects, commit))
                opened.callback(stores[-1].close)
            detector = RenameDetector(OverlayObjectStore(stores), max_files=MOST_MOVED)
            changes = detector.changes_with_renames(trees[0], trees[1])
            moved = [(it.old, it.new) for it in changes if it.type == CHANGE_RENAME]
            return {
                os.fsdecode(old.path): os.fsdecode(new.path) for old, new in moved if old and new
            }
        except Exception:  # as above
            return {}


def commit_lacks(root: Path, place: Path) -> bool:
    """Whether the commit of a checkout has no file at a place, and of a folder there no file that is not checked out.

    False, too, where the commit cannot be read: nobody knows then what it has.
    """
    commit = head_of(root)
    if not commit:
        return False
    try:
        at = place.relative_to(root).parts
        held = Vouched(root, folders_of(root)[1] / "objects", commit, "").files(at)
        return all(os.path.lexists(root / name) and root / name != place for name in held)
    except (LookupError, ValueError, OSError):
        return False


# --- the files of a commit -------------------------------------------------------------------------------------------

FILE, FOLDER, LINK = b"100", b"40000", b"120000"  # modes in a tree; a file's goes on
MOST_LINKS = 40  # on the way to one file, as in Linux
Entry = tuple[bytes, str]  # of a tree: the mode, and the name of the object
CURE = "check out the repository with actions/checkout and without `ref`, and change no file that a config names"
WHERE = "docs/github-events.md says why"


class Vouched(FrozenStruct, eq=False):
    """The files of a commit, by whose name every one of them is checked."""

    root: Path
    objects: Path  # of git, where it keeps the content of commits
    commit: str
    event: str
    trees: dict[str, dict[bytes, Entry]] = {}

    @classmethod
    def around(cls, config: Path, environment: Environment) -> Vouched:
        """The commit that the workflow runs at, in the repository of a config. Raises ConfigError if that one is not checked out."""
        commit = environment.commit
        what = f"{environment.event_shown} can run with secrets for anybody"
        if not SHA.fullmatch(commit):
            raise ConfigError.at(f"{what}, and GITHUB_SHA names no commit", None, WHERE)
        root = repository_of(config.resolve().parent)
        cure = f"{CURE}; {WHERE}"
        if root is None:
            what = f"{what}, and there is no git repository around `{config.name}`"
            raise ConfigError.at(what, None, cure)
        workspace = repository_of(Path(environment.workspace or root).resolve())
        for folder in (root, workspace or root):
            if (head := head_of(folder)) != commit:
                place = head or "an unknown commit"
                what = f"{what}, and the checkout is at {place}, not at {commit}"
                raise ConfigError.at(what, None, cure)
        return cls(root, folders_of(root)[1] / "objects", commit, environment.event)

    def vouch(self, path: Path, content: bytes, shown: str, origin: Origin) -> None:
        """Raises ConfigError unless the commit has this content at this path, through the same links."""
        if object_name("blob", content, len(self.commit)) != self.find(path, shown, origin):
            raise self._refusal(f"`{shown}` is not as it is in", origin)

    def find(self, path: Path, shown: str, origin: Origin | None) -> str:
        """The name of the content that the commit has at a path, as it is written. Raises ConfigError."""
        try:
            above = (parent for parent in reversed(path.parents) if parent.resolve() == self.root)
            top = next(above, self.root)
            steps, at, links = list(reversed(path.relative_to(top).parts)), list[str](), 0
            while steps:
                if (step := steps.pop()) == "..":
                    at.pop()
                    continue
                at.append(step)
                mode, name = self._entry(at)
                if not self._is(self.root.joinpath(*at), mode, name):
                    raise LookupError(step)
                if mode == LINK:
                    links += 1
                    steps += reversed(Path(self.root.joinpath(*at).readlink()).parts)
                    at.pop()
                if links > MOST_LINKS:
                    raise LookupError(step)
            mode, name = self._entry(at)
            if not mode.startswith(FILE):
                raise LookupError(path)
        except (LookupError, ValueError, OSError) as e:
            raise self._refusal(f"`{shown}` cannot be found in", origin) from e
        return name

    def all_of(self, folder: Path, matches: Iterable[Path], origin: Origin | None = None) -> None:
        """Raises ConfigError unless a pattern matches in a folder what it would match in the commit, no less and no more."""
        try:
            at = folder.resolve().relative_to(self.root).parts
            gone = next(self._gone(at, self._entry(at)[1]), None)
        except (LookupError, ValueError, OSError) as e:
            raise self._refusal(f"the folder `{folder.name}` cannot be found in", origin) from e
        if gone is not None:
            raise self._refusal(
                f"`{gone.relative_to(self.root)}` is missing, or no longer what it is in", origin
            )
        for match in matches:
            if match.is_file():
                self.find(match, match.name, origin)

    def holds(self, at: Sequence[str]) -> bool:
        """Whether the commit has anything at these steps below its root. Raises ValueError, OSError and LookupError."""
        try:
            self._entry(at)
        except KeyError:
            return False
        except NotADirectoryError:  # a link or a file in the place of a folder
            pass
        return True

    def files(self, at: Sequence[str] = ()) -> Iterator[str]:
        """Every path of the commit below these steps, from the root; those of a submodule are not known.

        Raises ValueError, OSError, and LookupError where a folder of the commit cannot be had.
        """
        try:
            left = [(tuple(at), *self._entry(at))]
        except (KeyError, NotADirectoryError):
            return
        while left:
            path, mode, name = left.pop()
            if mode == FOLDER:
                left += (
                    ((*path, os.fsdecode(entry)), *found)
                    for entry, found in reversed(self._tree(name).items())
                )
            else:
                yield "/".join(path)

    def _refusal(self, what: str, origin: Origin | None) -> ConfigError:
        why = f"{what} the commit {self.commit}, and nothing else is read at {describe_event(self.event)}"
        return ConfigError.at(why, origin, f"{CURE}; {WHERE}")

    def _gone(self, at: tuple[str, ...], tree: str) -> Iterator[Path]:
        """What the commit has below a folder, and the checkout has not."""
        for entry, (mode, name) in self._tree(tree).items():
            below = (*at, os.fsdecode(entry))
            if not self._is(self.root.joinpath(*below), mode, name):
                yield self.root.joinpath(*below)
            elif mode == FOLDER:
                yield from self._gone(below, name)

    def _is(self, place: Path, mode: bytes, name: str) -> bool:
        """Whether a place holds what its mode says; of a link also whether it leads where it led."""
        if place.is_symlink():
            target = os.readlink(os.fsencode(place))  # noqa: PTH115  # a Path would drop "./"
            return mode == LINK and object_name("blob", target, len(self.commit)) == name
        return place.is_file() if mode.startswith(FILE) else mode != LINK and place.is_dir()

    def _entry(self, at: Sequence[str]) -> Entry:
        """The mode and the name of what the commit has at these steps.

        Raises KeyError where it has nothing there, NotADirectoryError where a link or a file is on the way, and LookupError.
        """
        mode, name = self._tree(self.commit)[b""]
        for part in at:
            if mode != FOLDER:
                raise NotADirectoryError(part)
            mode, name = self._tree(name)[os.fsencode(part)]
        return mode, name

    def _tree(self, name: str) -> dict[bytes, Entry]:
        """The entries of a tree; of the commit the one that is its tree."""
        if name not in self.trees and name == self.commit:
            self.trees[name] = {b"": (FOLDER, _tree_of(self.objects, name))}
        elif name not in self.trees:
            tree, place = read_object(self.objects, name, "tree"), 0
            entries = {}
            while place < len(tree):
                end = tree.index(b"\0", place)
                mode, _, entry = tree[place:end].partition(b" ")
                place = end + 1 + len(name) // 2
                entries[entry] = (mode, tree[end + 1 : place].hex())
            self.trees[name] = entries
        return self.trees[name]


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
