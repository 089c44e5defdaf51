"""Colours for people at a terminal: whether there are any, and how a line gets them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TextIO

from gradegate.access.hiding import Hide
from gradegate.reporting.commands import harmless
from gradegate.reporting.console import Line, Tone, View

# Colours by name, so that a terminal shows them as its user has chosen them.
_STYLES = {Tone.GOOD: "green", Tone.BAD: "bold red", Tone.UNSURE: "yellow", Tone.FAINT: "dim"}
_NARROW = 40  # columns; on less, a line of the list would say nothing


def coloured(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream gets colours: NO_COLOR and FORCE_COLOR decide where they are set, else whether it is a terminal."""
    if environ.get("NO_COLOR"):
        return False
    if forced := environ.get("FORCE_COLOR"):
        return forced.lower() not in ("0", "false")
    return stream.isatty() and environ.get("TERM", "") != "dumb"


def fitted(view: View, stream: TextIO) -> View:
    """The view, with a list as wide as the terminal; elsewhere lines are as long as they are."""
    if not stream.isatty():
        return view
    return replace(view, columns=max(_NARROW, shutil.get_terminal_size().columns))


def say(line: Line, hide: Hide, stream: TextIO | None = None) -> None:
    """Write a line without secrets; what is not our own word is harmless, and has no colour of its own."""
    stream = stream or sys.stdout
    head, text = (line.head, line.text) if line.head else (line.text, "")
    head, text = hide(head), hide(text)
    if coloured(stream) and line.tone in _STYLES:
        text = f"{paint(harmless(head), _STYLES[line.tone])}{harmless(text)}"
    else:
        text = harmless(head + text)
    stream.write(text + "\n")


def paint(text: str, style: str) -> str:
    """The text in a style of rich."""
    from rich.color import ColorSystem  # only where there are colours: it is slow to load
    from rich.style import Style

    return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)
