"""Colours for people at a terminal: whether there are any, and how a line gets them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import TextIO

from gradegate.access.hiding import Hide
from gradegate.reporting.commands import harmless
from gradegate.reporting.console import Line, Tone, View

# Green, bold red, yellow, faint: colours by number, so that a terminal shows them as its user has chosen them.
_STYLES = {Tone.GOOD: "32", Tone.BAD: "1;31", Tone.UNSURE: "33", Tone.FAINT: "2"}
_NARROW = 40  # columns; on less, a line of the list would say nothing


def coloured(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream gets colours: NO_COLOR and FORCE_COLOR decide where they are set, else whether it is a terminal."""
    if environ.get("NO_COLOR"):
        return False
    if forced := environ.get("FORCE_COLOR"):
        return forced.lower() not in ("0", "false")
    return stream.isatty() and environ.get("TERM", "") != "dumb"


def has_rich() -> bool:
    """Whether the package that knows how wide signs are and draws the bar is there: the image does without."""
    return find_spec("rich") is not None


def fitted(view: View, stream: TextIO) -> View:
    """The view, with a list as wide as the terminal; elsewhere lines are as long as they are."""
    if not stream.isatty() or not has_rich():
        return view
    return replace(view, columns=max(_NARROW, shutil.get_terminal_size().columns))


def say(line: Line, hide: Hide, stream: TextIO | None = None) -> None:
    """Write a line without secrets; what is not our own word is harmless, and has no colour of its own."""
    stream = stream or sys.stdout
    head, text = (line.head, line.text) if line.head else (line.text, "")
    head, text = hide(head), hide(text)
    if coloured(stream) and line.tone in _STYLES:
        text = f"\x1b[{_STYLES[line.tone]}m{harmless(head)}\x1b[0m{harmless(text)}"
    else:
        text = harmless(head + text)
    stream.write(text + "\n")
