"""results.json: everything that the run found, for programs; one line per case."""

from collections.abc import Iterator

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report, data_file
from gradegate.results.encoding import encode
from gradegate.results.run_result import Decision
from gradegate.results.shape import Head


def render(decision: Decision, links: Links) -> Document:
    """The results in parts of one case each."""
    return data_file(_parts(decision, links))


def _parts(decision: Decision, links: Links) -> Iterator[str]:
    # The head is an object that the list of cases is put into before its last brace.
    yield encode(Head.from_decision(decision, links.kept))[:-1] + ',"cases":['
    separator = "\n"
    for row in decision.run.rows:
        yield separator + encode(row)
        separator = ",\n"
    yield "\n]}\n"


REPORTS.register("json")(Report("json", ".json", render))
