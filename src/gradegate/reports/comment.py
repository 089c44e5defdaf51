"""The comment on the pull request: what failed and why, within what GitHub accepts."""

from gradegate.reports.delivery.report import REPORTS, Comment, Links, Report
from gradegate.reports.format.markdown import utf16_length
from gradegate.reports.format.page import PageForm, render_page
from gradegate.results.run_result import Decision

# What people scroll through: GitHub would take 65,536 characters. With the marker of who posts it, at most 20,000.
_FORM = PageForm(limit=19_500, measure=utf16_length, all_cases=False)


def render(decision: Decision, links: Links) -> Comment:
    """Render the comment in one part."""
    return Comment((render_page(decision, links, _FORM),))


REPORTS.register("comment")(Report("comment", ".md", render))
