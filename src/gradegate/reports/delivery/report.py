"""The contract of a report: a pure function from a decision to documents. Somebody else writes or posts them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from urllib.parse import quote

from gradegate.registry import Registry
from gradegate.reports.format.escape import Escaped, Log
from gradegate.reports.format.markdown import Markdown
from gradegate.results.run_result import Decision
from gradegate.structs import FrozenStruct, NamedTexts

_FORMS = {
    "server": re.compile(r"https?://[A-Za-z0-9.:-]+"),
    "repository": re.compile(r"[\w.-]+/[\w.-]+"),
    "commit": re.compile(r"[0-9A-Fa-f]{7,64}"),
}

_BEYOND_ASCII = re.compile(r"[^\t\n -~]+")


class Document(FrozenStruct):
    """A rendered report in parts, so that a long one need not be in memory at once.

    It is a file that the user named with -o, or an input of the action; its subclasses go elsewhere, each with one kind of text.
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
    """A file that programs read, as an encoder wrote it. A character that a terminal would not show is escaped as in JSON."""
    return Document(map(_escape_part, parts))


def _escape_part(part: str) -> Escaped:
    if not part.replace("\n", "").isprintable():  # most are, and the pattern takes its time
        part = _BEYOND_ASCII.sub(_escape_invisible, part)
    return Escaped(part)


def _escape_invisible(found: re.Match[str]) -> str:
    if found[0].isprintable():
        return found[0]
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in found[0])


class Links(FrozenStruct):
    """Where a report points to, and what tells it from others on the same pull request; all empty outside GitHub.

    ``holds`` says whether a file, by its name in messages, is there to be annotated.
    """

    server: str = ""  # https://github.com
    repository: str = ""  # owner/name
    commit: str = ""  # the head commit of the pull request
    run: str = ""  # address of the workflow run
    page: str = ""  # where the HTML report can be fetched, where one is written
    key: str = ""  # of the gate: the input `comment-key`, else its job
    results: str = ""  # the name of the file with all results, where one is written
    holds: Callable[[str], bool] = bool  # any file that has a name

    @property
    def head(self) -> str:
        """Address of the commit, or an empty string."""
        there = self.server and self.repository and self.commit
        return f"{self.server}/{self.repository}/commit/{self.commit}" if there else ""

    @classmethod
    def of(cls, said: NamedTexts) -> Links:
        """Those of a results.json; none where that is no address on one server, since anybody may have written the file."""
        known = {name: said.get(name, "") for name in ("server", "repository", "commit", "run")}
        if not all(form.fullmatch(known[name]) for name, form in _FORMS.items()):
            return cls()
        home = f"{known['server']}/{known['repository']}/"
        run = known["run"] if known["run"].startswith(home) else ""
        return cls(known["server"], known["repository"], known["commit"], run)

    @property
    def kept(self) -> dict[str, str]:
        """What results.json keeps of them, so that a page made of it later can lead there."""
        known = {
            "server": self.server,
            "repository": self.repository,
            "commit": self.commit,
            "run": self.run,
        }
        return {name: text for name, text in known.items() if text} if self.repository else {}

    def line(self, file: str, line: int) -> str:
        """Address of a line at the commit, or an empty string."""
        if not (self.server and self.repository and self.commit and file):
            return ""
        place = (
            f"{self.server}/{self.repository}/blob/{self.commit}/{quote(file, errors='replace')}"
        )
        return place + (f"#L{line}" if line else "")


class Report(FrozenStruct):
    """A plug-in of ``reports/``: ``suffix`` is what ``-o`` recognises, empty for reports that go elsewhere."""

    name: str
    suffix: str
    render: Callable[[Decision, Links], Document]


REPORTS: Registry[Report] = Registry("report", "gradegate.reports")
