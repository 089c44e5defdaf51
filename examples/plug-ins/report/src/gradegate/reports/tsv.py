"""Tab-separated values: a line for each assertion, for spreadsheets."""

from collections.abc import Iterator

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report, data_file
from gradegate.reports.format.escape import one_line
from gradegate.results.run_result import Decision

HEAD = ("case", "provider", "assertion", "outcome", "reason")


def render(decision: Decision, links: Links) -> Document:
    """A head, then the assertions in the order of the plan."""
    return data_file(_lines(decision))


def _lines(decision: Decision) -> Iterator[str]:
    yield "\t".join(HEAD) + "\n"
    for row in decision.run.rows:
        for grade in row.grades:
            cells = (
                row.description,
                row.provider,
                grade.assertion.type,
                grade.outcome.value,
                grade.reason,
            )
            yield "\t".join(map(_cell, cells)) + "\n"


def _cell(text: str) -> str:
    """One line without tabs; a spreadsheet takes what begins like a formula for one."""
    plain = one_line(text, 500)
    return f"'{plain}" if plain.startswith(("=", "+", "-", "@")) else plain


REPORTS.register("tsv")(Report("tsv", ".tsv", render))
