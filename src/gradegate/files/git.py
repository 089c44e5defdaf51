"""Reads the repository around a folder: which commit is checked out, and the objects that it is made of.

The program ``git`` is not used: a repository can configure what that starts.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.files.plain_files import open_plain_file
from gradegate.security.environment import Environment

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

    # Files below the path. The name of the root is `.`, and everything is below it.
    places = {path, path.resolve()}
    prefixes = tuple((name + b"/").removeprefix(b"./") for name in _names_in(root, places))
    # The path itself, and links on the way to it
    steps = places.union(path.parents) - {root, *root.parents}
    names = _names_in(root, steps)
    objects = {}
    for name, entry in entries:
        if name in names or name.startswith(prefixes):
            objects[name] = getattr(entry, "sha", b"")  # a conflict has no object
    return objects


def _names_in(root: Path, places: Iterable[Path]) -> set[bytes]:
    """The names of the places inside of a repository, as git has them: relative to its root."""
    inside = [place for place in places if place.is_relative_to(root)]
    return {os.fsencode(place.relative_to(root)) for place in inside}


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


def tree_of(objects: Path, commit: str) -> str:
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
                trees.append(ObjectID(tree_of(objects, commit).encode()))
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
