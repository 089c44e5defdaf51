"""The cases that did not pass for a coding agent, as many as there is room for: ``templates/agent.md`` shows them."""

from collections.abc import Callable

from gradegate.core.numbers import format_count
from gradegate.reports.format.escape import one_line
from gradegate.reports.format.markdown import MARKDOWN, NOTHING, Markdown, fit, paragraphs
from gradegate.reports.format.plain import PLAIN
from gradegate.reports.format.rerun import command
from gradegate.reports.view import wording
from gradegate.reports.view.findings import Effect, count_cases, sort
from gradegate.results.run_result import Decision

_TEXT, _SHORT_TEXT = 600, 200  # characters of one text


def agent_cases(
    decision: Decision, room: int, measure: Callable[[str], int], short: bool = False
) -> Markdown:
    """The cases that block, then errors, then advice.

    A case that failed once is named with its assertions and no more: it may well be good.
    """
    groups = sort(decision)
    once = groups.pop(Effect.ONCE)
    findings = [finding for listed in groups.values() for finding in listed]
    if not findings and not once:
        return NOTHING
    run = decision.run
    render = MARKDOWN.macros(
        "agent.md", command=command, made=run.made, render_facts=PLAIN.macros("case.txt")
    )

    lines = fit(
        (f"{wording.name(it.row)}: {wording.named(it.grades, room // 16)}\n" for it in once),
        room // 4,
        measure,
    )
    if len(lines) < len(once):
        lines.append(f"{format_count(len(once) - len(lines), 'more case')}")
    keys = dict.fromkeys(one_line(use.name, 50) for use in run.keys[:10])
    head = paragraphs(render("cases_head", ", ".join(keys), "".join(lines).rstrip()))

    limit = _SHORT_TEXT if short else _TEXT
    # A case with many assertions must not hide those behind it.
    for names in (room // 2, 100):
        rendered = (paragraphs(render("case", finding, limit, names)) for finding in findings)
        parts = fit(rendered, room - measure(head), measure)
        if len(parts) == len(findings):
            break
    if not parts and not (once and measure(head) <= room):
        return NOTHING
    left = count_cases(findings[len(parts) :])
    return paragraphs(head, *parts, render("cases_left", left))
