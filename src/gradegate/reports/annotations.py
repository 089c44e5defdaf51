"""Annotations: what did not pass, as workflow commands that GitHub shows at the line of the config."""

from collections import Counter
from collections.abc import Iterator, Sequence

from gradegate.core.numbers import format_count
from gradegate.core.provider_spec import NOWHERE
from gradegate.errors import Origin
from gradegate.reports.delivery.report import REPORTS, Annotations, Links, Report
from gradegate.reports.format.escape import Log, clip, one_line, workflow_command
from gradegate.reports.view.findings import Effect, Finding, findings_to_read, has_failed_once
from gradegate.reports.view.wording import (
    assertion_name,
    assertion_outcomes,
    distinct_notes,
    expected_text,
    grade_origin,
    grade_outcome,
    grade_reason,
    origin_text,
    row_remarks,
    score_text,
    visible_name,
)
from gradegate.results.gate_changes import ChangeKind
from gradegate.results.grades import Grade
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, Struct, replace

_MOST = 10  # annotations of one level in one step; GitHub hides further ones
_MOST_PATH = 1000  # characters; a longer name is not that of a file
_MOST_TEXT = 600  # characters of one text; GitHub cuts a message at 4,096
_MOST_NAMES = 2000  # characters of the names of assertions
_MOST_MESSAGE = 3000  # characters of a message


def render(decision: Decision, links: Links) -> Annotations:
    """Render one command a line: errors first, then warnings and notices."""
    levels = {level: _Level() for level in ("error", "warning", "notice")}
    for annotation in _annotate_run(decision):
        levels[annotation.level].add(annotation)
    lines: list[Log] = []
    for level in levels.values():
        lines += level.render_commands(links)
    return Annotations(lines)


_Key = tuple[object, ...]  # what annotations of one line have in common


class _Annotation(FrozenStruct):
    """One annotation. Annotations of a level with the same key become one."""

    level: str  # ``error``, ``warning`` or ``notice``
    origin: Origin
    title: str
    message: str
    key: _Key
    case: int = 0  # the number of its case, 0 for a note


class _Level(Struct):
    """The annotations of one level: the first ten keys, and what else there is.

    The *subject* of an annotation is its case, or its key if it is a note.
    """

    shown: dict[_Key, _Annotation] = {}
    subjects: dict[_Key, set[object]] = {}  # of those shown, by key
    hidden: dict[object, str] = {}  # other subjects, with the noun for each

    def add(self, annotation: _Annotation) -> None:
        key = annotation.key
        subject = annotation.case or key
        if key in self.shown or len(self.shown) < _MOST:
            self.shown.setdefault(key, annotation)
            self.subjects.setdefault(key, set()).add(subject)
        else:
            self.hidden[subject] = "more case" if annotation.case else "more note"

    def render_commands(self, links: Links) -> Iterator[Log]:
        """Yield a command for each annotation. The last one counts the subjects that are not shown."""
        # A case may have several annotations, of which one is shown.
        shown_subjects = set().union(*self.subjects.values())
        nouns = Counter(
            noun for subject, noun in self.hidden.items() if subject not in shown_subjects
        )
        for number, (key, annotation) in enumerate(self.shown.items(), 1):
            more = []
            further_answers = len(self.subjects[key]) - 1
            if further_answers:
                more.append(f"{format_count(further_answers, 'more answer')} at this line")
            if number == len(self.shown):
                more += [format_count(count, noun) for noun, count in nouns.items()]
            rest = f"\n... and {', and '.join(more)}; see the job summary" if more else ""
            yield _render_command(annotation, rest, links)


def _annotate_run(decision: Decision) -> Iterator[_Annotation]:
    """Yield the annotations of gate changes, then those of cases, then those of notes with a place."""
    for change in decision.changes.found:
        yield _Annotation(
            level="notice" if change.kind is ChangeKind.CHANGED else "warning",
            origin=change.origin or NOWHERE,
            title=f"the gate: {change.kind.value}",
            message=clip(change.text, _MOST_TEXT),
            key=(change.origin, change.text),
        )

    # In a run that passes, an error is worth a look and no alarm.
    is_red = decision.outcome in (GateOutcome.BLOCKED, GateOutcome.INCONCLUSIVE)
    levels = {
        Effect.BLOCKS: "error",
        Effect.UNCLEAR: "error" if is_red else "warning",
        Effect.KNOWN: "notice",
    }
    case = 0
    for effect, findings in findings_to_read(decision).items():
        for finding in findings:
            for row in (finding.row, *finding.similar):
                case += 1
                for annotation in _annotate_row(row, finding, levels.get(effect, "warning")):
                    yield replace(annotation, case=case)

    for note in distinct_notes(decision):
        if note.origin and note.origin.file:
            text = clip(note.text, _MOST_TEXT)
            yield _Annotation("warning", note.origin, "gradegate", text, (note.origin, note.text))


def _annotate_row(row: Row, finding: Finding, level: str) -> Iterator[_Annotation]:
    """One annotation for each grade that did not pass. If there is no answer, or no such grade, one for the row."""
    grades = replace(finding, row=row).grades
    if grades and not row.error:
        # Members of a set are named by the annotation of another assertion, if there is one.
        chiefs = [grade for grade in grades if not grade.inner] or grades[:1]
        for grade in chiefs:
            yield _annotate_grade(row, grade, grades, level)
        return
    message = row.error or "; ".join(row_remarks(row)) or "The case did not pass."
    message = clip(message, _MOST_TEXT)
    if row.error:
        message = f"The target gave no answer: {message}"
    title = f"{'failed' if row.has_failed else 'error'}: {visible_name(row)}"
    yield _Annotation(level, row.origin, title, message, (row.origin, "target", row.error))


def _annotate_grade(row: Row, grade: Grade, grades: Sequence[Grade], level: str) -> _Annotation:
    """The annotation of a grade that did not pass. ``grades`` are all such grades of its row."""
    assertion = grade.assertion
    origin = grade_origin(row, grade)
    # The lines of the other assertions may have no annotation.
    others = assertion_outcomes((other for other in grades if other is not grade), _MOST_NAMES)
    facts = {
        "why: ": clip(grade_reason(grade).strip(), _MOST_TEXT),
        "also: ": clip(others, _MOST_NAMES),
        "expected: ": clip(expected_text(assertion).strip(), _MOST_TEXT),
        "got: ": clip((row.output or "").strip(), _MOST_TEXT),
        "": score_text(grade),
    }
    message = "\n".join(label + text for label, text in facts.items() if text)

    # The level of the row, or a lower one for a grade that does not decide.
    if grade.inner:
        level = "notice"
    elif (not grade.counts and grade.has_failed) or has_failed_once(row, grade):
        level = "warning"

    title = f"{assertion_name(assertion)} {grade_outcome(grade)}: {visible_name(row)}"
    # Rows share the line of an assertion in `defaultTest`. Without a line, the place of the case tells them apart.
    key = (origin, assertion.type, grade.outcome, row.origin if origin == NOWHERE else None)
    return _Annotation(level, origin, title, message, key)


def _render_command(annotation: _Annotation, rest: str, links: Links) -> Log:
    """Annotate the line if its file is there. Else the message begins with the place, such as of a deleted file."""
    origin = annotation.origin
    message = excerpt(annotation.message, _MOST_MESSAGE) + rest
    file = ""
    line = None
    if origin.file and len(origin.file) < _MOST_PATH and links.has_file(origin.file):
        file = origin.file
        line = origin.line
    elif origin.file:
        message = f"{origin_text(origin)}: {message}"
    title = one_line(annotation.title)
    command = workflow_command(annotation.level, message, file=file, line=line or None, title=title)
    return Log(f"{command}\n")


REPORTS.register("annotations")(Report("annotations", "", render))
