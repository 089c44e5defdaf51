"""The Markdown page that the pull request comment and the job summary share: what decides in sight, the rest folded.

``templates/comment.md`` is the page. Here its parts are rendered by their worth, and cases are left out that do not fit.
"""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gradegate.reports.delivery.report import Links
from gradegate.reports.format.agent_cases import agent_cases
from gradegate.reports.format.escape import clip, visible
from gradegate.reports.format.markdown import (
    MARKDOWN,
    NOTHING,
    Markdown,
    details,
    fence,
    fit,
    paragraphs,
    tidy,
)
from gradegate.reports.view import wording
from gradegate.reports.view.case import is_fixed
from gradegate.reports.view.findings import Effect, Finding, count_cases, merged, sort, told
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision
from gradegate.structs import FrozenStruct, replace

_OPEN = (
    12  # cases that are in sight; of more, those of one reason are one row, and the rest is folded
)
_RESERVE = 900  # for the sentences that say what was left out, and for folds
_NAMES = 8  # of a page: its part that the names of a case's further assertions may take
_SHORT = 400  # characters of a text in sight
_WIDTH = 88  # what fits a comment on GitHub without scrolling
_LABEL = 10  # characters


class PageForm(FrozenStruct):
    """How long a page may be, in what unit, and whether it lists the cases that passed."""

    limit: int
    measure: Callable[[str], int]
    all_cases: bool

    def fit(
        self, render: Callable[[Any], Markdown], items: Iterable[Any], share: int, header: str = ""
    ) -> list[Markdown]:
        """The first items, rendered, that fit behind a header into such a part of a page."""
        room = self.limit // share - self.measure(header)
        return fit(map(render, items), room, self.measure)

    def fit_notes(
        self,
        render: Callable[[Any], Markdown],
        render_rest: Callable[[int], Markdown],
        notes: Sequence[Any],
    ) -> list[Markdown]:
        """A line for each note that there is room for, and one for how many there are besides."""
        lines = self.fit(render, notes, 12)
        left = len(notes) - len(lines)
        return [*lines, render_rest(left)] if left else lines


class Widths(FrozenStruct):
    """Characters in the line of a case: of what came, of why, and of the names of further assertions."""

    got: int
    why: int
    names: int


class Scope(FrozenStruct):
    """What has to be named because there are several of it."""

    suites: bool
    providers: bool
    prompts: bool

    @classmethod
    def from_rows(cls, rows: Iterable[Row]) -> "Scope":
        """Of these rows."""
        rows = list(rows)
        return cls(
            len({row.suite for row in rows}) > 1,
            len({row.provider for row in rows}) > 1,
            len({row.prompt_label for row in rows}) > 1,
        )


class CaseLines(FrozenStruct):
    """The lines of the table of cases: in sight and folded, and how many cases there was no room for."""

    shown: list[Markdown]
    folded: list[Markdown]
    left: int


def page(decision: Decision, links: Links, form: PageForm) -> Markdown:
    """The page; what does not fit is left out by whole cases, and the page says so."""
    run = decision.run
    scope = Scope.from_rows(run.rows)
    render = _macros(decision, links, form, scope)
    render_case = MARKDOWN.macros("case.md", links=links, scope=scope, wrap_facts=_wrap_facts)
    head, foot = tidy(render("head")), tidy(render("foot"))
    room = form.limit - form.measure(head + foot) - _RESERVE
    groups = sort(decision)
    if sum(map(len, groups.values())) > _OPEN:
        groups = {effect: merged(listed) for effect, listed in groups.items()}

    # A line for each case is worth more than all else, and a shorter one where they would not fit.
    for widths in (Widths(65, 100, form.limit // _NAMES), Widths(40, 60, 100)):
        lines = _fit_cases(groups, render_case, form, room * 4 // 5, widths)
        if not lines.left:
            break
    cases = tidy(render("case_table", lines.shown, lines.folded, lines.left))
    room -= form.measure(cases)
    agents = details(
        "For coding agents",
        agent_cases(decision, min(room // 2, form.limit // 5), form.measure, short=True),
    )
    evidence = _evidence(groups, render, render_case, form, room - form.measure(agents))
    room -= form.measure(agents + evidence)
    all_cases = NOTHING
    if form.all_cases and run.rows:
        all_cases = _all_cases(decision, render, form, room)
    return paragraphs(head, cases, evidence, all_cases, agents, foot)


def _macros(
    decision: Decision, links: Links, form: PageForm, scope: Scope
) -> Callable[..., Markdown]:
    """Renders a part of the page by its name."""
    run = decision.run
    worse, other = decision.changes.parts
    fixed = [row for _, row in told(run.rows) if is_fixed(row)] if run.baseline else []
    return MARKDOWN.macros(
        "comment.md",
        decision=decision,
        run=run,
        links=links,
        scope=scope,
        worse=worse,
        other=other,
        fixed=wording.names(fixed),
        fit=form.fit,
        fit_notes=form.fit_notes,
    )


def bare(outcome: str, reason: str, text: str, links: Links) -> Markdown:
    """A page without a decision: ``outcome`` is a key of ``wording.HEADS``, ``text`` anybody's lines."""
    render = MARKDOWN.macros("opening.md")
    opening = render("opening", outcome, wording.HEADS[outcome].words, "", replace(links, page=""))
    return paragraphs(opening, reason, fence(text) if text else "")


# --- the cases ------------------------------------------------------------------------------------------------


def _fit_cases(
    groups: Mapping[Effect, Sequence[Finding]],
    render_case: Callable[..., Markdown],
    form: PageForm,
    room: int,
    widths: Widths,
) -> CaseLines:
    shown: list[Markdown] = []
    folded: list[Markdown] = []
    left = 0
    in_sight = _OPEN
    for findings in groups.values():
        rendered = (render_case("case_line", finding, widths) for finding in findings)
        lines = fit(rendered, room, form.measure)
        room -= sum(map(form.measure, lines))
        left += count_cases(findings[len(lines) :])
        shown += lines[:in_sight]
        folded += lines[in_sight:]
        in_sight = max(1, in_sight - len(lines))  # of each group something is in sight
    return CaseLines(shown, folded, left)


def _evidence(
    groups: Mapping[Effect, Sequence[Finding]],
    render: Callable[..., Markdown],
    render_case: Callable[..., Markdown],
    form: PageForm,
    room: int,
) -> Markdown:
    """What was expected, what came and why, of as many cases as there is room for, with the evidence where it fits."""
    findings = [finding for listed in groups.values() for finding in listed]
    room -= form.measure(details("x" * 80, fence("")))
    for folded in (True, False):
        rendered = (
            render_case("case_block", finding, folded, form.limit // _NAMES) for finding in findings
        )
        blocks = fit(rendered, room, form.measure)
        if len(blocks) == len(findings):  # more cases are worth more than the evidence of some
            break
    shown = count_cases(findings[: len(blocks)])
    return paragraphs(render("evidence", blocks, shown, count_cases(findings)))


def _wrap_facts(facts: Iterable[tuple[str, str]]) -> Markdown:
    """Texts in a block of code beside their labels, as wide as is seen without scrolling; empty ones are left out."""
    texts = []
    for label, text in facts:
        if text:
            lines = visible(clip(text.strip(), _SHORT)).split("\n")
            wrapped = [
                part for line in lines for part in textwrap.wrap(line, _WIDTH - _LABEL) or [""]
            ]
            indented = textwrap.indent("\n".join(wrapped), " " * _LABEL)
            texts.append(indented.replace(" " * _LABEL, label.ljust(_LABEL), 1))
    return fence("\n".join(texts))


def _all_cases(
    decision: Decision, render: Callable[..., Markdown], form: PageForm, room: int
) -> Markdown:
    rows = [row for _, row in told(decision.run.rows)]
    room -= form.measure(render("all_cases_header"))
    lines = fit((render("all_cases_line", row) for row in rows), room, form.measure)
    return tidy(render("all_cases", lines, len(rows) - len(lines)))
