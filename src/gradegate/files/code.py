"""What counts as code: programs of the repository, which run only by leave of the workflow (``programs``)."""

from __future__ import annotations

from pathlib import PurePosixPath

ENDINGS = frozenset(".py .js .mjs .cjs .jsx .ts .mts .cts .tsx .rb .go .sh .bash .ps1 .php .pl .lua .java".split())  # in lower case


def runs_code(provider_id: str) -> bool:
    """Whether an id of a provider names code of the repository: a file, a command, a package."""
    return provider_id.startswith(("exec:", "python:", "package:")) or is_code(provider_id)


def is_code(reference: str) -> bool:
    """Whether a path, with ``file://`` before it or not, is that of a program; ``x.py:function`` names one too.

    An address such as ``https://host/x.php`` or an id such as ``openai:chat:m.js`` is not a path.
    """
    path = reference.removeprefix("file://").partition(":")[0]
    return PurePosixPath(path).suffix.lower() in ENDINGS
