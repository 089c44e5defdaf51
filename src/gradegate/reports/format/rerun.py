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
_HARMLESS_FLAGS = frozenset(f"--{option.name}" for option in RUN_OPTIONS if option.harmless)
_HOSTS_FLAG = "--allowed-hosts"
_MOST_COMMAND = 2000  # characters; a longer one is not worth the room
_MOST_PATTERN = 200  # characters of a description in a pattern
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")  # in a regular expression


def rerun_command(row: Row, made: Made) -> str:
    """The command that asks a case again. Empty if it would ask something else than the run did."""
    for path in (row.suite, made.folder):
        if path.startswith(("/", "-")) or ".." in path.split("/"):
            return ""  # outside of the repository, or an option
    if not row.suite:
        return ""
    config = posixpath.relpath(row.suite, made.folder) if made.folder else row.suite
    if config.startswith("-"):
        return ""

    words = ["gradegate", "run", config, *made.options, *_filter_words(row)]
    command = shlex.join(words)
    if made.folder:
        command = f"cd {shlex.quote(made.folder)} && {command}"
    return command if _is_unchanged_in_fence(command) and len(command) <= _MOST_COMMAND else ""


def _filter_words(row: Row) -> list[str]:
    """The option that selects only this case, if its description allows that."""
    name = row.description
    if not name.strip() or len(name) > _MOST_PATTERN or one_line(name, _MOST_PATTERN) != name:
        return []
    if CONVERSATION in row.vars:
        return []  # the cases before it must run, too, as they are what was said before
    escaped = _SPECIAL.sub(r"\\\g<0>", name)
    pattern = f"^{escaped}$"
    return _FILTER.arguments(pattern) if _is_unchanged_in_fence(pattern) else []


def without_rights(made: Made) -> Made:
    """Keep only the harmless options of a run: anybody may have written the file that they come from."""
    options: list[str] = []
    for flag, value in pairwise(made.options):
        if flag in _HARMLESS_FLAGS and not value.startswith("-"):
            options += (flag, value)
    if _HOSTS_FLAG in made.options:  # keys stay bound to hosts, but not to these
        options += (_HOSTS_FLAG, NOBODY)
    return replace(made, options=tuple(options))


def _is_unchanged_in_fence(text: str) -> bool:
    """Whether a block of code shows a line as it is. A command that is shown otherwise would not be what ran."""
    return "\n" not in text and f"\n{text}\n" in fence(text)
