"""The command that asks a case again, from the root of the repository."""

import posixpath
import re
import shlex

from gradegate.core.conversation import CONVERSATION
from gradegate.core.settings import RUN_OPTIONS
from gradegate.reports.format.escape import one_line
from gradegate.reports.format.markdown import fence
from gradegate.results.accounts import Made
from gradegate.results.rows import Row

_FILTER = next(option for option in RUN_OPTIONS if option.field == "filter_pattern")
_COMMAND = 2000  # characters; a longer one is not worth the room
_PATTERN = 200  # characters of a description that a pattern may hold
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")  # in a regular expression


def command(row: Row, made: Made) -> str:
    """What asks the case again, from the root of the repository; empty where it would not be what ran."""
    # A file of the repository as it is named in a folder of it.
    config = row.suite
    if made.folder and not config.startswith("/"):
        config = posixpath.relpath(config, made.folder)
    words = ["gradegate", "run", config, *made.options]
    # What was said before a case is there only if the cases before it run, too.
    about, is_plain = row.description, one_line(row.description, _PATTERN) == row.description
    if CONVERSATION not in row.vars and about.strip() and len(about) <= _PATTERN and is_plain:
        pattern = f"^{_SPECIAL.sub(lambda sign: chr(92) + sign[0], about)}$"
        if _is_whole(pattern):
            words += _FILTER.words(pattern)
    written = shlex.join(words)
    if made.folder:
        written = f"cd {shlex.quote(made.folder)} && {written}"
    whole = _is_whole(written) and len(written) <= _COMMAND
    return written if whole and row.suite and not config.startswith("-") else ""


def _is_whole(text: str) -> bool:
    """Whether a line stands in a block as it is: a command that is shown otherwise would not be what ran."""
    return "\n" not in text and f"\n{text}\n" in fence(text)
