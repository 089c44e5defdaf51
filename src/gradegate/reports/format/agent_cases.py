"""The cases that did not pass, for a coding agent: as many as there is room for (``templates/agent.md``)."""

from collections.abc import Callable

from gradegate.core.numbers import format_count
from gradegate.reports.format.escape import one_line
from gradegate.reports.format.markdown import MARKDOWN, NOTHING, Markdown, fit, paragraphs
from gradegate.reports.format.plain import PLAIN
from gradegate.reports.format.rerun import rerun_command
from gradegate.reports.view.findings import Effect, count_cases, findings_to_read
from gradegate.reports.view.wording import assertion_outcomes, visible_name
from gradegate.results.run_result import Decision

_TEXT, _SHORT_TEXT = 600, 200  # characters of one text


def agent_cases(
    decision: Decision, room: int, measure: Callable[[str], int], short: bool = False
) -> Markdown:
    """Render cases that block, then errors, then advice. ``short``: with shorter texts.

    A case that failed once may be good, so it is only named with its assertions.
    """
    groups = findings_to_read(decision)
    once = groups.pop(Effect.ONCE)
    findings = [finding for group in groups.values() for finding in group]
    if not findings and not once:
        return NOTHING
    run = decision.run
    render = MARKDOWN.macros(
        "agent.md",
        rerun_command=rerun_command,
        made=run.made,
        render_facts=PLAIN.macros("case.txt"),
    )

    lines = []
    for finding in once:
        outcomes = assertion_outcomes(finding.grades, room // 16)
        lines.append(f"{visible_name(finding.row)}: {outcomes}\n")
    lines = fit(lines, room // 4, measure)
    if len(lines) < len(once):
        lines.append(f"{format_count(len(once) - len(lines), 'more case')}")
    keys = dict.fromkeys(one_line(use.name, 50) for use in run.keys[:10])
    head = paragraphs(render("cases_head", ", ".join(keys), "".join(lines).rstrip()))

    limit = _SHORT_TEXT if short else _TEXT
    # If not all cases fit, the names of their further assertions get less room.
    for names in (room // 2, 100):
        rendered = (paragraphs(render("case", finding, limit, names)) for finding in findings)
        parts = fit(rendered, room - measure(head), measure)
        if len(parts) == len(findings):
            break
    if not parts and not (once and measure(head) <= room):
        return NOTHING
    left = count_cases(findings[len(parts) :])
    return paragraphs(head, *parts, render("cases_left", left))
