"""results.json: everything about a run, for programs, one line per case."""

from gradegate.reports.delivery.report import (
    REPORTS,
    Document,
    Links,
    Report,
    data_file,
    list_parts,
)
from gradegate.results.encoding import encode
from gradegate.results.run_result import Decision
from gradegate.results.shape import Head


def render(decision: Decision, links: Links) -> Document:
    """Render the results in parts of one case each."""
    head = encode(Head.from_decision(decision, links.for_results))
    # The list of cases is put into the head before its last brace.
    return data_file(list_parts(head[:-1] + ',"cases":[', map(encode, decision.run.rows)))


REPORTS.register("json")(Report("json", ".json", render))
