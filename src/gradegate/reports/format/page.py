"""The Markdown page that the pull request comment and the job summary share: what decides in sight, the rest folded."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import asdict

from gradegate.core.numbers import many
from gradegate.core.policy import Note, Rule
from gradegate.reports.delivery.report import Links
from gradegate.reports.format import markdown_case
from gradegate.reports.format.markdown import (
    NOTHING,
    Markdown,
    code,
    details,
    fence,
    fill,
    fit,
    inline,
    join,
    link,
    paragraphs,
    quote_lines,
    sentence,
    some,
    table,
    table_row,
)
from gradegate.reports.format.markdown_case import COLUMNS, NARROW, WIDE, Scope, block, line
from gradegate.reports.view import wording
from gradegate.reports.view.case import flaky, is_fixed
from gradegate.reports.view.findings import Effect, Finding, merged, sort, told
from gradegate.reports.view.run_summary import power_line, provenance, saved, took, worth
from gradegate.results.accounts import DerivedMetric
from gradegate.results.gate_changes import GUARD, GateChanges, done, guarded
from gradegate.results.grades import ERROR, FAIL, PASS
from gradegate.results.run_result import Decision, GateOutcome, RuleResult
from gradegate.structs import FrozenStruct, replace

_SHORT = 7  # characters of a commit
_TITLES = 2  # configs that the first line names
_SIGHT = 5  # findings about the gate that are in sight
_FIXED = 5  # fixed cases that are named
_OPEN = (
    12  # cases that are in sight; of more, those of one reason are one row, and the rest is folded
)
_RULES = 8  # rules that are in sight, those that are missed first
_NOTES = 2  # notes that are in sight
_RESERVE = 900  # for the sentences that say what was left out, and for folds


class PageForm(FrozenStruct):
    """How long a page may be, in what unit, and whether it lists the cases that passed."""

    limit: int
    measure: Callable[[str], int]
    all_cases: bool

    def fit(self, blocks: Iterable[Markdown], share: int) -> list[Markdown]:
        """The first blocks that fit into such a part of a page."""
        return fit(blocks, self.limit // share, self.measure)


def page(decision: Decision, links: Links, form: PageForm) -> Markdown:
    """The page; what does not fit is left out by whole cases, and the page says so."""
    run = decision.run
    scope = Scope(
        links,
        *(
            len({getattr(row, field) for row in run.rows}) > 1
            for field in ("suite", "provider", "prompt_label")
        ),
    )
    first = opening(
        decision.outcome.value,
        wording.headline(decision),
        links,
        wording.subjects(decision),
        run.made.commit,
        wording.in_short(decision),
    )
    rules = _rules(decision, scope, form)
    below = _below(decision, links, form, bool(rules))
    head = paragraphs(first, below, rules, _tallied(decision))
    flakes = [fill("- {}\n", inline(line, 300)) for line in flaky(run.rows)]
    title = f"Flaky on the default branch: {many(len(flakes), 'case')}"
    foot = paragraphs(
        _notes(wording.notes(decision), links, form),
        details(title, _fitting(flakes, "case", form)),
        _derived(run.derived, scope, form),
        _foot(decision, scope, form),
    )
    room = form.limit - form.measure(head + foot) - _RESERVE
    groups = sort(decision)
    if sum(map(len, groups.values())) > _OPEN:
        groups = {effect: merged(listed) for effect, listed in groups.items()}
    # A line for each case is worth more than all else, and a shorter one where they would not fit.
    cases, left = _listed(groups, scope, form, room * 4 // 5, WIDE)
    cases = _listed(groups, scope, form, room * 4 // 5, NARROW)[0] if left else cases
    room -= form.measure(cases)
    agents = markdown_case.told(decision, min(room // 2, form.limit // 5), form.measure, short=True)
    agents = details("For coding agents", agents)
    grounds = _grounds(groups, scope, form, room - form.measure(agents))
    room -= form.measure(agents + grounds)
    all_cases = _all_cases(decision, form, room) if form.all_cases else NOTHING
    return paragraphs(head, cases, grounds, all_cases, agents, foot)


def bare(outcome: str, reason: str, text: str, links: Links) -> Markdown:
    """A page without a decision: ``outcome`` is a key of ``wording.HEADS``, ``text`` anybody's lines."""
    first = opening(outcome, wording.HEADS[outcome].words, replace(links, page=""))
    return paragraphs(first, reason, fence(text) if text else "")


# --- the head -------------------------------------------------------------------------------------------------


def opening(
    outcome: str,
    words: str,
    links: Links,
    titles: Iterable[str] = (),
    commit: str = "",
    what: str = "",
) -> Markdown:
    """The outcome with ``what`` in a few words, and below it whose gate it is (``titles``), commit and links.

    ``outcome`` is a key of ``wording.HEADS``; what is not known is left out.
    """
    named = [inline(title, 80) for title in dict.fromkeys(titles) if title]
    commit = links.commit or commit
    short = commit[:_SHORT]
    parts = [
        some(named[:_TITLES], len(named)),
        code(links.key, 80),
        link(code(short), links.head) if short else "",
        link("run", links.run) if links.run else "",
        link("report", links.page) if links.page else "",
    ]
    headline = f"{wording.HEADS[outcome].sign} gradegate: {words.upper()}"
    first = fill("### {}", join(" · ", [headline, what]))
    return paragraphs(first, join(" · ", parts))


def _below(decision: Decision, links: Links, form: PageForm, ruled: bool) -> Markdown:
    """What stands below the first line: a weakened gate first, then why. ``ruled``: a table of the rules follows."""
    worse, other = decision.changes.parts
    changed = NOTHING
    if other.found:  # they make the gate only other than before
        changed = paragraphs(
            f"{wording.changed(other)}:",
            join("", _changes(other, links, form)),
            "" if worse.found else sentence(wording.cure(other), 600),
        )
    return paragraphs(
        _weakened(worse, links, form) if worse.found else "",
        sentence(why(decision, ruled), 600),
        changed,
        fill("**The run stopped early:** {}", decision.run.interrupted),
        fill("**{}.**", wording.no_model(decision.run.models)),
        fill("{}.", inline(wording.recorded(decision.run.made), 1200)),
    )


def why(decision: Decision, ruled: bool) -> str:
    """Why, without what the table of rules (``ruled``) or the warning about the gate says already."""
    missed = any(result.rule.blocking and result.has_failed for result in decision.rules)
    if ruled and (missed or decision.outcome is GateOutcome.PASS):
        return ""
    if not decision.changes.weakened:
        return decision.reason
    said = decision.reason
    for text in (f"{GUARD}: {guarded(decision.changes)}", done(decision.changes)):
        said = said.replace(text, "")
    return said.strip("; ")


def _tallied(decision: Decision) -> Markdown:
    """How many, and what changed against the base, with the names of some cases that are fixed."""
    lines = [f"{wording.tally(decision)}."]
    if said := wording.compared(decision.run.baseline):
        fixed = [row for _, row in told(decision.run.rows) if is_fixed(row)]
        names = [inline(wording.name(row), 60) for row in fixed[:_FIXED]]
        lines.append(fill("{}.{}", said, fill(" Fixed: {}.", some(names, len(fixed)))))
    return join("<br>", lines)


def _weakened(changes: GateChanges, links: Links, form: PageForm) -> Markdown:
    """A warning, with the first findings in sight and the rest folded."""
    lines = _changes(changes, links, form)
    shown, rest = [*lines[:_SIGHT]], [*lines[_SIGHT:]]
    box = paragraphs(
        fill("[!WARNING]\n**{}**", wording.changed(changes)),
        join("", shown),
        sentence(wording.cure(changes), 600),
    )
    title = f"{len(changes.found) - len(shown):,} more changes of the gate"
    return paragraphs(quote_lines(box), details(title, join("", rest)))


def _changes(changes: GateChanges, links: Links, form: PageForm) -> list[Markdown]:
    notes = [Note(f"{it.kind.value}: {it.text}", it.origin) for it in changes.found]
    return _items(notes, links, form)


def _items(notes: Sequence[Note], links: Links, form: PageForm) -> list[Markdown]:
    """Notes as a list, as far as there is room."""
    lines = form.fit((_note(note, links) for note in notes), 12)
    left = len(notes) - len(lines)
    if left:
        lines.append(fill("- {} more in results.json\n", f"{left:,}"))
    return lines


def _note(said: Note, links: Links) -> Markdown:
    """A note as an item of a list, with the line that it is about."""
    where = NOTHING
    if said.origin and said.origin.file:
        url = links.line(said.origin.file, said.origin.line)
        where = fill(" ({})", link(wording.place(said.origin), url))
    return fill("- {}{}\n", sentence(said.text, 400), where)


def _notes(said: Sequence[Note], links: Links, form: PageForm) -> Markdown:
    """Notes of a run: a few are in sight, many are folded."""
    text = join("", _items(said, links, form))
    return text if len(said) <= _NOTES else details(many(len(said), "note"), text)


# --- the cases ------------------------------------------------------------------------------------------------


def _listed(
    groups: Mapping[Effect, Sequence[Finding]],
    scope: Scope,
    form: PageForm,
    room: int,
    width: tuple[int, int],
) -> tuple[Markdown, int]:
    """The table as a text, and how many cases there was no room for."""
    shown, shut, left, sight = table(COLUMNS, ()), table(COLUMNS, ()), 0, _OPEN
    for listed in groups.values():
        lines = fit(
            (table_row(line(finding, scope, width)) for finding in listed), room, form.measure
        )
        room -= sum(map(form.measure, lines))
        left += _number(listed[len(lines) :])
        shown += lines[:sight]
        shut += lines[sight:]
        sight = max(1, sight - len(lines))  # of each group something is in sight
    parts = [join("", shown) if len(shown) > 2 else NOTHING]
    if len(shut) > 2:
        parts.append(details(f"{len(shut) - 2:,} more", join("", shut)))
    if left:
        run = link("the run", scope.links.run) if scope.links.run else ""
        rest = join(" and in ", [run, "results.json"])
        what = f"{many(left, 'more case')} {'is' if left == 1 else 'are'} not shown here"
        parts.append(fill("**{}, for lack of space;** see {}.", what, rest))
    return paragraphs(*parts), left


def _number(findings: Sequence[Finding]) -> int:
    return sum(1 + len(finding.alike) for finding in findings)


def _grounds(
    groups: Mapping[Effect, Sequence[Finding]], scope: Scope, form: PageForm, room: int
) -> Markdown:
    """What was expected, what came and why, of as many cases as there is room for, with the evidence where it fits."""
    findings = [it for listed in groups.values() for it in listed]
    room -= form.measure(details("x" * 80, fence("")))
    for folded in (True, False):
        blocks = fit((block(finding, scope, folded) for finding in findings), room, form.measure)
        if len(blocks) == len(findings):  # more cases are worth more than the evidence of some
            break
    title = "Expected, got and why"
    if len(blocks) < len(findings):
        number = _number(findings[: len(blocks)])
        title += f" of {number:,} of {many(_number(findings), 'case')}"
    return details(title, join("", blocks))


def _all_cases(decision: Decision, form: PageForm, room: int) -> Markdown:
    rows = [row for _, row in told(decision.run.rows)]
    if not rows:
        return NOTHING
    header = table(("Case", "Provider", "Prompt", "Outcome"), ())
    cells = (
        (
            inline(wording.name(row)),
            code(row.provider, 80),
            inline(row.prompt_label, 60),
            wording.ended(row),
        )
        for row in rows
    )
    lines = fit(map(table_row, cells), room - form.measure("".join(header)), form.measure)
    left = len(rows) - len(lines)
    more = f"{many(left, 'more case')} not shown, for lack of space; results.json has all."
    body = paragraphs(join("", header + lines), more if left else "")
    return details(f"All {many(len(rows), 'case')}", body)


# --- rules and metrics ----------------------------------------------------------------------------------------


def in_order(rules: Iterable[RuleResult]) -> list[RuleResult]:
    """Rules that are missed first, then those with errors, those that wait, and those that are met; of each the blocking ones first."""
    order = (FAIL, ERROR, None, PASS)
    kinds = {
        id(result): ERROR if wording.incomplete(result) else result.outcome for result in rules
    }
    return sorted(
        rules, key=lambda result: (order.index(kinds[id(result)]), not result.rule.blocking)
    )


def _rules(decision: Decision, scope: Scope, form: PageForm) -> Markdown:
    # Without a gate block the one rule is that every case passes, which the counts of a passing run already say.
    # A warning at the top says of a gate that is weakened all that its rule would.
    warned = decision.changes.weakened
    rules = [result for result in decision.rules if not (warned and result.rule == Rule(GUARD))]
    if all(result.rule.every_case and result.has_passed and not result.errored for result in rules):
        return NOTHING
    report = decision.run.baseline
    columns = ("", "Rule", "Measured", *(["Base"] if report else []), "Required")
    cells = []
    for result in in_order(rules):
        met = "❔" if wording.incomplete(result) else "✅"
        signs = {PASS: met, ERROR: "❔", None: "❔"}
        title = wording.titled(result.rule, scope.suites) + (
            "" if result.rule.blocking else " (advisory)"
        )
        of_base = [wording.before(result, report)] if report else []
        sign = signs.get(result.outcome, "❌" if result.rule.blocking else "⚠️")
        cells.append(
            [
                sign,
                title,
                wording.measured(result),
                *of_base,
                wording.required(result),
            ]
        )
    lines = table(columns, cells)
    taken = form.fit(lines, 10)
    head, shown, shut = taken[:2], taken[2 : _RULES + 2], taken[_RULES + 2 :]
    left = len(lines) - len(taken)
    text = join("", head + shown)
    if not shut and not left:
        return text
    rest = paragraphs(join("", head + shut), _left_out(left, "rule"))
    return paragraphs(text, details(f"{len(shut) + left:,} more rules", rest))


def _fitting(lines: list[Markdown], noun: str, form: PageForm) -> Markdown:
    """The lines that there is room for, and how many there are besides."""
    taken = form.fit(lines, 10)
    return paragraphs(join("", taken), _left_out(len(lines) - len(taken), noun))


def _left_out(number: int, noun: str) -> str:
    return f"{many(number, f'more {noun}')} in results.json." if number else ""


def _derived(metrics: Sequence[DerivedMetric], scope: Scope, form: PageForm) -> Markdown:
    """The derived metrics; who was asked what, where there are several."""
    if not metrics:
        return NOTHING
    columns = ["Derived metric"]
    if scope.providers:
        columns.append("Provider")
    if scope.prompts:
        columns.append("Prompt")
    rows = []
    for metric in metrics:
        suite = fill(" ({})", code(metric.suite, 100)) if scope.suites else ""
        cells = [fill("{}{}", inline(metric.name, 100), suite)]
        if scope.providers:
            cells.append(code(metric.provider, 80))
        if scope.prompts:
            cells.append(inline(metric.prompt_label, 60))
        rows.append([*cells, worth(metric)])
    lines = table([*columns, "Value"], rows)
    return details(many(len(metrics), "derived metric"), _fitting(lines, "metric", form))


def _foot(decision: Decision, scope: Scope, form: PageForm) -> Markdown:
    """What is to be said of each rule, why it is missed or cannot be told, and what it cannot see; then what the run took."""
    run = decision.run
    if not run.rows:  # it took nothing
        return NOTHING
    lines = []
    for result in decision.rules:
        if not result.has_passed and result.rule != Rule(GUARD):
            title = f"{wording.titled(result.rule, scope.suites)} – {wording.verdict(result)}"
            lines.append(fill("- {}, {}\n", title, sentence(result.reason, 600)))
        if result.slack is not None:
            power = power_line(result.rule, result, scope.suites)
            lines.append(fill("- {}\n", sentence(power, 600)))
    names = form.fit((code(str(model), 120) for model in run.models), 20)
    keys = form.fit((fill("<br>{}", code(str(use), 200)) for use in run.keys), 20)
    target, grader = took(run)
    facts = [f"Target: {target}. Grader: {grader}. {run.seconds:,.1f} s."]
    readings = asdict(run.grader_usage.readings).items()
    replies = [f"{count:,} {name.replace('_', ' ')}" for name, count in readings if count]
    facts.append(fill("Replies of graders: {}.", ", ".join(replies)))
    facts += (f"{said[0].upper()}{said[1:]}." for said in saved(run))
    facts.append(fill("Models: {}", some(names, len(run.models)) or "none"))
    facts += (code(model.chosen, 300) for model in run.models if model.chosen)
    facts.append(fill("Keys and where they go:{}", join("", keys)))
    facts += (fill("{}: {}", name, code(value, 100)) for name, value in provenance(run.made))
    text = paragraphs(_fitting(lines, "line", form), join("<br>", facts))
    return details("Rules in words, and what it took", text)
