"""For coding agents: the failing cases in plain Markdown, with the commands that ask them again."""

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report
from gradegate.reports.format.escape import join_nonempty, one_line
from gradegate.reports.format.markdown import fence, paragraphs, utf16
from gradegate.reports.format.markdown_case import told
from gradegate.reports.format.page import opening
from gradegate.reports.view.wording import compared, headline, in_short, tally
from gradegate.results.run_result import Decision
from gradegate.structs import replace

_LIMIT = 60_000  # characters: some 15,000 tokens


def render(decision: Decision, links: Links) -> Document:
    """The file in one part."""
    # Neither the name of a config nor a reason is said outside of a block: both may be a stranger's.
    made, short = decision.run.made, in_short(decision)
    first = opening(
        decision.outcome.value,
        headline(decision),
        replace(links, key=""),
        commit=made.commit,
        what=short,
    )
    said = f"{join_nonempty('. ', tally(decision), compared(decision.run.baseline))}."
    head = paragraphs(first, said, fence(one_line(decision.reason, 600)))
    return Document((paragraphs(head, told(decision, _LIMIT - utf16(head) - 200, utf16)),))


REPORTS.register("agent")(Report("agent", ".agent.md", render))
