"""A page for a browser: everything in one file, without scripts and without anything from elsewhere."""

from __future__ import annotations

from gradegate.reporting import metrics, wording
from gradegate.reporting.browser import filled
from gradegate.reporting.findings import Finding, kind, sort
from gradegate.reporting.provenance import provenance
from gradegate.reporting.report import REPORTS, Document, Links, Report, Sink
from gradegate.reporting.saved import saved
from gradegate.result import Decision

_MOST = 2000  # cases of one kind; a browser does not bear many more
_MOST_METRICS = 2000


def render(decision: Decision, links: Links) -> Document:
    """The page in parts."""
    parts = filled(
        "report.html",
        decision=decision,
        sections=_sections(decision),
        several=len({result.rule.suite for result in decision.rules}) > 1,
        words=wording,
        metrics=metrics,
        most_metrics=_MOST_METRICS,
        saved=saved,
        provenance=provenance,
        links=links,
        line=lambda origin: links.line(origin.file, origin.line),
    )
    return Document(Sink.FILE, parts)


def _sections(decision: Decision) -> list[tuple[str, str, int, list[Finding]]]:
    findings = sort(decision.run.rows)
    unclear = [row for finding in findings.unclear for row in (finding.row, *finding.alike)]
    lists = (
        ("fail", "Failed", [finding.row for finding in findings.failed]),
        ("error", "Could not tell", unclear),
        ("advisory", "Failed on the base, too", [finding.row for finding in findings.known]),
        ("advisory", "Advisory", [finding.row for finding in findings.advisory]),
        ("pass", "Passed", [row for row in decision.run.rows if kind(row) is None]),
    )
    return [(which, title, len(rows), [Finding(row) for row in rows[:_MOST]]) for which, title, rows in lists]


REPORTS.register("html")(Report("html", Sink.FILE, ".html", "a page for a browser, in one file", render, "html-path"))
