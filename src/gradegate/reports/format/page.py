"""The Markdown page that the pull request comment and the job summary share (``templates/comment.md``).

What decides is in sight, the rest is folded. The parts are rendered in the order of their worth, and each gets the room that is
left. Cases that do not fit are left out, and the page says how many. *Room* is a length in the unit of the page: characters for
the comment, bytes for the summary.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from gradegate.reports.delivery.report import Links
from gradegate.reports.format.agent_cases import agent_cases
from gradegate.reports.format.escape import clip, visible
from gradegate.reports.format.markdown import (
    MARKDOWN,
    NOTHING,
    Markdown,
    Measure,
    Render,
    details,
    fence,
    fit,
    paragraphs,
    tidy,
)
from gradegate.reports.view.case import is_fixed
from gradegate.reports.view.findings import (
    Effect,
    Finding,
    count_cases,
    findings_to_read,
    iterate_cases,
    merge_similar,
)
from gradegate.reports.view.wording import OUTCOME_HEADINGS, visible_names
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision
from gradegate.structs import FrozenStruct, replace

_MOST_OPEN = 12  # cases in sight; of more, similar ones are one line, and the rest is folded
_RESERVE = 900  # for folds, and for the sentences that say what was left out
_NAMES_SHARE = 8  # the names of a case's further assertions get an eighth of the page
_SHORT = 400  # characters of a text in sight
_WIDTH = 88  # characters that fit into a comment on GitHub without scrolling
_LABEL = 10  # characters of a label and its gap


class PageForm(FrozenStruct):
    """How long a page may be, in which unit, and whether it lists the cases that passed."""

    limit: int
    measure: Measure
    all_cases: bool

    def fit(
        self, render: Render, items: Iterable[Any], share: int, header: str = ""
    ) -> list[Markdown]:
        """Render the first items that fit, with their header, into the ``share``-th part of a page.

        ``render`` is a macro for one item.
        """
        room = self.limit // share - self.measure(header)
        return fit(map(render, items), room, self.measure)

    def fit_notes(
        self, render: Render, render_rest: Render, notes: Sequence[Any]
    ) -> list[Markdown]:
        """Render a line for each note that fits, and a line for the number of the others."""
        lines = self.fit(render, notes, 12)
        left = len(notes) - len(lines)
        return [*lines, render_rest(left)] if left else lines


def render_page(decision: Decision, links: Links, form: PageForm) -> Markdown:
    """Render the page of a decision. Each part gets the room that those before it leave."""
    page = _Page.from_decision(decision, links, form)
    head = tidy(page.render("head"))
    foot = tidy(page.render("foot"))
    room = form.limit - form.measure(head + foot) - _RESERVE

    # A line for each case is worth more than all else.
    cases = page.fit_case_table(room * 4 // 5)
    room -= form.measure(cases)

    agent_room = min(room // 2, form.limit // 5)
    agents = agent_cases(decision, agent_room, form.measure, short=True)
    agents = details("For coding agents", agents)
    room -= form.measure(agents)

    evidence = page.fit_evidence(room)
    room -= form.measure(evidence)
    all_cases = NOTHING
    if form.all_cases and decision.run.rows:
        all_cases = page.fit_all_cases(room)
    return paragraphs(head, cases, evidence, all_cases, agents, foot)


def render_mistakes(reason: str, text: str, links: Links) -> Markdown:
    """Render a page without a decision, because the config is wrong. ``text`` has anybody's lines, which become a block."""
    outcome = "mistake"
    render = MARKDOWN.macros("opening.md")
    links = replace(links, page="")
    opening = render("opening", outcome, OUTCOME_HEADINGS[outcome].words, "", links)
    return paragraphs(opening, reason, fence(text) if text else "")


# --- the parts of a page ------------------------------------------------------------------------------------------------


class Widths(FrozenStruct):
    """Characters in the line of a case: for the answer, the reason, and the names of further assertions."""

    got: int
    why: int
    names: int


class Scope(FrozenStruct):
    """Which of these a page must name, because there are several."""

    suites: bool
    providers: bool
    prompts: bool

    @classmethod
    def from_rows(cls, rows: Sequence[Row]) -> "Scope":
        """What the rows have several of."""
        return cls(
            len({row.suite for row in rows}) > 1,
            len({row.provider for row in rows}) > 1,
            len({row.prompt_label for row in rows}) > 1,
        )


class _Page(FrozenStruct):
    """A page in the making: what it shows, and what renders its parts."""

    decision: Decision
    form: PageForm
    groups: Mapping[Effect, Sequence[Finding]]  # what did not pass
    render: Render  # a macro of templates/comment.md
    render_case: Render  # a macro of templates/case.md

    @classmethod
    def from_decision(cls, decision: Decision, links: Links, form: PageForm) -> "_Page":
        """The page of a decision before any part is rendered."""
        groups = findings_to_read(decision)
        if sum(map(len, groups.values())) > _MOST_OPEN:
            groups = {effect: merge_similar(findings) for effect, findings in groups.items()}

        rows = iterate_cases(decision.run.rows) if decision.run.baseline else []
        fixed = [row for _, row in rows if is_fixed(row)]
        scope = Scope.from_rows(decision.run.rows)
        render = MARKDOWN.macros(
            "comment.md",
            decision=decision,
            links=links,
            scope=scope,
            fixed=visible_names(fixed),
            fit=form.fit,
            fit_notes=form.fit_notes,
        )
        render_case = MARKDOWN.macros("case.md", links=links, scope=scope, wrap_facts=_wrap_facts)
        return cls(decision, form, groups, render, render_case)

    def fit_case_table(self, room: int) -> Markdown:
        """Render a table with a line for each case. If not all lines fit, they get shorter before any is left out."""
        for widths in (Widths(65, 100, self.form.limit // _NAMES_SHARE), Widths(40, 60, 100)):
            shown: list[Markdown] = []
            folded: list[Markdown] = []
            left = 0
            room_of_lines = room
            for findings in self.groups.values():
                lines = self._fit_cases("case_line", findings, room_of_lines, widths)
                room_of_lines -= sum(map(self.form.measure, lines))
                left += count_cases(findings[len(lines) :])

                # Of each effect something is in sight.
                most_shown = max(1, _MOST_OPEN - len(shown + folded))
                shown += lines[:most_shown]
                folded += lines[most_shown:]
            if not left:
                break
        return tidy(self.render("case_table", shown, folded, left))

    def fit_evidence(self, room: int) -> Markdown:
        """Render what was expected, what came and why, for as many cases as fit. Long texts are added if all cases fit."""
        findings = list(chain.from_iterable(self.groups.values()))
        room -= self.form.measure(details("x" * 80, fence("")))
        names = self.form.limit // _NAMES_SHARE
        for with_texts in (True, False):
            blocks = self._fit_cases("case_block", findings, room, with_texts, names)
            if len(blocks) == len(findings):
                break
        shown = count_cases(findings[: len(blocks)])
        return paragraphs(self.render("evidence", blocks, shown, count_cases(findings)))

    def _fit_cases(
        self, macro: str, findings: Sequence[Finding], room: int, *arguments: object
    ) -> list[Markdown]:
        """Render a macro for the first findings that fit."""
        rendered = (self.render_case(macro, finding, *arguments) for finding in findings)
        return fit(rendered, room, self.form.measure)

    def fit_all_cases(self, room: int) -> Markdown:
        """Render a table with as many cases as fit, passed ones included."""
        rows = [row for _, row in iterate_cases(self.decision.run.rows)]
        room -= self.form.measure(self.render("all_cases_header"))
        rendered = (self.render("all_cases_line", row) for row in rows)
        lines = fit(rendered, room, self.form.measure)
        return tidy(self.render("all_cases", lines, len(rows) - len(lines)))


def _wrap_facts(facts: Iterable[tuple[str, str]]) -> Markdown:
    """Labels and texts in a block of code that needs no scrolling. Empty texts are left out."""
    lines = []
    for label, text in facts:
        if not text:
            continue
        margin = label.ljust(_LABEL)
        for line in visible(clip(text.strip(), _SHORT)).split("\n"):
            for part in textwrap.wrap(line, _WIDTH - _LABEL) or [""]:
                lines.append(margin + part if part.strip() else part)
                margin = " " * _LABEL  # the label is only on the first line
    return fence("\n".join(lines))
