"""The cases that did not pass, for a coding agent: as many as there is room for (``templates/agent.md``)."""

from itertools import chain

from gradegate.core.numbers import format_count
from gradegate.reports.format.escape import one_line
from gradegate.reports.format.markdown import (
    MARKDOWN,
    NOTHING,
    Markdown,
    Measure,
    fit,
    paragraphs,
)
from gradegate.reports.format.plain import PLAIN
from gradegate.reports.format.rerun import rerun_command
from gradegate.reports.view.findings import Effect, count_cases, findings_to_read
from gradegate.reports.view.wording import assertion_outcomes, visible_name
from gradegate.results.run_result import Decision

_TEXT = 600  # characters of one text
_SHORT_TEXT = 200


def agent_cases(decision: Decision, room: int, measure: Measure, short: bool = False) -> Markdown:
    """Render the cases that fit: those that block, then errors, then advice. ``short``: with shorter texts.

    Empty if there is no such case, or no room for any.
    """
    groups = findings_to_read(decision)
    failed_once = groups.pop(Effect.ONCE)
    findings = list(chain.from_iterable(groups.values()))
    if not findings and not failed_once:
        return NOTHING
    render = MARKDOWN.macros(
        "agent.md",
        rerun_command=rerun_command,
        made=decision.run.made,
        render_facts=PLAIN.macros("case.txt"),
    )

    # A case that failed once may be good, so it is only named with its assertions.
    lines = []
    for finding in failed_once:
        outcomes = assertion_outcomes(finding.grades, room // 16)
        lines.append(f"{visible_name(finding.row)}: {outcomes}\n")
    lines = fit(lines, room // 4, measure)
    if len(lines) < len(failed_once):
        lines.append(format_count(len(failed_once) - len(lines), "more case"))

    keys = dict.fromkeys(one_line(use.name, 50) for use in decision.run.keys[:10])
    head = paragraphs(render("cases_head", ", ".join(keys), "".join(lines).rstrip()))

    # If not all cases fit, the names of their further assertions get less room.
    limit = _SHORT_TEXT if short else _TEXT
    for names in (room // 2, 100):
        rendered = (paragraphs(render("case", finding, limit, names)) for finding in findings)
        parts = fit(rendered, room - measure(head), measure)
        if len(parts) == len(findings):
            break
    if not parts and not (failed_once and measure(head) <= room):
        return NOTHING
    left = count_cases(findings[len(parts) :])
    return paragraphs(head, *parts, render("cases_left", left))
