"""The first line of our comment: its owner and its run, so that an older run does not overwrite a newer one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

LONGEST_KEY = 200  # characters
_LINE = re.compile(r"<!-- gradegate:(?P<name>\S*)(?P<about>(?: [a-z]+=[0-9a-f]+)*) -->")
_NUMBER = re.compile(r"[0-9]{1,19}")
_HEX = re.compile(r"[0-9a-f]{1,64}")


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which job writes a comment: its key, its run and the attempt (0: not known), its commit, and what it found.

    ``findings`` are hexadecimal digits, equal where outcome and failing cases are.
    """

    key: str = ""
    run: int = 0
    attempt: int = 0
    commit: str = ""
    findings: str = ""

    @property
    def marker(self) -> str:
        """How the comments of one key begin; a key cannot break out of it, nor take the room of the report."""
        return f"<!-- gradegate:{_named(self.key)}"

    @property
    def line(self) -> str:
        """The first line of a comment."""
        about = {"run": self.run, "attempt": self.attempt, "commit": self.commit, "findings": self.findings}
        return " ".join([self.marker, *(f"{name}={value}" for name, value in about.items() if value), "-->"])

    def older(self, other: Stamp) -> bool:
        """Whether this is of an older run than the other: one with a lower id, or an earlier attempt of the same run.

        GitHub counts the ids of runs up in a repository, for all workflows together. Who starts an old run again asks
        again for its old commit, so that its attempts stay as old as it is. What does not say its run is older than
        what does, and two jobs of one attempt are of one age.
        """
        return (self.run, self.attempt) < (other.run, other.attempt)


def read_stamp(text: str, key: str) -> Stamp | None:
    """The stamp of a comment, None for one that is not of this key. What it cannot be is left out."""
    found = _LINE.fullmatch(text.partition("\n")[0].strip())
    if found is None or found["name"] != _named(key):
        return None
    about = dict(part.split("=", 1) for part in found["about"].split())
    run, attempt = (_number(about.get(name, "")) for name in ("run", "attempt"))
    return Stamp(key, run, attempt, about.get("commit", ""), about.get("findings", ""))


def stamp(key: str, environ: Mapping[str, str], commit: str, findings: str) -> Stamp:
    """The stamp of this run, as the runner names it."""
    run, attempt = (_number(environ.get(name, "")) for name in ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT"))
    return Stamp(key, run, attempt, commit if _HEX.fullmatch(commit) else "", findings)


def _number(text: str) -> int:
    return int(text) if _NUMBER.fullmatch(text) else 0


def _named(key: str) -> str:
    name = quote(key, safe="", errors="replace").replace("-", "%2D")  # no "-->" and no "--" in an HTML comment
    return hashlib.sha256(name.encode()).hexdigest() if len(name) > LONGEST_KEY else name
