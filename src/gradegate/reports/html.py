"""A page for a browser: everything in one file, without scripts and without anything from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from gradegate.figures import many, spent
from gradegate.reporting import wording
from gradegate.reporting.findings import Finding, kind, sort
from gradegate.reporting.plain import outline, spread
from gradegate.reporting.report import REPORTS, Document, Links, Report, Sink
from gradegate.reporting.saved import saved
from gradegate.reporting.visible import clip, visible
from gradegate.result import Decision

_TEXT = 20_000  # characters of one text
_MOST = 2000  # cases of one kind; a browser does not bear many more
_CHUNK = 100  # pieces of the template that are handed on together


def render(decision: Decision, links: Links) -> Document:
    """The page in parts."""
    folder = files("gradegate.reporting") / "templates"
    style = (folder / "report.css").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"shown": _shown, "many": many, "spent": spent, "spread": spread, "outline": outline}
    stream = environment.from_string((folder / "report.html").read_text(encoding="utf-8")).stream(
        decision=decision,
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        sections=_sections(decision),
        several=len({result.rule.suite for result in decision.rules}) > 1,
        words=wording,
        saved=saved,
        links=links,
        line=lambda origin: links.line(origin.file, origin.line),
    )
    stream.enable_buffering(_CHUNK)
    return Document(Sink.FILE, stream)


def _sections(decision: Decision) -> list[tuple[str, str, int, list[Finding]]]:
    findings = sort(decision.run.rows)
    unclear = [row for finding in findings.unclear for row in (finding.row, *finding.alike)]
    lists = (
        ("fail", "Failed", [finding.row for finding in findings.failed]),
        ("error", "Could not tell", unclear),
        ("advisory", "Advisory", [finding.row for finding in findings.advisory]),
        ("pass", "Passed", [row for row in decision.run.rows if kind(row) is None]),
    )
    return [(which, title, len(rows), [Finding(row) for row in rows[:_MOST]]) for which, title, rows in lists]


def _shown(value: Any) -> str:
    return visible(clip("" if value is None else str(value), _TEXT))


REPORTS.register("html")(Report("html", Sink.FILE, ".html", "a page for a browser, in one file", render, "html-path"))
