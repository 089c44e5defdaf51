"""A run as lines for a terminal or a log: what did not pass as a list, then the evidence, what it took, and the verdict last."""

import enum
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from gradegate.core.numbers import many
from gradegate.reports.format.escape import harmless, join_nonempty, one_line
from gradegate.reports.format.streams import coloured, has_rich
from gradegate.reports.view import wording
from gradegate.reports.view.case import also, explain, flaky, why
from gradegate.reports.view.findings import Effect, Finding, merged, sort, told
from gradegate.reports.view.run_summary import blind_spots, of, saved, took, worth
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome, RuleResult
from gradegate.security.redaction import Hide, whole_words
from gradegate.structs import FrozenStruct, replace

_MOST_CHANGES = 100
_MOST_METRICS = 200
_NAMES = 3  # cases that the last lines name
_ALIKE = 10  # cases of one reason that are named below the first
_TEXT = 500  # characters of a text of the run as a whole
_WHY = 200  # characters of a reason in the list
_NARROW = 40  # columns of a terminal; on less, a line of the list would say nothing
_COLUMNS, _LEAST = 110, 30  # characters of the last line, and what it has beside the report


class Tone(enum.Enum):
    """How a line is meant, by the number of its colour, so that a terminal shows it as its user has chosen."""

    PLAIN = ""
    GOOD = "32"  # green
    BAD = "1;31"  # bold red
    UNSURE = "33"  # yellow
    FAINT = "2"


class Line(FrozenStruct):
    """Text that may have several lines; ``head`` is a word of ours before it, which alone has the tone."""

    text: str
    tone: Tone = Tone.PLAIN
    head: str = ""


class View(FrozenStruct):
    """How much is shown: of how many cases of a kind the evidence, and how many characters of each text.

    ``columns`` is how wide a line of the list may be, 0 for any width; ``more`` says where the rest is.
    """

    evidence: int = 20
    text: int = _TEXT
    columns: int = 0
    passed: bool = False
    quiet: bool = False
    more: str = "-v shows all of them, and -o results.json keeps them"


LOG = View(
    evidence=1000, more="results.json has all of them"
)  # where nobody can ask for more afterwards
WHOLE = View(evidence=sys.maxsize, text=sys.maxsize, passed=True)
QUIET = View(quiet=True)


def fitted(view: View, stream: TextIO) -> View:
    """The view, with a list as wide as the terminal; elsewhere lines are as long as they are."""
    if not stream.isatty() or not has_rich():
        return view
    return replace(view, columns=max(_NARROW, shutil.get_terminal_size().columns))


def say(line: Line, hide: Hide, stream: TextIO | None = None) -> None:
    """Write a line without secrets; what is not our own word is harmless, and has no colour of its own."""
    stream = stream or sys.stdout
    head, text = map(hide, (line.head, line.text) if line.head else (line.text, ""))
    if line.tone.value and coloured(stream):
        text = f"\x1b[{line.tone.value}m{harmless(head)}\x1b[0m{harmless(text)}"
    else:
        text = harmless(head + text)
    stream.write(text + "\n")


def lines(decision: Decision, view: View, written: Sequence[str] = ()) -> Iterator[Line]:
    """The lines, the verdict as the last; ``written`` are the reports that are there."""
    if not view.quiet:
        run = decision.run
        effects = sort(decision)
        findings = {
            effect: found if view.passed else merged(found) for effect, found in effects.items()
        }
        yield from _list(findings, view)
        for effect, found in findings.items():
            title, tone = _headed(effect)
            yield from _evidence("FAILED" if effect is Effect.BLOCKS else title, tone, found, view)
        if view.passed:
            passed = (row for _, row in told(run.rows) if row.has_passed)
            yield from (
                Line(f"  {wording.name(row)}  [{of(row)}]", Tone.GOOD, wording.ended(row).upper())
                for row in passed
            )
        # What graders in ``verbose_mode`` did, step by step.
        for row in run.rows:
            for grade in row.grades:
                if isinstance(steps := grade.evidence.get("steps"), list) and all(
                    isinstance(step, str) for step in steps
                ):
                    yield Line(f"STEPS  {wording.name(row)}  {one_line(grade.assertion.type, 80)}")
                    yield from (Line(f"  {step}") for step in steps)
        yield from _about(decision)
        if len(blocks := [finding.row for finding in effects[Effect.BLOCKS]]) > 1:
            yield Line(f"blocked by {_names(blocks, _NAMES, 40)}: the list is above")
        yield Line(f"{wording.tally(decision)}.")
    yield from _last(decision, view, written)


def _last(decision: Decision, view: View, written: Sequence[str]) -> Iterator[Line]:
    """The verdict in one line: what blocks, why, and the report to open, as far as there is room for each; a longer reason before it."""
    head, short, why = (
        wording.headline(decision),
        wording.in_short(decision),
        one_line(decision.reason, _TEXT).rstrip("."),
    )
    if short and decision.outcome is GateOutcome.PASS:
        short, why = (short, "") if decision.cases.passed == decision.cases.planned else ("", why)
    short = "" if short.removesuffix("ed") in why else short
    path = next((path for path in written if path.endswith(".html")), next(iter(written), ""))
    most = min(_COLUMNS, view.columns or _COLUMNS) - len(head) - len(": ")
    fits = path and max(len(short), _LEAST) + len(path) <= most - len(
        "; see "
    )  # a path that is cut leads nowhere
    report = f"; see {path}" if fits else ""
    room = most - len(report)
    alone = short if short and decision.outcome is not GateOutcome.ADVISORY else why
    ways = [join_nonempty("; ", short, why), alone, short or one_line(why, room - 1)]
    said = next((text for text in ways if len(text) <= room), ways[-1])
    if len(written) > bool(report):
        yield Line(f"written: {', '.join(one_line(path, 300) for path in written)}")
    if why not in said and not view.quiet:
        yield Line(f"why: {why}")
    tone = {GateOutcome.PASS: Tone.GOOD, GateOutcome.BLOCKED: Tone.BAD}.get(
        decision.outcome, Tone.UNSURE
    )
    yield Line(f": {said}{one_line(report)}", tone, head)


# --- the cases ------------------------------------------------------------------------------------------------


def _headed(effect: Effect) -> tuple[str, Tone]:
    tone = Tone.BAD if effect is Effect.BLOCKS else Tone.UNSURE
    return wording.EFFECTS[effect].words.upper(), tone


def _list(findings: Mapping[Effect, Sequence[Finding]], view: View) -> Iterator[Line]:
    """A line for each case, under what it does to the check; of one case the evidence says it all."""
    if sum(map(len, findings.values())) < 2:
        return
    for effect, found in findings.items():
        title, tone = _headed(effect)
        if found:
            number = sum(1 + len(finding.alike) for finding in found)
            yield Line(f": {many(number, 'case')}", tone, title)
            for finding in found[: LOG.evidence]:
                yield Line(_listed(finding, view))
                if others := also(finding):
                    wrapped = textwrap.fill(others, (view.columns or sys.maxsize) - 4)
                    yield Line(textwrap.indent(wrapped, " " * 4))
            if len(found) > LOG.evidence:
                yield Line(f"  {many(len(found) - LOG.evidence, 'more case')} in results.json")
    yield Line("")


def _listed(finding: Finding, view: View) -> str:
    row, grades = finding.row, finding.grades
    kind, reason = why(finding, _WHY)
    alike = f" and {many(len(finding.alike), 'further case')}" if finding.alike else ""
    where = wording.place(wording.spot(row, grades[0]) if grades else row.origin)
    case = f"  {one_line(wording.name(row), 40)}{alike}"
    text = join_nonempty(" · ", case, where, f"{kind}: {reason}" if kind else reason)
    # The text in so many columns of a terminal, on which some signs take two.
    if not view.columns:
        return text
    from rich.text import Text  # only on a terminal: it is slow to load

    line = Text(text)
    line.truncate(view.columns, overflow="ellipsis")
    return text if line.plain == text else f"{whole_words(text, len(line.plain) - 1)}…"


def _evidence(title: str, tone: Tone, findings: Sequence[Finding], view: View) -> Iterator[Line]:
    for finding in findings[: view.evidence]:
        row = finding.row
        yield Line(f"  {wording.name(row)}  [{of(row)}]", tone, title)
        yield Line(textwrap.indent(explain(row, finding.grades, view.text), "  "))
        if finding.alike:
            others = any(it.output != row.output for it in finding.alike)
            names = "" if others else f" {_names(finding.alike, _ALIKE)}"
            yield Line(f"  the same in {many(len(finding.alike), 'further case')}:{names}")
            for it in finding.alike[:_ALIKE]:
                if others:
                    got = one_line(it.output or "", 100) or "(nothing)"
                    yield Line(f"    {one_line(wording.name(it), 60)} got: {got}")
            if others and len(finding.alike) > _ALIKE:
                yield Line(f"    and {len(finding.alike) - _ALIKE:,} more")
        yield Line("")
    if len(findings) > view.evidence:
        left = sum(1 + len(finding.alike) for finding in findings[view.evidence :])
        yield Line(f"  {many(left, 'more case')}; {view.more}\n", tone, title)


def _names(rows: Sequence[Row], most: int, limit: int = 160) -> str:
    """The names of the first cases. One that several have, of other models, prompts or repeats, stands once with their number."""
    found = list(Counter(one_line(wording.name(row), limit) for row in rows).items())
    names = ", ".join(
        text if count == 1 else f"{text} ({count:,} cases)" for text, count in found[:most]
    )
    left = sum(count for _, count in found[most:])
    return f"{names} and {left:,} more" if left else names


# --- the run --------------------------------------------------------------------------------------------------


def _about(decision: Decision) -> Iterator[Line]:
    """What is good to know and what it took; then what the verdict comes from, so that it is in sight when the run ends."""
    run = decision.run
    for metric in run.derived[:_MOST_METRICS]:
        yield Line(f"metric {one_line(metric.name, 100)} [{of(metric)}]: {worth(metric)}")
    if len(run.derived) > _MOST_METRICS:
        yield Line(f"{many(len(run.derived) - _MOST_METRICS, 'more metric')} in results.json")
    for note in wording.notes(decision):
        yield Line(f"note: {wording.placed(note.origin, note.text, _TEXT)}")
    yield from (Line(line, Tone.UNSURE) for line in flaky(run.rows)[:_NAMES])
    costs = []
    if run.models:
        costs.append(f"models: {', '.join(one_line(str(model), 120) for model in run.models)}")
    costs += (one_line(model.chosen, 300) for model in run.models if model.chosen)
    costs += (f"key: {one_line(str(use))}" for use in run.keys)
    target, grader = took(run)
    costs.append(f"target: {target}; grader: {grader}; {run.seconds:,.1f} s")
    yield from (Line(text, Tone.FAINT) for text in (*costs, *saved(run)))
    for change in decision.changes.found[:_MOST_CHANGES]:
        text = wording.placed(change.origin, change.text, _TEXT)
        yield Line(f"  {text}", Tone.UNSURE, f"GATE {change.kind.value.upper()}")
    if len(decision.changes.found) > _MOST_CHANGES:
        left = len(decision.changes.found) - _MOST_CHANGES
        yield Line(f"  {left:,} more in results.json", Tone.UNSURE, "GATE")
    if decision.changes.found:
        yield Line(f"{wording.changed(decision.changes)}. {wording.cure(decision.changes)}".strip())
    for said in (
        wording.no_model(run.models),
        wording.recorded(run.made),
        wording.compared(run.baseline),
    ):
        if said:
            yield Line(f"{said}.")
    if run.interrupted:
        yield Line(f": {one_line(run.interrupted, _TEXT)}", Tone.UNSURE, "The run stopped early")
    if said := blind_spots(decision):
        yield Line(said, Tone.UNSURE)
    # A line for each rule, what is missed and blocks as the last of them.
    several = len({result.rule.suite for result in decision.rules}) > 1
    for result in sorted(decision.rules, key=_gravity):
        head = f"rule {wording.titled(result.rule, several)} ({wording.weight(result.rule)}): {wording.verdict(result)}"
        tone = (Tone.GOOD, Tone.UNSURE, Tone.UNSURE, Tone.BAD)[_gravity(result)]
        text = f"; {wording.measured(result)}; required: {wording.required(result)}"
        yield Line(text, tone, head)


def _gravity(result: RuleResult) -> int:
    """0 for what is met, 3 for what is missed and blocks."""
    if result.has_failed:
        return 3 if result.rule.blocking else 1
    return 0 if result.has_passed else 2
