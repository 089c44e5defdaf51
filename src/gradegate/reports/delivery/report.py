"""The contract of a report: a pure function from a decision to a document. Other modules write or post the document.

A new format is a module of ``reports/`` that registers a ``Report`` in ``REPORTS``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from gradegate.registry import Registry
from gradegate.reports.format.escape import Escaped, Log
from gradegate.reports.format.markdown import Markdown
from gradegate.results.run_result import Decision
from gradegate.structs import FrozenStruct, NamedTexts, replace

# What links in a results.json must look like, by their fields.
_LINK_PATTERNS = {
    "server": re.compile(r"https?://[A-Za-z0-9.:-]+"),
    "repository": re.compile(r"[\w.-]+/[\w.-]+"),
    "commit": re.compile(r"[0-9A-Fa-f]{7,64}"),
}

_NOT_ASCII = re.compile(r"[^\t\n -~]+")


class Document(FrozenStruct):
    """A rendered report in parts, so that memory need not contain all of a long one.

    It is a file that the user named with -o or an input of the Action. Subclasses go elsewhere, each with one kind of text.
    """

    parts: Iterable[Escaped]

    @property
    def text(self) -> Escaped:
        """The parts joined."""
        return Escaped("".join(self.parts))


class Comment(Document):
    """The pull request comment."""

    parts: Iterable[Markdown]


class Summary(Document):
    """$GITHUB_STEP_SUMMARY."""

    parts: Iterable[Markdown]


class Annotations(Document):
    """Workflow commands on standard output."""

    parts: Iterable[Log]


class Console(Document):
    """Text for people on standard output."""

    parts: Iterable[Log]


def data_file(parts: Iterable[str]) -> Document:
    """A file that programs read, as an encoder wrote it. Characters that a terminal would not show are escaped as in JSON."""
    return Document(map(_escape_part, parts))


def list_parts(start: str, items: Iterable[str]) -> Iterator[str]:
    """A JSON object that ends with a list, one item a line. ``start`` is the object up to the first item."""
    yield start
    separator = "\n"
    for item in items:
        yield separator + item
        separator = ",\n"
    yield "\n]}\n"


def _escape_part(part: str) -> Escaped:
    """A part of JSON with escapes in place of characters that a terminal would not show."""
    if not part.replace("\n", "").isprintable():  # the pattern is slow, and few parts need it
        part = _NOT_ASCII.sub(_escape_invisible, part)
    return Escaped(part)


def _escape_invisible(match: re.Match[str]) -> str:
    text = match[0]
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)


class Links(FrozenStruct):
    """Where a report leads to, and what tells it from others on the same pull request. All are empty outside GitHub."""

    server: str = ""  # https://github.com
    repository: str = ""  # owner/name
    commit: str = ""  # the head commit of the pull request
    run: str = ""  # address of the workflow run
    page: str = ""  # where the HTML report can be fetched, if one is written
    key: str = ""  # of the gate: the input `comment-key`, or its job
    results: str = ""  # the name of the file with all results, if one is written
    has_file: Callable[[str], bool] = bool  # whether a file is there; by default any with a name

    @property
    def head(self) -> str:
        """The address of the commit, or an empty string."""
        if not self._has_commit:
            return ""
        return f"{self.server}/{self.repository}/commit/{self.commit}"

    @classmethod
    def from_results(cls, texts: NamedTexts) -> Links:
        """The links of a results.json. None of them if they are no addresses of one server: anybody may have written the file."""
        for name, pattern in _LINK_PATTERNS.items():
            if not pattern.fullmatch(texts.get(name, "")):
                return cls()
        links = cls(texts["server"], texts["repository"], texts["commit"], texts.get("run", ""))
        if links.run.startswith(f"{links.server}/{links.repository}/"):
            return links
        return replace(links, run="")

    @property
    def for_results(self) -> dict[str, str]:
        """The links that results.json has, so that a page made from it later can lead there."""
        if not self.repository:
            return {}
        links = {name: getattr(self, name) for name in (*_LINK_PATTERNS, "run")}
        return {name: text for name, text in links.items() if text}

    def line(self, file: str, line: int) -> str:
        """The address of a line at the commit, or an empty string."""
        if not self._has_commit or not file:
            return ""
        path = f"{self.commit}/{quote(file, errors='replace')}"
        anchor = f"#L{line}" if line else ""
        return f"{self.server}/{self.repository}/blob/{path}{anchor}"

    @property
    def _has_commit(self) -> bool:
        return bool(self.server and self.repository and self.commit)


class Report(FrozenStruct):
    """A plug-in of ``reports/``. ``-o`` recognizes it by ``suffix``, which is empty for reports that go elsewhere."""

    name: str
    suffix: str
    render: Callable[[Decision, Links], Document]


REPORTS: Registry[Report] = Registry("report", "gradegate.reports")
