"""The job summary: the comment's material with more room, and a table of all cases."""

from gradegate.reports.delivery.report import REPORTS, Links, Report, Summary
from gradegate.reports.format.markdown import utf8_length
from gradegate.reports.format.page import PageForm, render_page
from gradegate.results.run_result import Decision

# The runner drops a summary of more than 1 MiB altogether; other lines may join it in the same step.
_FORM = PageForm(limit=1_000_000, measure=utf8_length, all_cases=True)


def render(decision: Decision, links: Links) -> Summary:
    """Render the summary in one part."""
    return Summary((render_page(decision, links, _FORM),))


REPORTS.register("summary")(Report("summary", "", render))
