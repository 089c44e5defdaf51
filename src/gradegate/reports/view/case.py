"""A case with all that there is to tell of it, for the page in a browser and for the terminal.

Of an answer it says which words differ from what was expected, bounded, since both may be of any length. What a grader keeps
as evidence is read by its shape: lists of mappings with a text and a verdict. Of a claim no grader says which sentence it was
held against, so that the nearest by its words is shown: that is for people, and decides nothing.
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
from gradegate.reports.view.findings import Effect, Finding, unchecked
from gradegate.reports.view.wording import (
    called,
    expected,
    name,
    named,
    place,
    remarks,
    said,
    scored,
    spot,
)
from gradegate.results.baseline import FIXED, NEW_FAILURE, PRE_EXISTING, UNSTEADY, standing
from gradegate.results.grades import Grade
from gradegate.results.rows import Row, name_variables, shown
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject, replace

_LINE = 200
_COMPARED = 300  # words of each text; what is longer is not compared
_PAIRS = 3000  # of equal words: what the comparison takes grows with them
_ALIKE = 0.4  # of the words are in both: below, every word would be marked, which says nothing
_SPACED = re.compile(r"\s*\S+|\s+$")
_TEXTS = ("claim", "statement", "sentence")
_VERDICTS = ("verdict", "supported", "attributed", "outcome")
_SOURCES = ("retrieval_context", "context")  # variables that hold documents
_MOST, _SENTENCES = 40, 200  # claims of a grade, sentences that they are held against
_LONGEST = 100_000  # characters of the sources that are looked at
_NEAR = 0.34  # of a claim's words are in a sentence that is shown beside it
_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w{2,}")
_CHAT = 200_000  # characters; a longer prompt is not read as a chat
_BESIDE = {NEW_FAILURE: "new", PRE_EXISTING: "known", UNSTEADY: "known, unsteady on the base"}


class Exchange(FrozenStruct):
    """What was asked and answered. ``turn`` is the number of the answer in its conversation, 0 where there is no other."""

    asked: str
    answered: str
    turn: int = 0


def exchange(row: Row, failing: Sequence[Grade] = ()) -> Exchange:
    """The exchange that a failure is about: of a conversation that of the first turn named by the first grade, else the last one."""
    if not row.turns:
        return Exchange(_last_message(row.prompt), row.output or "")
    answers = [number for number, turn in enumerate(row.turns, 1) if turn.role == "assistant"]
    blamed = blamed_turns(row, failing[0]) if failing else ()
    number = [*blamed, *answers[::-1], len(row.turns)][0]
    before = (turn.content for turn in reversed(row.turns[:number]) if turn.role == "user")
    turn = row.turns[number - 1]
    answer = turn.content if turn.role == "assistant" else row.output or ""
    return Exchange(
        next(before, _last_message(row.prompt)), answer, number if len(row.turns) > 2 else 0
    )


def blamed_turns(row: Row, grade: Grade) -> tuple[int, ...]:
    """The numbers of the turns that a failure is about, from 1; those that the conversation does not have are left out."""
    return tuple(turn for turn in grade.turns if 0 < turn <= len(row.turns))


def _last_message(prompt: str) -> str:
    """What the last message of the user says, of a prompt that is a chat; else the prompt."""
    if not prompt.lstrip().startswith("[") or len(prompt) > _CHAT:
        return prompt
    try:
        messages = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    texts = [
        item.get("content")
        for item in messages
        if isinstance(item, dict) and item.get("role") == "user"
    ]
    return next((text for text in reversed(texts) if isinstance(text, str)), prompt)


def question(row: Row, asked: str, limit: int) -> str:
    """What was asked in one line: the message, or what is special about the case where the message is long."""
    line = one_line(asked, limit)
    # A long prompt begins like that of every other case, unless with what is filled in: that tells cases apart.
    values = [one_line(shown(value), limit)[:limit] for value in row.vars.values()]
    if not line.endswith("…") or any(value and line.startswith(value) for value in values):
        return line
    # A case without a description has its variables as a name already.
    pairs = name_variables(row.vars) if row.description.strip() else ""
    return one_line(pairs, limit) or line


def why(finding: Finding, limit: int) -> tuple[str, str]:
    """Which assertion did not pass first, and its reason in one line."""
    row, grades = finding.row, finding.grades
    if row.error:
        return "", one_line(f"no answer: {row.error}", limit)
    if not grades:
        return "", one_line("; ".join(remarks(row)) or "no assertion gives a reason", limit)
    grade = grades[0]
    reason = one_line(grade.reason, limit) or join_nonempty(", ", said(grade), scored(grade))
    return called(grade.assertion), reason


def also(finding: Finding, limit: int = sys.maxsize) -> str:
    """The further assertions that did not pass, which ``why`` leaves out; empty where there are none or no answer came."""
    others = [] if finding.row.error else finding.grades[1:]
    return f"also: {named(others, limit)}" if others else ""


def beside(row: Row) -> str:
    """``new`` or ``known``, of a failure that was compared with the base; else an empty string."""
    if not any(grade.status for grade in row.grades):
        return ""
    failing = [grade for grade in row.grades if grade.has_failed and not grade.inner]
    # Those that count; where none does, those that only advise.
    decisive = [grade for grade in failing if grade.counts] or failing
    return _BESIDE.get(standing(row, decisive), "")


def effect(finding: Finding) -> str:
    """What a finding is beside the base; of what only advises, why it does: ``known, within the rules``."""
    row, against = finding.row, beside(finding.row)
    if finding.effect is not Effect.ADVISES:
        return against
    days = [grade.quarantine for grade in row.grades if grade.quarantine]
    if any(grade.has_failed and grade.counts for grade in row.grades):
        why = "within the rules"
    elif days:
        why = f"in quarantine until {days[0]}"
    elif finding.is_within_set:
        why = "within the set"
    else:
        why = "advisory"
    return join_nonempty(", ", against, why)


def is_fixed(row: Row) -> bool:
    """Whether a case failed on the base and does not any more."""
    return row.has_passed and standing(row) == FIXED


def flaky(rows: Iterable[Row]) -> list[str]:
    """A line for each, the worst first: ``refunds: llm-rubric: flaky: 14 of 60 asks failed on the default branch``."""
    where = "on the default branch"
    lines = []
    for row in rows:
        for grade in row.grades:
            past = grade.history
            if past and (past.flaky or past.broken):
                votes = past.fails + past.passes
                asks = f"{past.fails} of {format_count(votes, 'ask')} failed"
                text = f"broken {where}: {asks} there" if past.broken else f"flaky: {asks} {where}"
                line = f"{name(row)}: {called(grade.assertion)}: {text}"
                lines.append((-past.fails / votes, line))
    return [line for _, line in sorted(lines, key=itemgetter(0))]


def says_more_than_reason(grade: Grade) -> bool:
    """Whether the evidence of a grade does more than repeat words of its reason."""
    words = set(re.findall(r"\w+", grade.reason))
    return any(not isinstance(text, str) or text not in words for text in grade.evidence.values())


def steps_of(grade: Grade) -> list[str] | None:
    """What a grader noted, step by step, if it did."""
    steps = grade.evidence.get("steps")
    is_text = isinstance(steps, list) and all(isinstance(step, str) for step in steps)
    return steps if is_text else None


def headline_of(row: Row, grade: Grade) -> str:
    """An assertion with what became of it, its score, and its line."""
    outcome = f"{called(grade.assertion)} {said(grade)}"
    return join_nonempty(", ", outcome, scored(grade), place(spot(row, grade)))


# --- words that differ ------------------------------------------------------------------------------------------


class Piece(FrozenStruct):
    """Some words in a row; ``differs`` where the other text does not have them there."""

    text: str
    differs: bool


class Difference(FrozenStruct):
    """Both texts in pieces that, joined, are the texts."""

    expected: tuple[Piece, ...]
    got: tuple[Piece, ...]


def difference(expected: str, got: str) -> Difference | None:
    """The words that differ; None for equal texts, for long ones and for those that have too little in common."""
    if expected == got or max(len(expected), len(got)) > 20 * _COMPARED:
        return None
    left, right = _SPACED.findall(expected), _SPACED.findall(got)
    plain = [word.strip() for word in left], [word.strip() for word in right]
    if max(map(len, plain)) > _COMPARED:
        return None
    here, there = map(Counter, plain)
    pairs = sum(count * there[word] for word, count in here.items())
    if 2 * (here & there).total() / max(1, len(left) + len(right)) < _ALIKE or pairs > _PAIRS:
        return None
    steps = SequenceMatcher(None, *plain, autojunk=False).get_opcodes()
    ours = _pieces(left, [(step != "equal", start, end) for step, start, end, _, _ in steps])
    theirs = _pieces(right, [(step != "equal", start, end) for step, _, _, start, end in steps])
    return Difference(tuple(ours), tuple(theirs))


def _pieces(words: list[str], spans: list[tuple[bool, int, int]]) -> Iterator[Piece]:
    for differs, start, end in spans:
        text = "".join(words[start:end])
        words_alone = text.lstrip() if differs else text  # no gap is marked, only words
        if space := text.removesuffix(words_alone):
            yield Piece(space, differs=False)
        if words_alone:
            yield Piece(words_alone, differs)


# --- claims that a grader found ---------------------------------------------------------------------------------


class Holds(enum.Enum):
    """What a grader says of a claim."""

    YES = "holds"
    NO = "contradicted"
    UNKNOWN = "not verified"


_SAID: Mapping[Any, Holds] = {
    **dict.fromkeys(("yes", "true", True), Holds.YES),
    **dict.fromkeys(("no", "false", False), Holds.NO),
    **dict.fromkeys(("idk", "tie", "unknown"), Holds.UNKNOWN),
}
# Lists whose name is the verdict on all that they hold.
_LISTS = {
    "contradicted": Holds.NO,
    "false_details": Holds.NO,
    "ambiguous": Holds.UNKNOWN,
    "unknown_details": Holds.UNKNOWN,
}


class Claim(FrozenStruct):
    """A claim with the verdict on it; ``near`` is the sentence of the sources that it is most like, if there is one."""

    text: str
    holds: Holds
    reason: str = ""
    near: str = ""
    turn: int = 0  # the number of the message that it is from, 0 where that is not told


def claims(row: Row, grade: Grade) -> list[Claim]:
    """The claims of a grade's evidence, those that do not hold first."""
    found: dict[str, Claim] = {}
    for claim in _claims(grade.evidence):
        known = found.get(claim.text)
        found[claim.text] = replace(known, reason=known.reason or claim.reason) if known else claim
        if len(found) > _MOST:
            break
    if not found:
        return []
    sources = [(text, _words(text)) for text in _sentences(row, grade)]
    listed = []
    for claim in sorted(
        [*found.values()][:_MOST], key=lambda claim: [*Holds].index(claim.holds) or 9
    ):
        words = _words(claim.text)
        near = ((len(words & others) / max(1, len(words)), text) for text, others in sources)
        share, text = max(
            near, key=itemgetter(0), default=(0.0, "")
        )  # the first of those that are as near
        listed.append(replace(claim, near=text if share > _NEAR else ""))
    return listed


def _claims(evidence: JsonObject) -> Iterator[Claim]:
    items = (
        (key, item)
        for key, listed in evidence.items()
        if isinstance(listed, list | tuple)
        for item in listed
        if isinstance(item, Mapping)
    )
    for key, item in items:
        text = next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), "").strip()
        said = next(
            (_SAID.get(item[key]) for key in _VERDICTS if isinstance(item.get(key), str | bool)),
            None,
        )
        holds, reason, turn = said or _LISTS.get(key), item.get("reason"), item.get("turn")
        if text and holds:
            yield Claim(
                text,
                holds,
                reason if isinstance(reason, str) else "",
                turn=turn if type(turn) is int else 0,
            )


def _sentences(row: Row, grade: Grade) -> list[str]:
    """What the grader took from the documents, else the sentences of the documents themselves."""
    texts = grade.evidence.get("truths")
    if not isinstance(texts, list | tuple) or not texts:
        texts = [text for turn in row.turns for text in turn.retrieval_context]
        for value in map(row.vars.get, _SOURCES):
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, Sequence):
                texts += value
    found: dict[str, None] = {}
    left = _LONGEST
    for text in texts:
        if not isinstance(text, str):
            continue
        found |= dict.fromkeys(filter(None, map(str.strip, _BREAK.split(text[:left]))))
        left -= len(text)
        if left <= 0 or len(found) >= _SENTENCES:
            break
    return [*found][:_SENTENCES]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(excerpt(text, 4000).lower()))


# --- the case ---------------------------------------------------------------------------------------------------


def kind_of(grade: Grade, decisive: Sequence[Grade]) -> str:
    """``pass``, ``fail``, ``error``, or ``advisory`` for a failure that is not ``decisive``."""
    advises = grade.has_failed and grade not in decisive
    return "advisory" if advises else grade.outcome.value


class Told(FrozenStruct):
    """One assertion: ``difference`` of what it expected and what came, None where that says nothing."""

    grade: Grade
    kind: str  # how it is coloured
    expected: str
    difference: Difference | None
    claims: list[Claim]


class Said(FrozenStruct):
    """A message of a conversation, with the assertions that failed because of it."""

    number: int
    turn: Turn
    blamed: tuple[str, ...] = ()


class CaseView(FrozenStruct):
    """One answer. ``number`` is its place in results.json, from 1; ``about`` is what it is beside the base and the rules."""

    number: int
    row: Row
    about: str
    why: tuple[str, str]  # the assertion that did not pass first, and its reason in a line
    also: str  # the further ones
    exchange: Exchange
    failing: list[Told]
    passing: list[Told]
    turns: list[Said]  # empty where there is no more than a question and an answer
    grader: Usage

    @property
    def compared(self) -> bool:
        """Whether the answer stands beside what was expected, so that it need not stand apart."""
        return any(told.difference for told in self.failing)

    @property
    def kind(self) -> str:
        """What its line is: ``pass``, ``fail``, ``error``, or ``advisory`` for what fails and decides nothing."""
        return self.failing[0].kind if self.failing else self.row.outcome.value


def view(number: int, finding: Finding, compare: bool = True) -> CaseView:
    """All of a case; ``compare``: say which words differ."""
    row, short, decisive = finding.row, finding.grades, finding.decisive
    is_good = row.has_passed and not short
    blamed = defaultdict(list)
    for grade in row.grades:
        if grade.has_failed:
            for turn in blamed_turns(row, grade):
                blamed[turn].append(called(grade.assertion))
    turns = []
    if len(row.turns) > 2:
        for place, message in enumerate(row.turns, 1):
            turns.append(Said(place, message, tuple(dict.fromkeys(blamed[place]))))
    about = "" if is_good else effect(finding)
    if is_fixed(row):
        about = "fixed"
    elif unchecked(row):
        about = "not checked"
    others = [grade for grade in row.grades if not any(grade is it for it in short)]
    return CaseView(
        number,
        row,
        about,
        ("", "") if is_good else why(finding, _LINE),
        also(finding),
        exchange(row, short),
        [_told(row, grade, decisive, compare) for grade in short],
        [_told(row, grade, decisive, compare) for grade in others],
        turns,
        sum((grade.usage for grade in row.grades), NO_USAGE),
    )


def _told(row: Row, grade: Grade, decisive: Sequence[Grade], compare: bool) -> Told:
    wanted = expected(grade.assertion)
    compared = compare and grade.has_failed and not grade.assertion.negated
    words = difference(wanted, exchange(row, [grade]).answered) if compared and wanted else None
    return Told(grade, kind_of(grade, decisive), wanted, words, claims(row, grade))


def took(usage: Usage) -> str:
    """``1 call, 120 tokens, 0.001 USD, 0.5 s``; no time where nobody took it."""
    timed = math.isfinite(usage.seconds) and usage.seconds > 0
    return describe_usage(usage) + (f", {format_number(usage.seconds, 2)} s" if timed else "")
