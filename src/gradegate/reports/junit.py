"""JUnit XML: one suite for each prompt and provider, one test case for each answer.

A ``<failure>`` is what blocks, so that a reader of the file and the check say the same. What fails and only advises has passed to a
reader, because the format has no third outcome that all readers show: advisory assertions, failures that the rules allow, and
failures of the base. Their ``system-out`` begins with ADVISORY. What failed once and was not re-asked is ``<skipped>``, and so is
an error in a run that is green without it. If the run is not green and no case says why, a test case "the run" does.
"""

import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from junit_xml import TestCase, TestSuite

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report
from gradegate.reports.format.escape import Xml, join_nonempty, one_line, visible
from gradegate.reports.format.plain import PLAIN
from gradegate.reports.view.case import flaky_lines
from gradegate.reports.view.findings import Effect, Finding, findings_in_plan_order, is_unchecked
from gradegate.reports.view.run_summary import cache_and_budget, metric_value, provenance
from gradegate.reports.view.wording import (
    OUTCOME_WORDS,
    assertion_name,
    config_titles,
    gate_changes_sentence,
    grade_outcome,
    grade_reason,
    recorded_files_notice,
    row_remarks,
    text_at_origin,
    visible_name,
)
from gradegate.results.baseline import case_status
from gradegate.results.gate_changes import GateChanges
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome, RunResult
from gradegate.structs import FrozenStruct

_MOST_PROPERTIES = 100  # of one name
_TEXT = 20_000  # characters of one text
_MESSAGE = 500  # characters of the reasons in a message
_LEAST_REASON = 40  # characters of one reason in a message
# The outcome of the test case "the run", by that of a run that is not green. PASS: it is skipped.
_RUN_OUTCOMES = {
    GateOutcome.BLOCKED: FAIL,
    GateOutcome.INCONCLUSIVE: ERROR,
    GateOutcome.NOT_RUN: PASS,
}

Property = tuple[str, str]  # name and value


def render(decision: Decision, links: Links) -> Document:
    """Render the XML in parts of one test case each."""
    return Document(_render_parts(decision, links))


def _render_parts(decision: Decision, links: Links) -> Iterator[Xml]:
    """Yield the test suite of the run if it needs one, then one for each prompt and provider."""
    is_green = decision.outcome not in _RUN_OUTCOMES
    answers = [_Answer(finding, is_green) for finding in findings_in_plan_order(decision)]

    # Readers that know only test cases must not take the run for one that passed: it may get a test case of its own.
    run_cases = []
    if not is_green and all(answer.outcome is PASS for answer in answers):
        outcome = _RUN_OUTCOMES[decision.outcome]
        run_cases = [_RunCase(outcome, one_line(decision.reason, 500))]

    yield Xml('<?xml version="1.0" encoding="UTF-8"?>\n')
    title = one_line(", ".join(config_titles(decision)), 300) or "gradegate"
    yield _opening_tag("testsuites", {"name": title, **_totals([*run_cases, *answers])})

    # The format has no properties of the whole run, so the first suite gets them.
    properties = list(_run_properties(decision.run, decision.changes, links))
    for run_case in run_cases:
        xml = _case_xml(run_case.build(), [])
        yield from _render_suite("gradegate", run_cases, properties, [xml])
        properties = []

    suites = _group_by_suite(answers)
    derived = _derived_properties(decision.run)
    has_several_files = len({suite.file for suite in suites}) > 1
    for suite, members in suites.items():
        title = suite.title(has_several_files)
        cases = _render_cases(title, members)
        yield from _render_suite(title, members, properties + derived[suite], cases)
        properties = []
    yield Xml("</testsuites>\n")


class _Answer(FrozenStruct):
    """An answer with the outcome that a reader of JUnit is shown."""

    finding: Finding
    is_green: bool  # of the run

    @property
    def row(self) -> Row:
        """The row of the answer."""
        return self.finding.row

    @property
    def seconds(self) -> float:
        """How long the answer took, 0 if it was not measured."""
        seconds = self.row.usage.seconds
        return seconds if 0 <= seconds < 1e9 else 0.0

    @property
    def outcome(self) -> Outcome:
        """FAIL only for what blocks. A case that does not count stops nothing, whatever its errors."""
        if self.finding.effect is Effect.BLOCKS:
            return FAIL
        return ERROR if self._is_undecided and not self.is_green else PASS

    @property
    def _is_undecided(self) -> bool:
        has_moved_grader = self.finding.effect is Effect.UNCLEAR and self.row.has_failed
        return self.row.counts and (has_moved_grader or self.row.has_error)

    @property
    def skipped(self) -> str:
        """Why the answer neither passed nor failed. Empty if it did."""
        if self.finding.effect is Effect.ONCE:
            return "failed once, not re-asked"
        if self.is_green and self._is_undecided:
            why = f": no answer: {one_line(self.row.error, 300)}" if self.row.error else ""
            return f"error, and the run passes without it{why}"
        return "nothing was asserted" if is_unchecked(self.row) else ""


class _RunCase(FrozenStruct):
    """The test case "the run", for a run that is not green although no answer says why."""

    outcome: Outcome  # one of ``_RUN_OUTCOMES``
    reason: str
    seconds: float = 0.0

    @property
    def skipped(self) -> str:
        """Why nothing was run. Empty for any other run."""
        return self.reason if self.outcome is PASS else ""

    def build(self) -> TestCase:
        """The test case of the format."""
        case = TestCase("the run", "gradegate")
        add_info = {
            FAIL: case.add_failure_info,
            ERROR: case.add_error_info,
            PASS: case.add_skipped_info,
        }
        add_info[self.outcome](self.reason)
        return case


_Case = _Answer | _RunCase


class _Suite(NamedTuple):
    """What the answers of a test suite have in common."""

    file: str  # the config
    prompt: str
    provider: str

    def title(self, has_several_files: bool) -> str:
        """``evals/a.yaml | Answer briefly | openai:chat:gpt-5``, without the file if there is only one."""
        file, prompt, provider = (one_line(text, 120) for text in self)
        return join_nonempty(
            " | ",
            file if has_several_files else "",
            prompt or "prompt",
            provider or "provider",
        )


def _group_by_suite(answers: Iterable[_Answer]) -> dict[_Suite, list[_Answer]]:
    """The answers of each test suite, in plan order."""
    suites = defaultdict(list)
    for answer in answers:
        row = answer.row
        suites[_Suite(row.suite, row.prompt_label, row.provider)].append(answer)
    return suites


def _derived_properties(run: RunResult) -> defaultdict[_Suite, list[Property]]:
    """Names and values of the derived metrics of each test suite."""
    properties = defaultdict(list)
    for metric in run.derived:
        name = f"derived {one_line(metric.name, 100)}"
        suite = _Suite(metric.suite, metric.prompt_label, metric.provider)
        properties[suite].append((name, metric_value(metric)))
    return properties


def _render_suite(
    title: str, members: Sequence[_Case], properties: Sequence[Property], cases: Iterable[Xml]
) -> Iterator[Xml]:
    """Yield a test suite. ``cases`` is the XML of its members."""
    skipped = sum(bool(member.skipped) for member in members)
    attributes = {"name": title, **_totals(members), "skipped": str(skipped)}
    yield _opening_tag("testsuite", attributes)
    if properties:
        yield _xml(_properties_element(properties))
    yield from cases
    yield Xml("</testsuite>\n")


def _render_cases(suite: str, answers: Iterable[_Answer]) -> Iterator[Xml]:
    """Yield each test case by itself. A tree of the whole run would take kilobytes of memory for every case."""
    counts: Counter[str] = Counter()
    for answer in answers:
        name = visible_name(answer.row)
        counts[name] += 1
        if counts[name] > 1:  # some readers keep only the first of two test cases with one name
            name += f" #{counts[name]}"
        yield _case_xml(_build_case(answer, suite, name), list(_case_properties(answer.row)))


def _totals(cases: Iterable[_Case]) -> dict[str, str]:
    """The figures of test cases that a test suite and the whole file have, by the names of their attributes."""
    counts: Counter[Outcome] = Counter()
    seconds = 0.0
    for case in cases:
        counts[case.outcome] += 1
        seconds += case.seconds
    return {
        "tests": str(counts.total()),
        "failures": str(counts[FAIL]),
        "errors": str(counts[ERROR]),
        "time": f"{seconds:.3f}",
    }


# --- test cases ---------------------------------------------------------------------------------------------------------


def _build_case(answer: _Answer, suite: str, name: str) -> TestCase:
    """The test case of an answer. ``suite`` and ``name`` are those of the format."""
    row = answer.row
    case = TestCase(
        name,
        suite,
        answer.seconds,
        file=visible(row.origin.file) or None,
        line=row.origin.line or None,
    )
    grades = _deciding_grades(answer)
    if answer.skipped:
        case.add_skipped_info(answer.skipped)
    elif answer.outcome is not PASS:
        types = " ".join(dict.fromkeys(assertion_name(grade.assertion) for grade in grades))
        kind = "target" if row.error else types or "case"
        add = case.add_failure_info if answer.outcome is FAIL else case.add_error_info
        message = _message(row, grades) or OUTCOME_WORDS[answer.outcome]
        add(message, _render_part("evidence", row, grades), kind)
    case.stdout = "\n".join(_output_lines(answer, grades)) or None
    return case


def _deciding_grades(answer: _Answer) -> list[Grade]:
    """The grades with the outcome of the answer, so that an error is never among the failures. Empty if it passed."""
    if answer.outcome is PASS:
        return []
    for grades in (answer.finding.decisive, answer.finding.grades):
        deciding = [grade for grade in grades if grade.outcome is answer.outcome]
        if deciding:
            return deciding
    return []


def _message(row: Row, grades: Sequence[Grade]) -> str:
    """Name each assertion with its reason. Many readers show only this message, so the reasons share its room."""
    if row.error:
        return one_line(f"no answer: {row.error}", _MESSAGE)
    texts = row_remarks(row)
    room = max(_LEAST_REASON, _MESSAGE // max(1, len(grades)))
    for grade in grades:
        outcome = f" {grade_outcome(grade)}" if grade.unconfirmed else ""
        reason = one_line(grade_reason(grade), room)
        texts.append(f"{assertion_name(grade.assertion)}{outcome}: {reason}")
    return "; ".join(one_line(text, _MESSAGE) for text in texts)


def _output_lines(answer: _Answer, deciding: Sequence[Grade]) -> Iterator[str]:
    """What goes beside the outcome of a case: that it only advises, and the other grades that did not pass."""
    finding, row = answer.finding, answer.row
    if answer.outcome is PASS:
        if finding.effect is not Effect.NONE and not answer.skipped:
            subject = "a member of a set" if finding.is_within_set else "it"
            yield f"ADVISORY: {subject} does not pass, but does not block"
        yield from row_remarks(row)
    if not row.error:
        for grade in finding.grades:
            if grade not in deciding:
                yield _render_part("assertion", row, grade)


def _render_part(part: str, row: Row, graded: Grade | Sequence[Grade]) -> str:
    """Render a part of ``templates/case.txt``."""
    return PLAIN.macros("case.txt")(part, row, graded, _TEXT).removesuffix("\n")


# --- properties ---------------------------------------------------------------------------------------------------------


def _run_properties(run: RunResult, changes: GateChanges, links: Links) -> Iterator[Property]:
    """How the run was made, its notes, what it saved, and what the pull request does to its gate."""
    yield from provenance(run.made)
    if run.made.started:
        yield "started", one_line(run.made.started, 40)
    recorded = recorded_files_notice(run.made)
    if recorded:
        yield "recorded", recorded
    for text in dict.fromkeys(note.text for note in run.notes[:_MOST_PROPERTIES]):
        yield "note", one_line(text, 500)
    for line in flaky_lines(run.rows)[:_MOST_PROPERTIES]:
        yield "flaky", one_line(line, 500)
    for text in cache_and_budget(run):
        yield "saved", text
    if changes.found:
        yield "gate", gate_changes_sentence(changes)
    for change in changes.found[:_MOST_PROPERTIES]:
        yield f"gate {change.kind.value}", text_at_origin(change.origin, change.text, 500)
    more = len(changes.found) - _MOST_PROPERTIES
    if more > 0:
        place = f" in {one_line(links.results)}" if links.results else ""
        yield "gate", f"{more:,} more{place}"


def _case_properties(row: Row) -> Iterator[Property]:
    """The counts of a case that was re-asked, of a case with several runs, and the status compared with the base."""
    votes = list(chain.from_iterable(grade.votes for grade in row.grades))
    if votes:
        yield "asks", str(len(votes))
        yield "fails", str(sum(vote.has_failed for vote in votes))
    if row.verdict:
        yield "runs", str(row.runs)
        yield "passes", str(row.passed)
        yield "needed", str(row.needed)
    if any(grade.status for grade in row.grades):
        yield "status", case_status(row)


# --- XML ----------------------------------------------------------------------------------------------------------------


def _properties_element(properties: Sequence[Property]) -> ET.Element:
    element = ET.Element("properties")
    for name, value in properties:
        ET.SubElement(element, "property", name=name, value=value)
    return element


def _case_xml(case: TestCase, properties: Sequence[Property]) -> Xml:
    element = TestSuite("", [case]).build_xml_doc().find("testcase")
    if properties:
        # pytest puts properties of a test here, and readers look for them. Jenkins's schema knows none here.
        element.insert(0, _properties_element(properties))
    if case.elapsed_sec is not None:
        element.set("time", f"{case.elapsed_sec:.3f}")
    return _xml(element)


def _opening_tag(tag: str, attributes: dict[str, str]) -> Xml:
    return Xml(_xml(ET.Element(tag, attributes)).replace(" />", ">"))


def _xml(element: ET.Element) -> Xml:
    """An element as text. Only here is XML written, so it has no hidden character and none that XML forbids."""
    text = visible(ET.tostring(element, encoding="unicode"))
    # GitLab and Jenkins would attach a file of the machine that reads the report.
    return Xml(text.replace("[[ATTACHMENT|", "[ [ATTACHMENT|") + "\n")


REPORTS.register("junit")(Report("junit", ".xml", render))
