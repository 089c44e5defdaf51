"""Text for people in the log of a step: what did not pass, the rules, and the verdict as the last line."""

from gradegate.reports.delivery.report import REPORTS, Console, Links, Report
from gradegate.reports.format.console import LOG, console_lines
from gradegate.reports.format.escape import harmless
from gradegate.results.run_result import Decision


def render(decision: Decision, links: Links) -> Console:
    """Render the text, with every line harmless to a runner."""
    return Console(
        harmless(line.head + line.text + "\n") for line in console_lines(decision, LOG, links)
    )


REPORTS.register("console")(Report("console", "", render))
