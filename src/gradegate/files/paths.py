"""What a path says of a file: whether it holds credentials, and is read for no config, is hidden, is material, or is code.

Code is programs of the repository, which run only by leave of the workflow (``programs``).
"""

import re
from pathlib import PurePath, PurePosixPath

from gradegate.files.documents import table

_TABLE = table("files", "credentials.yaml")
_FOLDERS, _SHOWN, _MATERIAL = (
    frozenset(_TABLE[name].split()) for name in ("folders", "shown", "material")
)
_FILES = re.compile("|".join(_TABLE["files"]), re.IGNORECASE)
# Ends of the names of files with code
ENDINGS = frozenset(
    ".py .js .mjs .cjs .jsx .ts .mts .cts .tsx .rb .go .sh .bash .ps1 .php .pl .lua .java".split()
)
# The end of the name of a copy, made by an editor or by hand
_COPY = re.compile(r"(?:~|\.(?:bak|old|orig|save|swp|tmp)|[. ])+$", re.IGNORECASE)


def is_hidden(path: PurePath) -> bool:
    """Whether a relative path leads through what is hidden, apart from a few folders with texts for models."""
    return any(part.startswith(".") and part not in _SHOWN for part in path.parts)


def is_material(path: PurePath) -> bool:
    """Whether the ending of a file is one of those that prompts, tests and their variables have."""
    return path.suffix[1:].lower() in _MATERIAL


def holds_credentials(path: PurePath) -> bool:
    """Whether a path, relative to the workspace, is that of a file in which tools keep credentials."""
    *folders, name = path.parts or ("",)
    return (
        any(folder.lower() in _FOLDERS for folder in (*folders, name))
        or _FILES.fullmatch(_COPY.sub("", name)) is not None
    )


def runs_code(provider_id: str) -> bool:
    """Whether an id of a provider names code of the repository: a file, a command, a package."""
    return provider_id.startswith(("exec:", "python:", "javascript:", "package:")) or is_code(
        provider_id
    )


def is_code(reference: str) -> bool:
    """Whether a path, with ``file://`` before it or not, is that of a program; ``x.py:function`` names one too.

    An address such as ``https://host/x.php`` or an id such as ``openai:chat:m.js`` is not a path.
    """
    path = reference.removeprefix("file://").partition(":")[0]
    return PurePosixPath(path).suffix.lower() in ENDINGS
