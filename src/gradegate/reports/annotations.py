"""Annotations: what did not pass, as workflow commands that GitHub shows at the line of the config."""

from collections import Counter
from collections.abc import Iterator

from gradegate.core.numbers import many
from gradegate.core.provider_spec import NOWHERE
from gradegate.errors import Origin
from gradegate.reports.delivery.report import REPORTS, Document, Links, Report, Sink
from gradegate.reports.format.escape import clip, command, one_line, visible
from gradegate.reports.view.findings import Effect, Finding, sort
from gradegate.reports.view.wording import (
    called,
    expected,
    name,
    notes,
    place,
    remarks,
    said,
    scored,
    spot,
)
from gradegate.results.gate_changes import ChangeKind
from gradegate.results.grades import Grade
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, replace

_MOST = 10  # of one level in one step; GitHub hides further ones
_PATH = 1000  # characters; a longer name is not that of a file
_TEXT = 600  # characters of one text; GitHub cuts a message at 4,096


class _Mark(FrozenStruct):
    """One annotation; marks with the same key are one, with a count."""

    level: str
    origin: Origin
    title: str
    message: str
    key: tuple[object, ...]


def render(decision: Decision, links: Links) -> Document:
    """One command on each line."""
    counts: dict[str, Counter[tuple[object, ...]]] = {
        "error": Counter(),
        "warning": Counter(),
        "notice": Counter(),
    }
    # Only the first ten of a level are shown: of the others nothing but their number is kept.
    firsts: dict[str, list[_Mark]] = {level: [] for level in counts}
    for mark in _marks(decision):
        if mark.key not in counts[mark.level] and len(firsts[mark.level]) < _MOST:
            firsts[mark.level].append(mark)
        counts[mark.level][mark.key] += 1
    lines = []
    for level, marks in firsts.items():
        for mark in marks:
            others, hidden = counts[level][mark.key] - 1, len(counts[level]) - _MOST
            more = f"\n... and {many(others, 'more answer')} at this line" if others else ""
            if mark is marks[-1] and hidden > 0:
                more += f"\n... and {many(hidden, 'more line')} with findings; see the job summary"
            lines.append(_command(mark, more, links))
    return Document(Sink.ANNOTATIONS, lines)


def _marks(decision: Decision) -> Iterator[_Mark]:
    for change in decision.changes.found:
        level, text = (
            "notice" if change.kind is ChangeKind.CHANGED else "warning",
            visible(clip(change.text, _TEXT)),
        )
        yield _Mark(
            level,
            change.origin or NOWHERE,
            f"the gate: {change.kind.value}",
            text,
            (change.origin, change.text),
        )
    # In a run that passes, what could not be told is worth a look and no alarm.
    alarm = (
        "error"
        if decision.outcome in (GateOutcome.BLOCKED, GateOutcome.INCONCLUSIVE)
        else "warning"
    )
    levels = {Effect.BLOCKS: "error", Effect.UNCLEAR: alarm, Effect.KNOWN: "notice"}
    for effect, findings in sort(decision).items():
        for finding in findings:
            yield from _of_finding(finding, levels.get(effect, "warning"))
    for note in notes(decision):
        if note.origin and note.origin.file:
            yield _Mark(
                "warning",
                note.origin,
                "gradegate",
                visible(clip(note.text, _TEXT)),
                (note.origin, note.text),
            )


def _of_finding(finding: Finding, level: str) -> Iterator[_Mark]:
    for row in (finding.row, *finding.alike):
        if finding.grades and not row.error:
            yield from (
                _of_grade(row, grade, level)
                for grade in replace(finding, row=row).grades
                if not grade.inner
            )
            continue
        why = row.error or "; ".join(remarks(row)) or "The case did not pass."
        why = f"{'The target gave no answer: ' if row.error else ''}{visible(clip(why, _TEXT))}"
        title = f"{'failed' if row.has_failed else 'error'}: {name(row)}"
        yield _Mark(level, row.origin, title, why, (row.origin, "target", row.error))


def _of_grade(row: Row, grade: Grade, level: str) -> _Mark:
    title = f"{called(grade.assertion, grade.metric)} {said(grade)}: {name(row)}"
    facts = (
        ("why", grade.reason),
        ("expected", expected(grade.assertion)),
        ("got", row.output or ""),
        ("", scored(grade)),
    )
    clipped = ((label, visible(clip(text.strip(), _TEXT))) for label, text in facts if text.strip())
    message = (
        "\n".join(f"{label}: {text}".removeprefix(": ") for label, text in clipped)
        or "no reason was given"
    )
    origin = spot(row, grade)
    advice = not grade.counts and grade.has_failed
    key = (origin, grade.assertion.type, grade.outcome, row.origin if origin == NOWHERE else None)
    return _Mark("warning" if advice else level, origin, title, message, key)


def _command(mark: _Mark, more: str, links: Links) -> str:
    """At the line where the file is there; else the message names the place, as of a file that was deleted."""
    origin = mark.origin
    at_line = bool(origin.file) and len(origin.file) < _PATH and links.holds(origin.file)
    file, line = (visible(origin.file), origin.line or None) if at_line else ("", None)
    where = "" if at_line or not origin.file else f"{place(origin)}: "
    message = where + excerpt(mark.message, 3000) + more
    return command(mark.level, message, file=file, line=line, title=one_line(mark.title)) + "\n"


REPORTS.register("annotations")(Report("annotations", Sink.ANNOTATIONS, "", render))
