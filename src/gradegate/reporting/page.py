"""The Markdown page that the pull request comment and the job summary share: verdict first, evidence folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gradegate.account import DerivedMetric
from gradegate.changes import GateChange, GateChanges
from gradegate.figures import many, spent
from gradegate.reporting.findings import Findings, sort
from gradegate.reporting.markdown import code, details, fit, inline, link, table
from gradegate.reporting.markdown_case import Scope, block, several
from gradegate.reporting.metrics import worth
from gradegate.reporting.report import Links
from gradegate.reporting.saved import saved
from gradegate.reporting.wording import (
    SIGNS,
    changed,
    compared,
    cure,
    ended,
    headline,
    measured,
    name,
    no_model,
    notes,
    place,
    recorded,
    required,
    tally,
    titled,
    verdict,
    weight,
)
from gradegate.result import Decision, GateOutcome, Row, RuleResult
from gradegate.suite import Note

_OPEN = 10  # cases of one kind that are shown open; the rest is folded
_METRICS = 20  # values of derived metrics that are shown open
_RESERVE = 600  # for the sentences that say what was left out


@dataclass(frozen=True, slots=True)
class PageForm:
    """How long a page may be, in what unit, and whether it lists the cases that passed."""

    limit: int
    measure: Callable[[str], int]
    all_cases: bool


def page(decision: Decision, links: Links, form: PageForm) -> str:
    """The page; what does not fit is left out by whole cases, and the page says so."""
    scope = several(decision.run.rows, links)
    head, foot = _head(decision, scope, form), _foot(decision, scope, form)
    room = form.limit - form.measure(head + foot) - _RESERVE
    findings = sort(decision.run.rows)
    body = _body(findings, scope, form, room, folded=True)
    if body.left:  # the names of all failing cases are worth more than the evidence of some
        body = _body(findings, scope, form, room, folded=False)
    rest = _all_cases(decision.run.rows, scope, form, room - form.measure(body.text)) if form.all_cases else ""
    return head + body.text + _missing(body.left, links) + rest + foot


# --- the verdict ----------------------------------------------------------------------------------------------


def _head(decision: Decision, scope: Scope, form: PageForm) -> str:
    changes = _changes(decision.changes, scope, form) if decision.changes.found else ""
    lines = [f"### {SIGNS[decision.outcome]} gradegate: {headline(decision).lower()}\n\n"]
    lines += [changes] if decision.changes.weakened else []
    beside = inline(compared(decision.run.baseline), 400)
    lines += [f"{inline(decision.reason, 600)}\n\n{tally(decision)}.{f'<br>{beside}.' if beside else ''}\n\n"]
    lines += [] if decision.changes.weakened else [changes]
    if decision.run.interrupted:
        lines += [f"**The run stopped early:** {inline(decision.run.interrupted, 300)}\n\n"]
    unasked = no_model(decision.run.models)
    if unasked:
        lines += [f"**{inline(unasked, 400)}.**\n\n"]
    if said := recorded(decision.run.made):
        lines += [f"{inline(said, 1200)}.\n\n"]
    rules, metrics = _rules(decision, scope, form), _derived(decision.run.derived, scope, form)
    if decision.outcome is GateOutcome.PASS:
        folded = details(many(len(decision.rules), "rule"), rules) + "\n" if rules else ""
        return "".join(lines) + metrics + folded
    return "".join(lines) + rules + metrics


def _changes(changes: GateChanges, scope: Scope, form: PageForm) -> str:
    """What the pull request does to its gate: with a heading where that weakens it."""
    lines = fit((_change(change, scope) for change in changes.found), form.limit // 8, form.measure)
    if len(changes.found) > len(lines):
        lines.append(f"- {len(changes.found) - len(lines):,} more in results.json\n")
    said = inline(changed(changes), 400)
    head = f"#### ⚠️ {said}\n\n" if changes.weakened else f"{said}:\n\n"
    advice = inline(cure(changes), 600)
    return head + "".join(lines) + (f"\n{advice}\n\n" if advice else "\n")


def _change(change: GateChange, scope: Scope) -> str:
    return _note(Note(f"{change.kind.value}: {change.text}", change.origin), scope)


def _rules(decision: Decision, scope: Scope, form: PageForm) -> str:
    # Without a gate block the one rule is that every case passes, which the counts of a passing run already say.
    if decision.outcome is GateOutcome.PASS and all(result.rule.every_case for result in decision.rules):
        return ""
    lines = table(
        ("Rule", "Kind", "Outcome", "Measured", "Required"), (_cells(result, scope) for result in decision.rules)
    )
    taken = fit(lines, form.limit // 4, form.measure)
    left = len(lines) - len(taken)
    return "".join(taken) + (f"\n{many(left, 'more rule')} in results.json.\n" if left else "") + "\n"


def _cells(result: RuleResult, scope: Scope) -> tuple[str, ...]:
    sign = {"pass": "✅", "error": "❔"}.get(result.outcome.value, "❌" if result.rule.blocking else "⚠️")
    title = inline(titled(result.rule, scope.suites))
    return (title, weight(result.rule), f"{sign} {verdict(result)}", inline(measured(result)), inline(required(result)))


def _derived(metrics: Sequence[DerivedMetric], scope: Scope, form: PageForm) -> str:
    """The derived metrics; who was asked what, where there are several."""
    if not metrics:
        return ""
    columns = ("Derived metric", *(["Provider"] if scope.providers else []), *(["Prompt"] if scope.prompts else []))
    lines = table((*columns, "Value"), (_metric(metric, scope) for metric in metrics))
    taken = fit(lines, form.limit // 8, form.measure)
    left = len(lines) - len(taken)
    text = "".join(taken) + (f"\n{many(left, 'more metric')} in results.json.\n" if left else "")
    return text + "\n" if len(metrics) <= _METRICS else details(many(len(metrics), "derived metric"), text) + "\n"


def _metric(metric: DerivedMetric, scope: Scope) -> Iterator[str]:
    yield inline(metric.name, 100) + (f" ({code(metric.suite, 100)})" if scope.suites else "")
    yield from [code(metric.provider, 80)] if scope.providers else []
    yield from [inline(metric.prompt_label, 60)] if scope.prompts else []
    yield inline(worth(metric), 400)


# --- the cases ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Body:
    text: str
    left: int


def _body(findings: Findings, scope: Scope, form: PageForm, room: int, folded: bool) -> _Body:
    parts, left = [], 0
    for title, listed in (
        ("Failed", findings.failed),
        ("Could not tell", findings.unclear),
        ("Failed on the base, too", findings.known),
        ("Advisory", findings.advisory),
    ):
        number = sum(1 + len(finding.alike) for finding in listed)
        heading = f"#### {title}: {many(number, 'case')}\n\n"
        blocks = fit((block(finding, scope, folded) for finding in listed), room - form.measure(heading), form.measure)
        left += sum(1 + len(finding.alike) for finding in listed[len(blocks) :])
        if blocks:
            text = heading + _opened(blocks)
            parts.append(text)
            room -= form.measure(text)
    return _Body("".join(parts), left)


def _opened(blocks: list[str]) -> str:
    shut = blocks[_OPEN:]
    return "".join(blocks[:_OPEN]) + (details(f"{len(shut):,} more", "".join(shut)) + "\n" if shut else "")


def _missing(left: int, links: Links) -> str:
    if not left:
        return ""
    where = link("the run", links.run) + " and in results.json" if links.run else "results.json"
    verb = "is" if left == 1 else "are"
    return f"**{many(left, 'more case')} {verb} not shown here for want of room;** see {where}.\n\n"


def _all_cases(rows: tuple[Row, ...], scope: Scope, form: PageForm, room: int) -> str:
    header = table(("Case", "Provider", "Prompt", "Outcome"), ())
    lines = fit(_case_lines(rows), room - form.measure("".join(header)) - _RESERVE, form.measure)
    left = len(rows) - len(lines)
    more = f"\n{many(left, 'more case')} not shown for want of room; results.json has all.\n" if left else ""
    return details(f"All {many(len(rows), 'case')}", "".join([*header, *lines]) + more) + "\n"


def _case_lines(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        cells = (inline(name(row)), code(row.provider, 80), inline(row.prompt_label, 60), ended(row))
        yield table((), [cells])[2]


# --- what it took ---------------------------------------------------------------------------------------------


def _foot(decision: Decision, scope: Scope, form: PageForm) -> str:
    run = decision.run
    shown = notes(decision)
    lines = fit((_note(note, scope) for note in shown), form.limit // 8, form.measure)
    if len(shown) > len(lines):
        lines.append(f"- {many(len(shown) - len(lines), 'more note')} in results.json\n")
    names = fit((code(str(model), 120) for model in run.models), form.limit // 16, form.measure)
    asked = ", ".join(names) + (f" and {len(run.models) - len(names):,} more" if len(names) < len(run.models) else "")
    keys = fit((f"<br>{code(str(use), 200)}" for use in run.keys), form.limit // 16, form.measure)
    went = f"<br>Keys and where they go:{''.join(keys)}" if keys else ""
    took = f"Target: {spent(run.target_usage)}. Grader: {spent(run.grader_usage)}. {run.seconds:,.1f} s."
    took += "".join(f"<br>{text[0].upper()}{text[1:]}." for text in saved(run))
    return "".join(lines) + ("\n" if lines else "") + f"<sub>{took}<br>Models: {asked or 'none'}{went}</sub>\n"


def _note(note: Note, scope: Scope) -> str:
    where = place(note.origin)
    url = scope.links.line(note.origin.file, note.origin.line) if note.origin else ""
    return f"- {inline(note.text, 400)}" + (f" ({link(inline(where, 300), url)})" if where else "") + "\n"
