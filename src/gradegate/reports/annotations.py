"""Annotations: what did not pass, as workflow commands that GitHub shows at the line of the config."""

from collections import Counter
from collections.abc import Iterator, Sequence

from gradegate.core.numbers import format_count
from gradegate.core.provider_spec import NOWHERE
from gradegate.errors import Origin
from gradegate.reports.delivery.report import REPORTS, Annotations, Links, Report
from gradegate.reports.format.escape import Log, clip, command, one_line
from gradegate.reports.view.findings import Effect, Finding, failed_once, sort
from gradegate.reports.view.wording import (
    called,
    expected,
    name,
    named,
    notes,
    place,
    reason,
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
from gradegate.structs import FrozenStruct, Struct, replace

_MOST = 10  # of one level in one step; GitHub hides further ones
_PATH = 1000  # characters; a longer name is not that of a file
_TEXT = 600  # characters of one text; GitHub cuts a message at 4,096
_LONG = 2000  # characters of the names of assertions


class _Mark(FrozenStruct):
    """One annotation; marks with the same key are one, with a count. ``case``: the number of its case, 0 for a note."""

    level: str
    origin: Origin
    title: str
    message: str
    key: tuple[object, ...]
    case: int = 0


class _Level(Struct):
    """The annotations of one level. Only the first ten are shown: of the others nothing but their number is kept."""

    firsts: dict[tuple[object, ...], _Mark] = {}  # by their keys
    cases: dict[object, set[int]] = {}  # by those keys: of one case, all assertions are named
    shown: set[object] = set()  # cases and notes
    left: dict[object, str] = {}  # and what each of the others is called

    def add(self, mark: _Mark) -> None:
        if len(self.firsts) < _MOST:
            self.firsts.setdefault(mark.key, mark)
        about = mark.case or mark.key
        if mark.key in self.firsts:
            self.cases.setdefault(mark.key, set()).add(mark.case)
            self.shown.add(about)
        else:
            self.left[about] = "more case" if mark.case else "more note"

    def commands(self, links: Links) -> Iterator[Log]:
        hidden = Counter(kind for it, kind in self.left.items() if it not in self.shown)
        for number, mark in enumerate(self.firsts.values(), 1):
            others = len(self.cases[mark.key]) - 1
            more = [f"{format_count(others, 'more answer')} at this line"] if others else []
            if number == len(self.firsts):
                more += [format_count(count, kind) for kind, count in hidden.items()]
            rest = f"\n... and {', and '.join(more)}; see the job summary" if more else ""
            yield _command(mark, rest, links)


def render(decision: Decision, links: Links) -> Annotations:
    """One command on each line."""
    levels = {level: _Level() for level in ("error", "warning", "notice")}
    for mark in _marks(decision):
        levels[mark.level].add(mark)
    lines = (line for level in levels.values() for line in level.commands(links))
    return Annotations(list(lines))


def _marks(decision: Decision) -> Iterator[_Mark]:
    for change in decision.changes.found:
        level = "notice" if change.kind is ChangeKind.CHANGED else "warning"
        title, text = f"the gate: {change.kind.value}", clip(change.text, _TEXT)
        key = change.origin, change.text
        yield _Mark(level, change.origin or NOWHERE, title, text, key)
    # In a run that passes, what could not be told is worth a look and no alarm.
    alarm = (
        "error"
        if decision.outcome in (GateOutcome.BLOCKED, GateOutcome.INCONCLUSIVE)
        else "warning"
    )
    levels = {Effect.BLOCKS: "error", Effect.UNCLEAR: alarm, Effect.KNOWN: "notice"}
    number = 0
    for effect, findings in sort(decision).items():
        for finding in findings:
            for row in (finding.row, *finding.alike):
                number += 1
                for mark in _of_row(row, finding, levels.get(effect, "warning")):
                    yield replace(mark, case=number)
    for note in notes(decision):
        if note.origin and note.origin.file:
            text = clip(note.text, _TEXT)
            yield _Mark("warning", note.origin, "gradegate", text, (note.origin, note.text))


def _of_row(row: Row, finding: Finding, level: str) -> Iterator[_Mark]:
    grades = replace(finding, row=row).grades
    if grades and not row.error:
        # Members of a set stand beside another assertion, as long as there is one.
        marked = [grade for grade in grades if not grade.inner] or grades[:1]
        yield from (_of_grade(row, grade, grades, level) for grade in marked)
        return
    why = row.error or "; ".join(remarks(row)) or "The case did not pass."
    why = clip(why, _TEXT)
    if row.error:
        why = f"The target gave no answer: {why}"
    title = f"{'failed' if row.has_failed else 'error'}: {name(row)}"
    yield _Mark(level, row.origin, title, why, (row.origin, "target", row.error))


def _of_grade(row: Row, grade: Grade, grades: Sequence[Grade], level: str) -> _Mark:
    title = f"{called(grade.assertion)} {said(grade)}: {name(row)}"
    # The other assertions of the case may stand at lines that are not shown.
    facts = (
        ("why", reason(grade), _TEXT),
        ("also", named((other for other in grades if other is not grade), _LONG), _LONG),
        ("expected", expected(grade.assertion), _TEXT),
        ("got", row.output or "", _TEXT),
        ("", scored(grade), _TEXT),
    )
    clipped = ((label, clip(text.strip(), most)) for label, text, most in facts if text.strip())
    message = "\n".join(f"{label}: {text}".removeprefix(": ") for label, text in clipped)
    origin = spot(row, grade)
    if grade.inner:
        level = "notice"
    elif (not grade.counts and grade.has_failed) or failed_once(row, grade):
        level = "warning"
    key = (origin, grade.assertion.type, grade.outcome, row.origin if origin == NOWHERE else None)
    return _Mark(level, origin, title, message, key)


def _command(mark: _Mark, more: str, links: Links) -> Log:
    """At the line where the file is there; else the message names the place, as of a file that was deleted."""
    origin = mark.origin
    at_line = bool(origin.file) and len(origin.file) < _PATH and links.holds(origin.file)
    file, line = (origin.file, origin.line or None) if at_line else ("", None)
    where = "" if at_line or not origin.file else f"{place(origin)}: "
    message = where + excerpt(mark.message, 3000) + more
    title = one_line(mark.title)
    return Log(command(mark.level, message, file=file, line=line, title=title) + "\n")


REPORTS.register("annotations")(Report("annotations", "", render))
