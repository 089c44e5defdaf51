"""The command that asks a case again, from the root of the repository."""

import posixpath
import re
import shlex
from itertools import pairwise

from gradegate.core.conversation import CONVERSATION
from gradegate.core.settings import RUN_OPTIONS
from gradegate.reports.format.escape import one_line
from gradegate.reports.format.markdown import fence
from gradegate.results.accounts import Made
from gradegate.results.rows import Row
from gradegate.security.hosts import NOBODY
from gradegate.structs import replace

_FILTER = next(option for option in RUN_OPTIONS if option.field == "filter_pattern")
_HARMLESS = frozenset(f"--{option.name}" for option in RUN_OPTIONS if option.harmless)
_HOSTS = "--allowed-hosts"
_COMMAND = 2000  # characters; a longer one is not worth the room
_PATTERN = 200  # characters of a description that a pattern may hold
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")  # in a regular expression


def command(row: Row, made: Made) -> str:
    """What asks the case again, from the root of the repository; empty where it would not be what ran."""
    for path in (row.suite, made.folder):
        if path.startswith(("/", "-")) or ".." in path.split("/"):
            return ""  # outside of the repository, or an option
    # A file of the repository as it is named in a folder of it.
    config = posixpath.relpath(row.suite, made.folder) if made.folder else row.suite
    words = ["gradegate", "run", config, *made.options]
    # What was said before a case is there only if the cases before it run, too.
    about, is_plain = row.description, one_line(row.description, _PATTERN) == row.description
    if CONVERSATION not in row.vars and about.strip() and len(about) <= _PATTERN and is_plain:
        pattern = f"^{_SPECIAL.sub(lambda sign: chr(92) + sign[0], about)}$"
        if _is_whole(pattern):
            words += _FILTER.arguments(pattern)
    written = shlex.join(words)
    if made.folder:
        written = f"cd {shlex.quote(made.folder)} && {written}"
    whole = _is_whole(written) and len(written) <= _COMMAND
    return written if whole and row.suite and not config.startswith("-") else ""


def without_rights(made: Made) -> Made:
    """What a file says of its run, with no other options than harmless ones: anybody may have written it."""
    options: list[str] = []
    for flag, value in pairwise(made.options):
        if flag in _HARMLESS and not value.startswith("-"):
            options += (flag, value)
    if _HOSTS in made.options:  # keys were bound to hosts, and stay bound, but not to these
        options += (_HOSTS, NOBODY)
    return replace(made, options=tuple(options))


def _is_whole(text: str) -> bool:
    """Whether a line stands in a block as it is: a command that is shown otherwise would not be what ran."""
    return "\n" not in text and f"\n{text}\n" in fence(text)
