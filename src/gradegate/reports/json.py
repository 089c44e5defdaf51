"""results.json: everything about a run, for programs, one line per case."""

from collections.abc import Iterator

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report, data_file
from gradegate.results.encoding import encode
from gradegate.results.run_result import Decision
from gradegate.results.shape import Head


def render(decision: Decision, links: Links) -> Document:
    """Render the results in parts of one case each."""
    return data_file(_render_parts(decision, links))


def _render_parts(decision: Decision, links: Links) -> Iterator[str]:
    # The list of cases is put into the head before its last brace.
    yield encode(Head.from_decision(decision, links.for_results))[:-1] + ',"cases":['
    separator = "\n"
    for row in decision.run.rows:
        yield separator + encode(row)
        separator = ",\n"
    yield "\n]}\n"


REPORTS.register("json")(Report("json", ".json", render))
