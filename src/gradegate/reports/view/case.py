"""A case with all that there is to say about it, for the page in a browser, the terminal and the lines of other reports.

The words that differ from what was expected are marked if the texts are short enough to compare. The evidence of a grader is
read by its shape: lists of mappings with a text and a verdict. No grader says which sentence of the sources a claim was checked
against. The nearest sentence by its words is shown for people, and decides nothing.
"""

import enum
import json
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from operator import itemgetter
from typing import Any

from gradegate.core.conversation import Turn
from gradegate.core.numbers import describe_usage, format_count, format_number
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.reports.format.escape import join_nonempty, one_line
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
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject, replace

_MOST_CHAT = 200_000  # characters; a longer prompt is not read as a chat
_LINE = 200  # characters of the reason in the line of a case
_STATUS_WORDS = {
    NEW_FAILURE: "new",
    PRE_EXISTING: "known",
    UNSTEADY: "known, unsteady on the base",
}


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
    blamed = blamed_turns(row, failures[0]) if failures else ()
    if blamed:
        return blamed[0]
    answers = [number for number, turn in enumerate(row.turns, 1) if turn.role == "assistant"]
    return answers[-1] if answers else len(row.turns)


def blamed_turns(row: Row, grade: Grade) -> tuple[int, ...]:
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
    """A question in one line. If it is long, the variables of the case instead, unless the name of the case has them."""
    line = one_line(question, limit)
    # A long prompt begins like that of every other case, unless it begins with what is filled in.
    values = [one_line(format_value(value), limit)[:limit] for value in row.vars.values()]
    if not line.endswith("…") or any(value and line.startswith(value) for value in values):
        return line
    # A case without a description is named by its variables already.
    variables = name_variables(row.vars) if row.description.strip() else ""
    return one_line(variables, limit) or line


# --- a case in a line ---------------------------------------------------------------------------------------------------


def first_failure(finding: Finding, limit: int) -> tuple[str, str]:
    """The first assertion that did not pass, and its reason in one line."""
    row = finding.row
    if row.error:
        return "", one_line(f"no answer: {row.error}", limit)
    if not finding.grades:
        remarks = "; ".join(row_remarks(row)) or "no assertion gives a reason"
        return "", one_line(remarks, limit)
    grade = finding.grades[0]
    reason = one_line(grade.reason, limit)
    reason = reason or join_nonempty(", ", grade_outcome(grade), score_text(grade))
    return assertion_name(grade.assertion), reason


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


# --- words that differ --------------------------------------------------------------------------------------------------

_MOST_WORDS = 300  # of each text; longer texts are not compared
_MOST_PAIRS = 3000  # of equal words; the time of the comparison grows with them
_LEAST_COMMON = (
    0.4  # share of the words that both texts have; below, nearly every word would be marked
)
_WORD_WITH_GAP = re.compile(r"\s*\S+|\s+$")


class Piece(FrozenStruct):
    """Consecutive words. ``differs``: the other text does not have them there."""

    text: str
    differs: bool


class Difference(FrozenStruct):
    """Two texts in pieces. The pieces of a text, joined, are the text."""

    expected: tuple[Piece, ...]
    got: tuple[Piece, ...]


def compare_words(expected: str, got: str) -> Difference | None:
    """Find the words that differ. None for equal texts, long texts, and texts with little in common."""
    if expected == got or max(len(expected), len(got)) > 20 * _MOST_WORDS:
        return None
    expected_words = _WORD_WITH_GAP.findall(expected)
    got_words = _WORD_WITH_GAP.findall(got)
    if max(len(expected_words), len(got_words)) > _MOST_WORDS:
        return None

    plain_expected = [word.strip() for word in expected_words]
    plain_got = [word.strip() for word in got_words]
    expected_counts = Counter(plain_expected)
    got_counts = Counter(plain_got)
    common = 2 * (expected_counts & got_counts).total()
    pairs = sum(count * got_counts[word] for word, count in expected_counts.items())
    if common / max(1, len(plain_expected + plain_got)) < _LEAST_COMMON or pairs > _MOST_PAIRS:
        return None

    expected_pieces: list[Piece] = []
    got_pieces: list[Piece] = []
    matcher = SequenceMatcher(None, plain_expected, plain_got, autojunk=False)
    for step, start, end, got_start, got_end in matcher.get_opcodes():
        differs = step != "equal"
        expected_pieces += _pieces(expected_words[start:end], differs)
        got_pieces += _pieces(got_words[got_start:got_end], differs)
    return Difference(tuple(expected_pieces), tuple(got_pieces))


def _pieces(words: Sequence[str], differs: bool) -> list[Piece]:
    """The words as one piece. A gap before words that differ is a piece of its own, which is not marked."""
    text = "".join(words)
    marked_text = text.lstrip() if differs else text
    gap = text.removesuffix(marked_text)
    pieces = []
    if gap:
        pieces.append(Piece(gap, False))
    if marked_text:
        pieces.append(Piece(marked_text, differs))
    return pieces


# --- claims in the evidence of a grader ---------------------------------------------------------------------------------

_MOST_CLAIMS = 40  # of a grade
_MOST_SENTENCES = 200  # that claims are compared with
_MOST_SOURCES = 100_000  # characters of the sources that are read
_LEAST_NEAR = 0.34  # share of a claim's words that the nearest sentence must have
_SOURCES = ("retrieval_context", "context")  # variables that contain documents
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w{2,}")


class ClaimVerdict(enum.Enum):
    """What a grader says of a claim, in the order in which reports list claims."""

    NO = "contradicted"
    UNKNOWN = "not verified"
    YES = "holds"


_CLAIM_KEYS = ("claim", "statement", "sentence")
_VERDICT_KEYS = ("verdict", "supported", "attributed", "outcome")
_VERDICTS: Mapping[Any, ClaimVerdict] = {
    **dict.fromkeys(("yes", "true", True), ClaimVerdict.YES),
    **dict.fromkeys(("no", "false", False), ClaimVerdict.NO),
    **dict.fromkeys(("idk", "tie", "unknown"), ClaimVerdict.UNKNOWN),
}
# Lists with a name that is the verdict on all their claims.
_VERDICTS_OF_LISTS = {
    "contradicted": ClaimVerdict.NO,
    "false_details": ClaimVerdict.NO,
    "ambiguous": ClaimVerdict.UNKNOWN,
    "unknown_details": ClaimVerdict.UNKNOWN,
}


class Claim(FrozenStruct):
    """A claim with its verdict. ``nearest`` is the most similar sentence of the sources, if one is similar enough."""

    text: str
    verdict: ClaimVerdict
    reason: str = ""
    nearest: str = ""
    turn: int = 0  # the number of the message with the claim, 0 if it is not known


def grade_claims(row: Row, grade: Grade) -> list[Claim]:
    """The claims in the evidence of a grade, contradicted ones first."""
    claims: dict[str, Claim] = {}
    for claim in _read_claims(grade.evidence):
        first = claims.get(claim.text, claim)
        claims[claim.text] = replace(first, reason=first.reason or claim.reason)
        if len(claims) > _MOST_CLAIMS:
            break
    if not claims:
        return []

    sentences = {sentence: _distinct_words(sentence) for sentence in _source_sentences(row, grade)}
    order = list(ClaimVerdict)
    shown_claims = list(claims.values())[:_MOST_CLAIMS]
    shown_claims.sort(key=lambda claim: order.index(claim.verdict))
    return [
        replace(claim, nearest=_nearest_sentence(claim.text, sentences)) for claim in shown_claims
    ]


def _read_claims(evidence: JsonObject) -> Iterator[Claim]:
    for key, items in evidence.items():
        if not isinstance(items, list | tuple):
            continue
        for item in items:
            claim = _read_claim(key, item) if isinstance(item, Mapping) else None
            if claim:
                yield claim


def _read_claim(key: str, item: JsonObject) -> Claim | None:
    """A claim of the list ``key``. None for an item without a text or a verdict."""
    text = _first_of_type(item, _CLAIM_KEYS, str)
    word = _first_of_type(item, _VERDICT_KEYS, (str, bool))
    verdict = _VERDICTS.get(word) or _VERDICTS_OF_LISTS.get(key)
    if not text or not text.strip() or not verdict:
        return None

    reason = item.get("reason")
    turn = item.get("turn")
    return Claim(
        text.strip(),
        verdict,
        reason if isinstance(reason, str) else "",
        turn=turn if type(turn) is int else 0,
    )


def _first_of_type(item: JsonObject, keys: Sequence[str], types: Any) -> Any:
    """The first value of one of the types under these keys; None if there is none."""
    for key in keys:
        if isinstance(item.get(key), types):
            return item[key]
    return None


def _source_sentences(row: Row, grade: Grade) -> list[str]:
    """What the grader took from the documents, or the sentences of the documents. Each once."""
    texts = grade.evidence.get("truths")
    if not isinstance(texts, list | tuple) or not texts:
        texts = _documents(row)

    sentences: dict[str, None] = {}
    room = _MOST_SOURCES
    for text in texts:
        if not isinstance(text, str):
            continue
        for sentence in _SENTENCE_END.split(text[:room]):
            sentences[sentence.strip()] = None
        room -= len(text)
        if room <= 0 or len(sentences) > _MOST_SENTENCES:
            break
    sentences.pop("", None)
    return list(sentences)[:_MOST_SENTENCES]


def _documents(row: Row) -> list[Any]:
    """The documents of the conversation and of the variables. A variable may contain anything."""
    documents: list[Any] = []
    for turn in row.turns:
        documents += turn.retrieval_context
    for name in _SOURCES:
        value = row.vars.get(name)
        if isinstance(value, str):
            documents.append(value)
        elif isinstance(value, Sequence):
            documents += value
    return documents


def _nearest_sentence(claim: str, sentences: Mapping[str, frozenset[str]]) -> str:
    """The sentence that has most words of a claim. Empty if no sentence has enough of them."""
    words = _distinct_words(claim)
    nearest = ""
    most = _LEAST_NEAR
    for sentence, sentence_words in sentences.items():
        share = len(words & sentence_words) / max(1, len(words))
        if share > most:
            nearest = sentence
            most = share
    return nearest


def _distinct_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(excerpt(text, 4000).lower()))


# --- a whole case -------------------------------------------------------------------------------------------------------


class AssertionView(FrozenStruct):
    """An assertion with its grade. ``difference`` is None if marking words says nothing."""

    grade: Grade
    kind: str  # how it is coloured
    expected: str
    difference: Difference | None
    claims: list[Claim]


class MessageView(FrozenStruct):
    """A message of a conversation, with the names of the assertions that failed because of it."""

    number: int
    turn: Turn
    failures: tuple[str, ...]


class CaseView(FrozenStruct):
    """A case as a report shows it."""

    number: int  # its place in results.json, from 1
    row: Row
    status: str  # compared with the base and the rules
    first_failure: tuple[str, str]  # assertion and reason
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


def view_case(finding: Finding, mark_words: bool = True) -> CaseView:
    """All about a case. ``mark_words``: find out which words of the answer differ from what was expected."""
    row = finding.row
    failing = finding.grades
    decisive = finding.decisive

    def view_assertion(grade: Grade) -> AssertionView:
        expected = expected_text(grade.assertion)
        difference = None
        if expected and mark_words and grade.has_failed and not grade.assertion.is_negated:
            difference = compare_words(expected, relevant_exchange(row, [grade]).answer)
        kind = grade_kind(grade, decisive)
        return AssertionView(grade, kind, expected, difference, grade_claims(row, grade))

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
        first_failure=("", "") if is_good else first_failure(finding, _LINE),
        further_failures=further_failures(finding),
        exchange=relevant_exchange(row, failing),
        failing=[view_assertion(grade) for grade in failing],
        passing=[view_assertion(grade) for grade in row.grades if grade.has_passed],
        messages=_view_messages(row) if len(row.turns) > 2 else [],
        grader=sum((grade.usage for grade in row.grades), NO_USAGE),
    )


def _view_messages(row: Row) -> list[MessageView]:
    failures = defaultdict(list)
    for grade in row.grades:
        if grade.has_failed:
            for number in blamed_turns(row, grade):
                failures[number].append(assertion_name(grade.assertion))
    messages = []
    for number, turn in enumerate(row.turns, 1):
        messages.append(MessageView(number, turn, tuple(dict.fromkeys(failures[number]))))
    return messages
