"""The page for a browser: all that reports show, in one file that loads nothing from elsewhere."""

from collections import Counter
from collections.abc import Iterator

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report
from gradegate.reports.format.charts import (
    find_filters,
    metric_scores,
    outcome_chart,
    stream_page,
)
from gradegate.reports.format.escape import join_nonempty
from gradegate.reports.view.case import CaseView, failure_status, is_fixed, view_case
from gradegate.reports.view.findings import Effect, Finding, group_by_effect
from gradegate.results.run_result import Decision
from gradegate.structs import FrozenStruct

MOST_CASES = 2000  # of one effect; browsers become slow with many more
_MOST_MARKED = 300  # cases of one effect with marked words, as people read the first ones


class Section(FrozenStruct):
    """The cases of one effect: all findings, and the views of those on the page."""

    effect: Effect
    findings: list[Finding]
    cases: Iterator[CaseView]
    opened: bool  # whether the first case is unfolded

    @property
    def left(self) -> int:
        """How many cases are not on the page."""
        return max(0, len(self.findings) - MOST_CASES)


def render(decision: Decision, links: Links) -> Document:
    """Render the page in parts."""
    run = decision.run
    sections = _sections(decision)
    files = dict.fromkeys(row.suite for row in run.rows) or run.made.configs
    parts = stream_page(
        "report.html",
        decision=decision,
        configs=[join_nonempty(" – ", run.made.titles.get(file), file) for file in files],
        counted=Counter,
        sections=sections,
        filters=find_filters(run.rows, decision.rules),
        metrics=metric_scores(run.rows),
        outcome_chart=outcome_chart,
        status_choice=_status_choice,
        links=links,
        line=lambda origin: links.line(origin.file, origin.line),
    )
    return Document(parts)


def _sections(decision: Decision) -> list[Section]:
    """A section for each effect that a case has. The first case is unfolded, unless all passed."""
    sections: list[Section] = []
    for effect, findings in group_by_effect(decision).items():
        if findings:
            # Each view is made when the page comes to it, so that memory never has all of them.
            views = (
                view_case(finding, mark_words=number < _MOST_MARKED)
                for number, finding in enumerate(findings[:MOST_CASES])
            )
            is_open = not sections and effect is not Effect.NONE
            sections.append(Section(effect, findings, views, is_open))
    return sections


def _status_choice(view: CaseView) -> str:
    """By which status the filter of the page finds a case: ``new``, ``known``, ``fixed`` or none."""
    return "fixed" if is_fixed(view.row) else failure_status(view.row).partition(",")[0]


REPORTS.register("html")(Report("html", ".html", render))
