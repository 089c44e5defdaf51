"""For coding agents: the failing cases in plain Markdown, with the commands that ask them again."""

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report
from gradegate.reports.format.agent_cases import agent_cases
from gradegate.reports.format.markdown import MARKDOWN, paragraphs, tidy, utf16_length
from gradegate.results.run_result import Decision
from gradegate.structs import replace

_LIMIT = 60_000  # characters: some 15,000 tokens


def render(decision: Decision, links: Links) -> Document:
    """Render the file in one part."""
    # The key of the gate may be a stranger's text, and would stand outside of a block.
    render_part = MARKDOWN.macros("agent.md", decision=decision, links=replace(links, key=""))
    head = tidy(render_part("head"))
    cases = agent_cases(decision, _LIMIT - utf16_length(head) - 200, utf16_length)
    return Document((paragraphs(head, cases),))


REPORTS.register("agent")(Report("agent", ".agent.md", render))
