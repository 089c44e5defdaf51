"""Objects of git, read without git and without the configuration of a repository, and believed only under their own names.

The name of an object is the hash of what it holds, so that whoever knows the name of a commit knows every file in it, whatever
else lies in the folder, and however it came there. The program ``git`` is not asked: a repository can configure what that starts.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

LARGEST = 32 * 1024 * 1024  # bytes of a loose commit or tree; a tree of 100,000 files has four million


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
    except Exception:  # what the library raises on damaged bytes has no end: whatever it is, the object cannot be had
        content = None  # the exception is let go of, because it holds on to files
    store.close()
    if content is None or object_name(kind, content, len(name)) != name:
        raise LookupError(name)
    return content


def paths_of(index: Path) -> frozenset[bytes]:
    """What an index of git lists, relative to the work tree; nothing where there is none. Raises ValueError for one that is damaged."""
    from dulwich.index import Index

    try:
        return frozenset(Index(index))
    except Exception as e:
        raise ValueError(f"{index.name} cannot be read") from e
