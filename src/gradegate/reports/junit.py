"""JUnit XML: one suite for each prompt and provider, one test case for each answer.

A ``<failure>`` is what blocks, so that a reader of the file and the check say the same. What fails and only advises
(advisory assertions, failures that the rules allow, those of the base) has passed to a reader: the format knows no
third way that all readers show. It is told in ``system-out``, which begins with ADVISORY then. What failed once and was
not asked again is ``<skipped>``, as is what could not be told in a run that is green without it. Where the run is not
green and no case says why, a test case "the run" does.
"""

import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from junit_xml import TestCase, TestSuite

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report
from gradegate.reports.format.escape import Xml, join_nonempty, one_line, visible
from gradegate.reports.format.plain import PLAIN
from gradegate.reports.view.case import flaky
from gradegate.reports.view.findings import Effect, Finding, in_plan_order, unchecked
from gradegate.reports.view.run_summary import provenance, saved, worth
from gradegate.reports.view.wording import (
    OUTCOMES,
    called,
    changed,
    name,
    placed,
    reason,
    recorded,
    remarks,
    said,
    subjects,
)
from gradegate.results.baseline import case_status
from gradegate.results.gate_changes import GateChanges
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome, RunResult
from gradegate.structs import FrozenStruct

_MOST_CHANGES = 100
_TEXT = 20_000  # characters of one text
_MESSAGE, _LEAST = 500, 40  # characters of the reasons in a message, and of one reason

_Key = tuple[str, str, str]


def render(decision: Decision, links: Links) -> Document:
    """The XML in parts of one test case each."""
    return Document(_parts(decision, links))


_ENDS = {
    GateOutcome.BLOCKED: FAIL,
    GateOutcome.INCONCLUSIVE: ERROR,
    GateOutcome.NOT_RUN: None,
}


class _Told(FrozenStruct):
    """An answer as JUnit has it, of a run that is green or not."""

    finding: Finding
    green: bool

    @property
    def row(self) -> Row:
        """The answer."""
        return self.finding.row

    @property
    def outcome(self) -> Outcome:
        """FAIL for what blocks alone; a case of which nothing counts stops nothing, whatever could not be told of it."""
        if self.finding.effect is Effect.BLOCKS:
            return FAIL
        return ERROR if not self.green and self._undecided else PASS

    @property
    def _undecided(self) -> bool:
        doubted = (
            self.finding.effect is Effect.UNCLEAR and self.row.has_failed
        )  # the grader has moved
        return self.row.counts and (doubted or self.row.has_error)

    @property
    def skipped(self) -> str:
        """Why it is neither passed nor failed; empty where it is."""
        if self.finding.effect is Effect.ONCE:
            return "failed once, not re-asked"
        if self.green and self._undecided:
            why = f": no answer: {one_line(self.row.error, 300)}" if self.row.error else ""
            return f"error, and the run passes without it{why}"
        return "nothing was asserted" if unchecked(self.row) else ""


def _parts(decision: Decision, links: Links) -> Iterator[Xml]:
    run, changes = decision.run, decision.changes
    green = decision.outcome not in _ENDS
    rows = [_Told(finding, green) for _, finding in in_plan_order(decision)]
    # The package builds each test case; a tree of the whole run would take kilobytes for every case.
    suites = defaultdict(list)
    for told in rows:
        suites[told.row.suite, told.row.prompt_label, told.row.provider].append(told)
    several = len({file for file, _, _ in suites}) > 1
    yield Xml('<?xml version="1.0" encoding="UTF-8"?>\n')
    # Where no case says that the check fails, a case of its own does.
    alone = not green and all(told.outcome is PASS for told in rows)
    title = one_line(", ".join(subjects(decision)), 300) or "gradegate"
    yield _opening(
        "testsuites", {"name": title, **_totals(rows, decision.outcome if alone else None)}
    )
    said = [
        *_whole(run, changes, links)
    ]  # by the first suite: the format knows nothing of the whole run
    if alone:  # readers that know only test cases must not take the run for one that passed
        outcome, reason = _ENDS[decision.outcome], one_line(decision.reason, 500)
        case = TestCase("the run", "gradegate")
        if outcome is FAIL:
            case.add_failure_info(reason)
        elif outcome:
            case.add_error_info(reason)
        else:
            case.add_skipped_info(reason)
        totals = _totals((), decision.outcome) | {"skipped": str(int(outcome is None))}
        yield from _suite("gradegate", totals, said, [_case_xml(case, ())])
        said = []
    derived = defaultdict(list)
    for metric in run.derived:
        pair = f"derived {one_line(metric.name, 100)}", worth(metric)
        derived[metric.suite, metric.prompt_label, metric.provider].append(pair)
    for key, members in suites.items():
        file, prompt, provider = (one_line(text, 120) for text in key)
        suite = file if several else ""
        title = join_nonempty(" | ", suite, prompt or "prompt", provider or "provider")
        totals = _totals(members) | {"skipped": str(sum(bool(told.skipped) for told in members))}
        yield from _suite(title, totals, said + derived[key], _cases(title, members))
        said = []
    yield Xml("</testsuites>\n")


def _suite(
    title: str, totals: dict[str, str], pairs: Sequence[tuple[str, str]], cases: Iterable[Xml]
) -> Iterator[Xml]:
    yield _opening("testsuite", {"name": title, **totals})
    if pairs:
        yield _xml(_properties(pairs))
    yield from cases
    yield Xml("</testsuite>\n")


def _cases(title: str, rows: list[_Told]) -> Iterator[Xml]:
    seen: Counter[str] = Counter()
    for told in rows:
        text = name(told.row)
        seen[text] += 1  # some readers keep only the first of two test cases with one name
        number = f" #{seen[text]}" if seen[text] > 1 else ""
        yield _case_xml(_case(told, title, text + number), _about(told))


def _whole(run: RunResult, changes: GateChanges, links: Links) -> Iterator[tuple[str, str]]:
    """Of which commit and config it is, what it saved and notes, which answers were recorded, what the pull request does to its gate."""
    yield from provenance(run.made)
    if run.made.started:
        yield "started", one_line(run.made.started, 40)
    if said := recorded(run.made):
        yield "recorded", said
    for text in dict.fromkeys([note.text for note in run.notes][:_MOST_CHANGES]):
        yield "note", one_line(text, 500)
    for line in flaky(run.rows)[:_MOST_CHANGES]:
        yield "flaky", one_line(line, 500)
    for text in saved(run):
        yield "saved", text
    if changes.found:
        yield "gate", changed(changes)
    for change in changes.found[:_MOST_CHANGES]:
        yield f"gate {change.kind.value}", placed(change.origin, change.text, 500)
    if len(changes.found) > _MOST_CHANGES:
        within = f" in {one_line(links.results)}" if links.results else ""
        yield "gate", f"{len(changes.found) - _MOST_CHANGES:,} more{within}"


def _properties(pairs: Iterable[tuple[str, str]]) -> ET.Element:
    properties = ET.Element("properties")
    for key, value in pairs:
        ET.SubElement(properties, "property", name=key, value=value)
    return properties


def _totals(rows: Iterable[_Told], alone: GateOutcome | None = None) -> dict[str, str]:
    """The figures of test cases, and of that for the run where it stands ``alone``."""
    counts: Counter[Outcome | None] = Counter([_ENDS[alone]] if alone else [])
    seconds = 0.0
    for told in rows:
        counts[told.outcome] += 1
        seconds += _seconds(told.row)
    return {
        "tests": str(counts.total()),
        "failures": str(counts[FAIL]),
        "errors": str(counts[ERROR]),
        "time": f"{seconds:.3f}",
    }


def _case(told: _Told, suite: str, title: str) -> TestCase:
    row, grades, outcome = told.row, told.finding.grades, told.outcome
    case = TestCase(
        title,
        suite,
        _seconds(row),
        file=visible(row.origin.file) or None,
        line=row.origin.line or None,
    )
    # The outcome decides, so that an error is never among the failures; the rest goes beside it.
    alike = [
        [grade for grade in listed if grade.outcome is outcome]
        for listed in (told.finding.decisive, grades)
    ]
    chief = [] if outcome is PASS else alike[0] or alike[1]
    if told.skipped:
        case.add_skipped_info(told.skipped)
    elif outcome is not PASS:
        kinds = " ".join(dict.fromkeys(called(grade.assertion) for grade in chief))
        kinds = "target" if row.error else kinds or "case"
        # Many readers show only the message: it names each assertion, and shares its room among the reasons.
        room = max(_LEAST, _MESSAGE // max(1, len(chief)))
        reasons = []
        for grade in chief:
            once = f" {said(grade)}" if grade.unconfirmed else ""
            reasons.append(f"{called(grade.assertion)}{once}: {one_line(reason(grade), room)}")
        why = [f"no answer: {row.error}"] if row.error else [*remarks(row), *reasons]
        add = case.add_failure_info if outcome is FAIL else case.add_error_info
        message = "; ".join(one_line(text, _MESSAGE) for text in why) or OUTCOMES[outcome]
        add(message, _plain("evidence", row, chief), kinds)
    beside = [] if row.error else [grade for grade in grades if grade not in chief]
    about = []
    if outcome is PASS:
        if told.finding.effect is not Effect.NONE and not told.skipped:
            what = "a member of a set" if told.finding.is_within_set else "it"
            about.append(f"ADVISORY: {what} does not pass, but does not block")
        about += remarks(row)
    about += (_plain("assertion", row, grade) for grade in beside)
    case.stdout = "\n".join(about) or None
    return case


def _plain(part: str, row: Row, graded: Grade | Sequence[Grade]) -> str:
    """A part of ``templates/case.txt``."""
    return PLAIN.macros("case.txt")(part, row, graded, _TEXT).removesuffix("\n")


def _about(told: _Told) -> Iterator[tuple[str, str]]:
    """The properties of a test case: how it was asked again, and what it is beside the base."""
    row = told.row
    votes = [grade for grade in row.grades if grade.votes]
    if votes:
        yield "asks", str(sum(len(grade.votes) for grade in votes))
        yield "fails", str(sum(grade.failing_votes for grade in votes))
    if row.verdict:
        yield "runs", str(row.runs)
        yield "passes", str(row.passed)
        yield "needed", str(row.needed)
    if any(grade.status for grade in row.grades):
        yield "status", case_status(row)


def _case_xml(case: TestCase, about: Iterable[tuple[str, str]]) -> Xml:
    element = TestSuite("", [case]).build_xml_doc().find("testcase")
    properties = _properties(about)
    if len(
        properties
    ):  # where pytest puts those of a test, and readers look for them; Jenkins's schema knows none there
        element.insert(0, properties)
    if case.elapsed_sec is not None:
        element.set("time", f"{case.elapsed_sec:.3f}")
    return _xml(element)


def _opening(tag: str, attributes: dict[str, str]) -> Xml:
    return Xml(_xml(ET.Element(tag, attributes)).replace(" />", ">"))


def _xml(element: ET.Element) -> Xml:
    """The element as text: the only place that writes XML, so that nothing invisible and no character that XML forbids is left."""
    text = visible(ET.tostring(element, encoding="unicode"))
    # Without a word by which GitLab and Jenkins attach a file of the machine that reads the report.
    return Xml(text.replace("[[ATTACHMENT|", "[ [ATTACHMENT|") + "\n")


def _seconds(row: Row) -> float:
    seconds = row.usage.seconds
    return seconds if 0 <= seconds < 1e9 else 0.0


REPORTS.register("junit")(Report("junit", ".xml", render))
