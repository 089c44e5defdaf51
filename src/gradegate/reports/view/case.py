"""A case with all that there is to say about it, for the page in a browser, the terminal and the lines of other reports.

``view_case`` puts it together for reports that show one case as a whole. The other functions give single lines and texts; templates
know them as ``cases``.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from gradegate.core.conversation import Turn
from gradegate.core.numbers import describe_usage, format_count, format_number
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.reports.format.escape import join_nonempty, one_line
from gradegate.reports.view.claims import Claim, grade_claims
from gradegate.reports.view.differences import Difference, compare_words
from gradegate.reports.view.findings import Effect, Finding, is_unchecked
from gradegate.reports.view.wording import (
    assertion_name,
    assertion_outcomes,
    expected_text,
    grade_origin,
    grade_outcome,
    origin_text,
    row_remarks,
    score_text,
    visible_name,
)
from gradegate.results.baseline import FIXED, NEW_FAILURE, PRE_EXISTING, UNSTEADY, case_status
from gradegate.results.grades import Grade
from gradegate.results.rows import Row, format_value, name_variables
from gradegate.structs import FrozenStruct

_MOST_CHAT = 200_000  # characters; a longer prompt is not read as a chat
_LINE = 200  # characters of the reason in the line of a case
_STATUS_WORDS = {
    NEW_FAILURE: "new",
    PRE_EXISTING: "known",
    UNSTEADY: "known, unsteady on the base",
}


# --- a whole case -------------------------------------------------------------------------------------------------------


class CaseView(FrozenStruct):
    """A case as a report shows it."""

    number: int  # its place in results.json, from 1
    row: Row
    status: str  # compared with the base and the rules; empty if there is nothing to say
    first_failure: Shortfall
    further_failures: str
    exchange: Exchange
    failing: list[AssertionView]
    passing: list[AssertionView]
    messages: list[MessageView]  # empty for a single exchange
    grader: Usage

    @property
    def has_difference(self) -> bool:
        """Whether the answer is shown beside what was expected, and need not be shown once more."""
        return any(assertion.difference for assertion in self.failing)

    @property
    def kind(self) -> str:
        """``pass``, ``fail``, ``error``, or ``advisory`` for a failure that decides nothing."""
        return self.failing[0].kind if self.failing else self.row.outcome.value


class AssertionView(FrozenStruct):
    """An assertion with its grade. ``difference`` is None if marking words says nothing."""

    grade: Grade
    kind: str  # how it is coloured: ``pass``, ``fail``, ``error`` or ``advisory``
    expected: str
    difference: Difference | None
    claims: list[Claim]


class MessageView(FrozenStruct):
    """A message of a conversation, with the names of the assertions that failed because of it."""

    number: int
    turn: Turn
    failures: tuple[str, ...]


def view_case(finding: Finding, mark_words: bool = True) -> CaseView:
    """All about a case. ``mark_words``: find out which words of the answer differ from what was expected."""
    row = finding.row
    failing = finding.grades
    view_assertion = partial(_view_assertion, row, finding.decisive, mark_words)

    is_good = row.has_passed and not failing
    status = "" if is_good else describe_effect(finding)
    if is_fixed(row):
        status = "fixed"
    elif is_unchecked(row):
        status = "not checked"
    return CaseView(
        number=finding.place + 1,
        row=row,
        status=status,
        first_failure=Shortfall("", "") if is_good else first_failure(finding, _LINE),
        further_failures=further_failures(finding),
        exchange=relevant_exchange(row, failing),
        failing=list(map(view_assertion, failing)),
        passing=[view_assertion(grade) for grade in row.grades if grade.has_passed],
        messages=_view_messages(row) if len(row.turns) > 2 else [],
        grader=sum((grade.usage for grade in row.grades), NO_USAGE),
    )


def _view_assertion(
    row: Row, decisive: Sequence[Grade], mark_words: bool, grade: Grade
) -> AssertionView:
    """An assertion of a row as a report shows it. ``decisive`` are the row's grades that take part in deciding."""
    expected = expected_text(grade.assertion)
    difference = None
    # What a negated assertion names is what the answer should not contain.
    if expected and mark_words and grade.has_failed and not grade.assertion.is_negated:
        difference = compare_words(expected, relevant_exchange(row, [grade]).answer)
    kind = grade_kind(grade, decisive)
    return AssertionView(grade, kind, expected, difference, grade_claims(row, grade))


def _view_messages(row: Row) -> list[MessageView]:
    """The messages of a conversation, each with the assertions that blame it."""
    failures = defaultdict(list)  # names of assertions by the number of a message
    for grade in row.grades:
        if grade.has_failed:
            for number in _blamed_turns(row, grade):
                failures[number].append(assertion_name(grade.assertion))
    messages = []
    for number, turn in enumerate(row.turns, 1):
        distinct_names = tuple(dict.fromkeys(failures[number]))
        messages.append(MessageView(number, turn, distinct_names))
    return messages


# --- the exchange that a failure is about -------------------------------------------------------------------------------


class Exchange(FrozenStruct):
    """A question and its answer. ``turn`` is the number of the answer in its conversation, 0 without a conversation."""

    question: str
    answer: str
    turn: int = 0


def relevant_exchange(row: Row, failures: Sequence[Grade] = ()) -> Exchange:
    """The exchange with the first turn that the first failure blames, or the last exchange."""
    question = _last_user_message(row.prompt)
    if not row.turns:
        return Exchange(question, row.output or "")

    number = _relevant_turn(row, failures)
    for turn in row.turns[:number]:
        if turn.role == "user":
            question = turn.content
    turn = row.turns[number - 1]
    answer = turn.content if turn.role == "assistant" else row.output or ""
    is_conversation = len(row.turns) > 2
    return Exchange(question, answer, number if is_conversation else 0)


def _relevant_turn(row: Row, failures: Sequence[Grade]) -> int:
    """The number of a turn, from 1: the first that the first failure blames, else the last answer."""
    blamed = _blamed_turns(row, failures[0]) if failures else ()
    if blamed:
        return blamed[0]
    answers = [number for number, turn in enumerate(row.turns, 1) if turn.role == "assistant"]
    return answers[-1] if answers else len(row.turns)


def _blamed_turns(row: Row, grade: Grade) -> tuple[int, ...]:
    """The numbers of the turns that a failure is about, from 1, without those that the conversation does not have."""
    return tuple(turn for turn in grade.turns if 0 < turn <= len(row.turns))


def _last_user_message(prompt: str) -> str:
    """The last message of the user in a prompt that is a chat, or the prompt."""
    if not prompt.lstrip().startswith("[") or len(prompt) > _MOST_CHAT:
        return prompt
    try:
        messages = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
    return prompt


def question_line(row: Row, question: str, limit: int) -> str:
    """A question in one line. If it is cut, the variables of the case instead, unless the line or the case's name has them."""
    line = one_line(question, limit)
    if not line.endswith("…"):
        return line
    for value in row.vars.values():
        text = one_line(format_value(value), limit)[:limit]
        if text and line.startswith(text):
            return line
    # Any other long prompt begins like those of all cases. A case without a description is named by its variables.
    if not row.description.strip():
        return line
    return one_line(name_variables(row.vars), limit) or line


# --- a case in a line ---------------------------------------------------------------------------------------------------


class Shortfall(NamedTuple):
    """What did not pass, and why in one line. ``assertion`` is empty if no assertion is the reason."""

    assertion: str
    reason: str


def first_failure(finding: Finding, limit: int) -> Shortfall:
    """The first assertion that did not pass, with at most ``limit`` characters of its reason."""
    row = finding.row
    if row.error:
        return Shortfall("", one_line(f"no answer: {row.error}", limit))
    if not finding.grades:
        remarks = "; ".join(row_remarks(row)) or "no assertion gives a reason"
        return Shortfall("", one_line(remarks, limit))
    grade = finding.grades[0]
    reason = one_line(grade.reason, limit)
    reason = reason or join_nonempty(", ", grade_outcome(grade), score_text(grade))
    return Shortfall(assertion_name(grade.assertion), reason)


def further_failures(finding: Finding, limit: int = sys.maxsize) -> str:
    """``also: equals failed``: the assertions that ``first_failure`` leaves out. Empty if there are none or no answer."""
    grades = [] if finding.row.error else finding.grades[1:]
    return f"also: {assertion_outcomes(grades, limit)}" if grades else ""


def failure_status(row: Row) -> str:
    """``new`` or ``known`` for a failure that was compared with the base, or an empty string."""
    if not any(grade.status for grade in row.grades):
        return ""
    failures = [grade for grade in row.grades if grade.has_failed and not grade.inner]
    decisive = [grade for grade in failures if grade.counts]
    return _STATUS_WORDS.get(case_status(row, decisive or failures), "")


def describe_effect(finding: Finding) -> str:
    """``new``, ``known, within the rules``: the status of a finding, and why it only advises if it does."""
    row = finding.row
    status = failure_status(row)
    if finding.effect is not Effect.ADVISES:
        return status
    quarantines = [grade.quarantine for grade in row.grades if grade.quarantine]
    if any(grade.has_failed and grade.counts for grade in row.grades):
        excuse = "within the rules"
    elif quarantines:
        excuse = f"in quarantine until {quarantines[0]}"
    elif finding.is_within_set:
        excuse = "within the set"
    else:
        excuse = "advisory"
    return join_nonempty(", ", status, excuse)


def is_fixed(row: Row) -> bool:
    """Whether a case failed on the base and passes now."""
    return row.has_passed and case_status(row) == FIXED


def flaky_lines(rows: Iterable[Row]) -> list[str]:
    """Lines such as ``refunds: llm-rubric: flaky: 14 of 60 asks failed on the default branch``, the worst first."""
    lines = []
    for row in rows:
        for grade in row.grades:
            past = grade.history
            if not past or not (past.flaky or past.broken):
                continue
            votes = past.fails + past.passes
            asks = f"{past.fails} of {format_count(votes, 'ask')} failed"
            if past.broken:
                text = f"broken on the default branch: {asks} there"
            else:
                text = f"flaky: {asks} on the default branch"
            line = f"{visible_name(row)}: {assertion_name(grade.assertion)}: {text}"
            lines.append((-past.fails / votes, line))
    lines.sort(key=itemgetter(0))
    return [line for _, line in lines]


def usage_text(usage: Usage) -> str:
    """``1 call, 120 tokens, 0.001 USD, 0.5 s``, without the time if it was not measured."""
    text = describe_usage(usage)
    if math.isfinite(usage.seconds) and usage.seconds > 0:
        text += f", {format_number(usage.seconds, 2)} s"
    return text


# --- an assertion -------------------------------------------------------------------------------------------------------


def has_more_than_reason(grade: Grade) -> bool:
    """Whether the evidence of a grade says more than single words of its reason."""
    words = set(re.findall(r"\w+", grade.reason))
    for value in grade.evidence.values():
        if not isinstance(value, str) or value not in words:
            return True
    return False


def grader_steps(grade: Grade) -> list[str] | None:
    """What a grader in ``verbose_mode`` noted step by step, or None."""
    steps = grade.evidence.get("steps")
    if isinstance(steps, list) and all(isinstance(step, str) for step in steps):
        return steps
    return None


def assertion_headline(row: Row, grade: Grade) -> str:
    """An assertion with its outcome, score and line."""
    outcome = f"{assertion_name(grade.assertion)} {grade_outcome(grade)}"
    return join_nonempty(", ", outcome, score_text(grade), origin_text(grade_origin(row, grade)))


def grade_kind(grade: Grade, decisive: Sequence[Grade]) -> str:
    """``pass``, ``fail``, ``error``, or ``advisory`` for a failure that is not ``decisive``."""
    is_advice = grade.has_failed and grade not in decisive
    return "advisory" if is_advice else grade.outcome.value
