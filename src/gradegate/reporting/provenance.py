"""What a run was: commit, config and tool, in the names that every report gives them."""

from __future__ import annotations

from collections.abc import Iterator

from gradegate.reporting.visible import one_line
from gradegate.values.account import Made

COMMIT, CONFIG, TOOL = "commit", "config-sha256", "gradegate-version"


def provenance(made: Made) -> Iterator[tuple[str, str]]:
    """Name and value of each that is known; the values are one visible line."""
    for name, value in ((COMMIT, made.commit), (CONFIG, made.digest), (TOOL, made.tool)):
        if value:
            yield name, one_line(value, 100)
