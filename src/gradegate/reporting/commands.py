"""Workflow commands, and text that the runner must not take for one."""

from __future__ import annotations

import re

from gradegate.reporting.visible import visible

# How GitHub's older commands begin, wherever they stand: `##[`. Those of Azure Pipelines (`##vso[`) and TeamCity (`##teamcity[`), too,
# where the command line may run as well.
OLD = re.compile(r"##(?=[A-Za-z]*\[)")


def command(kind: str, message: str, **properties: str | int | None) -> str:
    """``::kind file=a,line=1::message``, escaped as actions/toolkit does; empty properties are left out.

    Signs that hide or move the cursor are written out: the runner shows the message in the log, and on the page.
    """
    written = {
        name: _data(str(value)).replace(":", "%3A").replace(",", "%2C") for name, value in properties.items() if value not in (None, "")
    }
    pairs = ",".join(f"{name}={value}" for name, value in written.items())
    return f"::{kind}{' ' + pairs if pairs else ''}::{_data(message)}"


def harmless(line: str) -> str:
    """The same text for a log: nothing in it can be a command, hide, or move the cursor."""
    return "\n".join(map(_tame, visible(line).split("\n")))


def _tame(line: str) -> str:
    # The runner looks for `::` at the start of a trimmed line, and for `##[` anywhere. It compares by culture, which
    # skips invisible characters; `visible` has already written those out.
    start = line.lstrip()
    if start.startswith("::"):
        line = f"{line[: len(line) - len(start)]}: :{start[2:]}"
    return OLD.sub("# #", line)


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
