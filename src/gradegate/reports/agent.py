"""For coding agents: the failing cases in plain Markdown, with the commands that ask them again."""

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report
from gradegate.reports.format.agent_cases import agent_cases
from gradegate.reports.format.markdown import MARKDOWN, paragraphs, tidy, utf16
from gradegate.results.run_result import Decision
from gradegate.structs import replace

_LIMIT = 60_000  # characters: some 15,000 tokens


def render(decision: Decision, links: Links) -> Document:
    """The file in one part."""
    # Not even the key of the gate is said outside of a block: it may be a stranger's.
    render_part = MARKDOWN.macros("agent.md", decision=decision, links=replace(links, key=""))
    head = tidy(render_part("head"))
    cases = agent_cases(decision, _LIMIT - utf16(head) - 200, utf16)
    return Document((paragraphs(head, cases),))


REPORTS.register("agent")(Report("agent", ".agent.md", render))
