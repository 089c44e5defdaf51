"""Which commit is checked out, and the objects of git, read without git and without the configuration of a repository.

The name of an object is the hash of what it holds, so that whoever knows the name of a commit knows every file in it, whatever
else lies in the folder, and however it came there. The program ``git`` is not asked: a repository can configure what that starts.
"""

import hashlib
import os
import re
from pathlib import Path

from gradegate.access.environment import Environment
from gradegate.files.plain_files import regular

LARGEST = 32 * 1024 * 1024  # bytes of a loose commit or tree; a tree of 100,000 files has four million
MOST_NAME, MOST_REFS = 64 * 1024, 64 * 1024 * 1024  # bytes of a file with one name, and of one with all
SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def commit_of(folder: Path, environment: Environment) -> str:
    """$GITHUB_SHA, else the commit that HEAD of the repository around the folder names, else an empty string."""
    if SHA.fullmatch(environment.commit):
        return environment.commit
    root = repository_of(folder)
    return head_of(root) if root else ""


def repository_of(folder: Path) -> Path | None:
    """The nearest folder upwards that holds a ``.git``, or None."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)


def brought(path: Path) -> bool:
    """Whether what is checked out brought a folder, anything in it, or a link on the way to it; what git cannot say it did.

    The index lists what is checked out: https://git-scm.com/docs/index-format
    """
    if (root := repository_of(path.parent)) is None:
        return False
    from dulwich.index import Index

    try:
        listed = frozenset(Index(folders_of(root)[0] / "index"))  # nothing where there is none
    except Exception:  # what the library raises on damaged bytes has no end
        return True
    places = {path, path.resolve(), *path.parents} - {root, *root.parents}
    names = [os.fsencode(place.relative_to(root)) for place in places if place.is_relative_to(root)]
    inside = tuple(os.fsencode(it.relative_to(root)) + b"/" for it in (path, path.resolve()) if it.is_relative_to(root))
    return not listed.isdisjoint(names) or any(name.startswith(inside) for name in listed)


def head_of(root: Path) -> str:
    """The commit that is checked out in a work tree, an empty string when its files do not say.

    Format: https://git-scm.com/docs/gitrepository-layout (HEAD, refs, packed-refs; a linked work tree has a file `.git`).
    """
    try:
        git, common = folders_of(root)
        head = _text(git / "HEAD").strip()
        name = head.removeprefix("ref:").strip()
        names = [] if SHA.fullmatch(head) else [place for place in (git / name, common / name) if place.is_file()]
        if names:
            head = _text(names[0]).strip()
        elif not SHA.fullmatch(head):
            packed = _text(common / "packed-refs", MOST_REFS).splitlines() if (common / "packed-refs").is_file() else []
            head = next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
    except (OSError, ValueError):
        return ""
    return head if SHA.fullmatch(head) else ""


def folders_of(root: Path) -> tuple[Path, Path]:
    """The folder of a work tree's HEAD, and the one with what several work trees share. Raises OSError and ValueError."""
    git = root / ".git"
    if git.is_file():
        git = root / _text(git).removeprefix("gitdir:").strip()
    shared = git / "commondir"
    return git, git / _text(shared).strip() if shared.is_file() else git


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
    from dulwich.object_format import SHA1, SHA256
    from dulwich.object_store import DiskObjectStore
    from dulwich.objects import ObjectID

    form = SHA256 if len(name) == 64 else SHA1
    store = DiskObjectStore(folder, object_format=form, loose_object_size_limit=LARGEST)
    try:
        content = store.get_raw(ObjectID(name.encode()))[1]
    except Exception:  # as above: whatever it is, the object cannot be had
        content = None  # the exception is let go of, because it holds on to files
    store.close()
    if content is None or object_name(kind, content, len(name)) != name:
        raise LookupError(name)
    return content
