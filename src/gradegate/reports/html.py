"""A page for a browser to work with: everything in one file, and nothing in it from elsewhere."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report
from gradegate.reports.format.charts import choices, filled, metric_scores, shares
from gradegate.reports.format.escape import join_nonempty
from gradegate.reports.view import wording
from gradegate.reports.view.case import CaseView, beside, is_fixed, view
from gradegate.reports.view.findings import Effect, effects
from gradegate.results.run_result import Decision
from gradegate.structs import FrozenStruct

_MOST = 2000  # cases of one kind; a browser does not bear many more
_COMPARED = 300  # cases of one kind of which the words are compared: the first ones are read


class Section(FrozenStruct):
    """One list of cases: how many there are, those that are shown, and how many are left out."""

    kind: str
    title: str
    number: int
    cases: Iterator[CaseView]
    left: int
    opened: bool  # its first case


def render(decision: Decision, links: Links) -> Document:
    """The page in parts."""
    sections = _sections(decision)
    parts = filled(
        "report.html",
        decision=decision,
        tested=_tested(decision),
        counted=Counter,
        sections=sections,
        left=sum(section.left for section in sections),
        choices=choices(decision.run.rows, decision.rules),
        metrics=metric_scores(decision.run.rows),
        shares=shares,
        beside=lambda case: (
            "fixed" if is_fixed(case.row) else beside(case.row).partition(",")[0]
        ),  # for the filter
        links=links,
        line=lambda origin: links.line(origin.file, origin.line),
    )
    return Document(parts)


def _sections(decision: Decision) -> list[Section]:
    """The lists with anything in them; of the first that is no list of passes, the first case is open."""
    found = {which: cases for which, cases in effects(decision).items() if cases}
    first = next(iter(found), Effect.NONE)
    return [
        Section(
            which.value,
            wording.EFFECTS[which].words,
            len(cases),
            # Each is made when the page comes to it, so that not all are in memory.
            (
                view(at + 1, it, compare=count < _COMPARED)
                for count, (at, it) in enumerate(islice(cases, _MOST))
            ),
            max(0, len(cases) - _MOST),
            which is first and which is not Effect.NONE,
        )
        for which, cases in found.items()
    ]


def _tested(decision: Decision) -> Iterator[tuple[str, list[str]]]:
    """What the gate asked, by label: configs with their descriptions, targets, graders."""
    run = decision.run
    files = dict.fromkeys([row.suite for row in run.rows] or run.made.configs)
    configs = [join_nonempty(" – ", run.made.titles.get(file), file) for file in files]
    targets, graders = (
        (row.provider for row in run.rows),
        (model.name for model in run.models if model.grades),
    )
    for label, names in (
        ("Config", configs),
        ("Target", [*dict.fromkeys(targets)]),
        ("Grader", [*dict.fromkeys(graders)]),
    ):
        yield f"{label}s" if len(names) > 1 else label, names


REPORTS.register("html")(Report("html", ".html", render))
