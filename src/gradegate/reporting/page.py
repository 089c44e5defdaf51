"""The Markdown page that the pull request comment and the job summary share: what decides in sight, the rest folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gradegate.reporting import agent, headline
from gradegate.reporting.account import provenance, saved, took, worth
from gradegate.reporting.case_line import COLUMNS, NARROW, WIDE, Scope, Width, line, several
from gradegate.reporting.failing import flaky
from gradegate.reporting.findings import Effect, Finding, merged, sort, told
from gradegate.reporting.markdown import code, details, fence, fit, inline, link, sentence, table
from gradegate.reporting.markdown_case import block
from gradegate.reporting.powers import line as power
from gradegate.reporting.report import Links
from gradegate.reporting.wording import HEADS, before, ended, incomplete, measured, name, notes, required, titled, verdict
from gradegate.values.account import BaselineReport, DerivedMetric
from gradegate.values.changes import GUARD
from gradegate.values.figures import many, read_replies
from gradegate.values.result import Decision, Outcome, Row, RuleResult
from gradegate.values.suite import Rule

_OPEN = 12  # cases that are in sight; of more, those of one reason are one row, and the rest is folded
_RULES = 8  # rules that are in sight, those that are missed first
_NOTES = 2  # notes that are in sight
_RESERVE = 900  # for the sentences that say what was left out, and for folds


@dataclass(frozen=True, slots=True)
class PageForm:
    """How long a page may be, in what unit, and whether it lists the cases that passed."""

    limit: int
    measure: Callable[[str], int]
    all_cases: bool


def page(decision: Decision, links: Links, form: PageForm) -> str:
    """The page; what does not fit is left out by whole cases, and the page says so."""
    scope = several(decision.run.rows, links)
    first = headline.opened(decision, links)
    rules = _rules(decision, scope, form)
    head = first + headline.verdict(decision, links, form.limit // 6, form.measure, bool(rules)) + rules + headline.tallied(decision)
    said = headline.notes(notes(decision), links, form.limit // 10, form.measure, _NOTES)
    foot = said
    if flakes := [f"- {inline(line, 300)}\n" for line in flaky(decision.run.rows)]:
        foot += _table(f"Flaky on the default branch: {many(len(flakes), 'case')}", flakes, "more case", form)
    foot += _derived(decision.run.derived, scope, form) + _foot(decision, scope, form)
    room = form.limit - form.measure(head + foot) - _RESERVE
    groups = sort(decision)
    if sum(map(len, groups.values())) > _OPEN:
        groups = {effect: merged(listed) for effect, listed in groups.items()}
    # A line for each case is worth more than all else, and a shorter one where they would not fit.
    cases, left = _listed(groups, scope, form, room * 4 // 5, WIDE)
    cases = _listed(groups, scope, form, room * 4 // 5, NARROW)[0] if left else cases
    room -= form.measure(cases)
    agents = agent.told(decision, min(room // 2, form.limit // 5), form.measure, short=True)
    agents = details("For coding agents", agents) + "\n" if agents else ""
    grounds = _grounds(groups, scope, form, room - form.measure(agents))
    room -= form.measure(agents + grounds)
    rest = _all_cases([row for _, row in told(decision.run.rows)], scope, form, room) if form.all_cases else ""
    return head + cases + grounds + rest + agents + foot


def bare(outcome: str, reason: str, text: str, links: Links) -> str:
    """A page without a decision: ``outcome`` is a key of ``HEADS``, ``reason`` Markdown, ``text`` anybody's lines."""
    body = fence(text) if text else ""
    return f"{headline.opening(outcome, HEADS[outcome].words, replace(links, page=''))}{reason}\n\n{body}"


# --- the cases ------------------------------------------------------------------------------------------------


def _listed(groups: Mapping[Effect, Sequence[Finding]], scope: Scope, form: PageForm, room: int, width: Width) -> tuple[str, int]:
    """The table as a text, and how many cases there was no room for."""
    shown, shut, left, sight = table(COLUMNS, ()), table(COLUMNS, ()), 0, _OPEN
    for listed in groups.values():
        lines = fit((table((), [line(finding, scope, width)])[2] for finding in listed), room, form.measure)
        room -= sum(map(form.measure, lines))
        left += _number(listed[len(lines) :])
        shown += lines[:sight]
        shut += lines[sight:]
        sight = max(1, sight - len(lines))  # of each group something is in sight
    text = "".join(shown) + "\n" if len(shown) > 2 else ""
    folded = details(f"{len(shut) - 2:,} more", "".join(shut)) + "\n" if len(shut) > 2 else ""
    return text + folded + _missing(left, scope.links), left


def _number(findings: Sequence[Finding]) -> int:
    return sum(1 + len(finding.alike) for finding in findings)


def _missing(left: int, links: Links) -> str:
    if not left:
        return ""
    place = link("the run", links.run) + " and in results.json" if links.run else "results.json"
    verb = "is" if left == 1 else "are"
    return f"**{many(left, 'more case')} {verb} not shown here, for lack of space;** see {place}.\n\n"


def _grounds(groups: Mapping[Effect, Sequence[Finding]], scope: Scope, form: PageForm, room: int) -> str:
    """What was expected, what came and why, of as many cases as there is room for, with the evidence where it fits."""
    findings = [it for listed in groups.values() for it in listed]
    room -= form.measure(details(" " * 80, ""))
    for folded in (True, False):
        blocks = fit((block(finding, scope, folded) for finding in findings), room, form.measure)
        if len(blocks) == len(findings):  # more cases are worth more than the evidence of some
            break
    if not blocks:
        return ""
    told_of = _number(findings[: len(blocks)])
    of = f" of {told_of:,} of {many(_number(findings), 'case')}" if len(blocks) < len(findings) else ""
    return details(f"Expected, got and why{of}", "".join(blocks)) + "\n"


def _all_cases(rows: Sequence[Row], scope: Scope, form: PageForm, room: int) -> str:
    if not rows:
        return ""
    header = table(("Case", "Provider", "Prompt", "Outcome"), ())
    cells = ((inline(name(row)), code(row.provider, 80), inline(row.prompt_label, 60), ended(row)) for row in rows)
    lines = fit((table((), [of])[2] for of in cells), room - form.measure("".join(header)), form.measure)
    left = len(rows) - len(lines)
    more = f"\n{many(left, 'more case')} not shown, for lack of space; results.json has all.\n" if left else ""
    return details(f"All {many(len(rows), 'case')}", "".join([*header, *lines]) + more) + "\n"


# --- rules and metrics ----------------------------------------------------------------------------------------


def in_order(rules: Iterable[RuleResult]) -> list[RuleResult]:
    """Rules that are missed first, then those with errors, then those that are met; of each the blocking ones first."""
    order = (Outcome.FAIL, Outcome.ERROR, Outcome.PASS)
    kinds = {id(result): Outcome.ERROR if incomplete(result) else result.outcome for result in rules}
    return sorted(rules, key=lambda result: (order.index(kinds[id(result)]), not result.rule.blocking))


def _rules(decision: Decision, scope: Scope, form: PageForm) -> str:
    # Without a gate block the one rule is that every case passes, which the counts of a passing run already say.
    # A warning at the top says of a gate that is weakened all that its rule would.
    warned = decision.changes.weakened
    rules = [result for result in decision.rules if not (warned and result.rule == Rule(GUARD))]
    if all(result.rule.every_case and result.outcome is Outcome.PASS and not result.errored for result in rules):
        return ""
    report = decision.run.baseline
    columns = ("", "Rule", "Measured", *(["Base"] if report else []), "Required")
    lines = table(columns, (_cells(result, scope, report) for result in in_order(rules)))
    taken = fit(lines, form.limit // 10, form.measure)
    head, shown, shut = taken[:2], taken[2 : _RULES + 2], taken[_RULES + 2 :]
    left = len(lines) - len(taken)
    more = f"\n{many(left, 'more rule')} in results.json.\n" if left else ""
    folded = details(f"{len(shut) + left:,} more rules", "".join([*head, *shut]) + more) + "\n" if shut or left else ""
    return "".join([*head, *shown]) + "\n" + folded


def _in_words(decision: Decision, scope: Scope, form: PageForm) -> str:
    """What is to be said of each rule: why it is missed or cannot be told, and what it cannot see."""
    lines = []
    for result in decision.rules:
        if result.outcome is not Outcome.PASS and result.rule != Rule(GUARD):
            lines.append(f"- {inline(titled(result.rule, scope.suites))} – {verdict(result)}, {sentence(result.reason, 600)}\n")
        if result.slack is not None:
            lines.append(f"- {sentence(power(result.rule, result, scope.suites), 600)}\n")
    return _fitting(lines, "more line", form) + "\n" if lines else ""


def _table(title: str, lines: list[str], more: str, form: PageForm) -> str:
    """A folded table."""
    return details(title, _fitting(lines, more, form)) + "\n"


def _fitting(lines: list[str], more: str, form: PageForm) -> str:
    """The lines that there is room for, and how many there are besides."""
    taken = fit(lines, form.limit // 10, form.measure)
    left = len(lines) - len(taken)
    return "".join(taken) + (f"\n{many(left, more)} in results.json.\n" if left else "")


def _cells(result: RuleResult, scope: Scope, report: BaselineReport | None) -> Iterator[str]:
    signs = {Outcome.PASS: "❔" if incomplete(result) else "✅", Outcome.ERROR: "❔"}
    yield signs.get(result.outcome, "❌" if result.rule.blocking else "⚠️")
    yield inline(titled(result.rule, scope.suites)) + ("" if result.rule.blocking else " (advisory)")
    yield inline(measured(result))
    if report:
        yield inline(before(result, report))
    yield inline(required(result))


def _derived(metrics: Sequence[DerivedMetric], scope: Scope, form: PageForm) -> str:
    """The derived metrics; who was asked what, where there are several."""
    if not metrics:
        return ""
    columns = ("Derived metric", *(["Provider"] if scope.providers else []), *(["Prompt"] if scope.prompts else []))
    lines = table((*columns, "Value"), (_metric(metric, scope) for metric in metrics))
    return _table(many(len(metrics), "derived metric"), lines, "more metric", form)


def _metric(metric: DerivedMetric, scope: Scope) -> Iterator[str]:
    yield inline(metric.name, 100) + (f" ({code(metric.suite, 100)})" if scope.suites else "")
    yield from [code(metric.provider, 80)] if scope.providers else []
    yield from [inline(metric.prompt_label, 60)] if scope.prompts else []
    yield inline(worth(metric), 400)


# --- what it took ---------------------------------------------------------------------------------------------


def _foot(decision: Decision, scope: Scope, form: PageForm) -> str:
    run = decision.run
    if not run.cases:  # it took nothing
        return ""
    names = fit((code(str(model), 120) for model in run.models), form.limit // 20, form.measure)
    asked = ", ".join(names) + (f" and {len(run.models) - len(names):,} more" if len(names) < len(run.models) else "")
    keys = fit((f"<br>{code(str(use), 200)}" for use in run.keys), form.limit // 20, form.measure)
    went = f"<br>Keys and where they go:{''.join(keys)}" if keys else ""
    target, grader = took(run)
    text = f"Target: {target}. Grader: {grader}. {run.seconds:,.1f} s."
    replies = read_replies(run.grader_usage.readings)
    text += f"<br>Replies of graders: {replies}." if replies else ""
    text += "".join(f"<br>{said[0].upper()}{said[1:]}." for said in saved(run))
    of = "".join(f"<br>{name}: {code(value, 100)}" for name, value in provenance(run.made))
    chosen = "".join(f"<br>{code(model.chosen, 200)}" for model in run.models if model.chosen)
    took_of = f"{text}<br>Models: {asked or 'none'}{chosen}{went}{of}\n"
    return details("Rules in words, and what it took", _in_words(decision, scope, form) + took_of)
