"""A case with all that there is to tell of it, for the page in a browser and for the terminal.

Of an answer it says which words differ from what was expected, bounded, since both may be of any length. What a grader keeps
as evidence is read by its shape: lists of mappings with a text and a verdict. Of a claim no grader says which sentence it was
held against, so that the nearest by its words is shown: that is for people, and decides nothing.
"""

import enum
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from operator import itemgetter
from typing import Any

from gradegate.core.conversation import NO_USAGE, Turn, Usage
from gradegate.core.numbers import figure, spent
from gradegate.reports.view.failing import Exchange, blamed_turns, effect, exchange, is_fixed, why
from gradegate.reports.view.findings import Finding, unchecked
from gradegate.reports.view.wording import called, expected
from gradegate.results.grades import Grade, Outcome, Row
from gradegate.security.redaction import excerpt
from gradegate.structs import Struct, replace

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


# --- words that differ ------------------------------------------------------------------------------------------


class Piece(Struct, frozen=True):
    """Some words in a row; ``differs`` where the other text does not have them there."""

    text: str
    differs: bool


class Difference(Struct, frozen=True):
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
        space = (
            text[: len(text) - len(text.lstrip())] if differs else ""
        )  # no gap is marked, only words
        yield from [Piece(space, differs=False)] if space else []
        yield from [Piece(text[len(space) :], differs)] if text[len(space) :] else []


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


class Claim(Struct, frozen=True):
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


def _claims(evidence: Mapping[str, Any]) -> Iterator[Claim]:
    items = (
        (key, item)
        for key, listed in evidence.items()
        if isinstance(listed, list | tuple)
        for item in listed
    )
    for key, item in items:
        if not isinstance(item, Mapping):
            continue
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
            texts += (
                [value] if isinstance(value, str) else value if isinstance(value, Sequence) else ()
            )
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


class Told(Struct, frozen=True):
    """One assertion: ``difference`` of what it expected and what came, None where that says nothing."""

    grade: Grade
    expected: str
    difference: Difference | None
    claims: list[Claim]

    @property
    def kind(self) -> str:
        """``pass``, ``fail``, ``error``, or ``advisory`` for a failure that decides nothing."""
        grade = self.grade
        advises = grade.outcome is Outcome.FAIL and not (grade.counts or grade.inner)
        return "advisory" if advises else grade.outcome.value


class Said(Struct, frozen=True):
    """A message of a conversation, with the assertions that failed because of it."""

    number: int
    turn: Turn
    blamed: tuple[str, ...] = ()


class CaseView(Struct, frozen=True):
    """One answer. ``number`` is its place in results.json, from 1; ``about`` is what it is beside the base and the rules."""

    number: int
    row: Row
    about: str
    why: tuple[str, str]  # the assertion that did not pass first, and its reason in a line
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
    row, short = finding.row, finding.grades
    spoken = row.outcome is Outcome.PASS and not short
    blamed: dict[int, list[str]] = {}
    for grade in row.grades:
        if grade.outcome is Outcome.FAIL:
            for turn in blamed_turns(row, grade):
                blamed.setdefault(turn, []).append(called(grade.assertion, grade.metric))
    said = (
        Said(place, turn, tuple(dict.fromkeys(blamed.get(place, ()))))
        for place, turn in enumerate(row.turns, 1)
    )
    return CaseView(
        number,
        row,
        "fixed"
        if is_fixed(row)
        else "not checked"
        if unchecked(row)
        else effect(finding)
        if not spoken
        else "",
        ("", "") if spoken else why(finding, _LINE),
        exchange(row, short[0] if short else None),
        [_told(row, grade, compare) for grade in short],
        [
            _told(row, grade, compare)
            for grade in row.grades
            if not any(grade is other for other in short)
        ],
        [*said] if len(row.turns) > 2 else [],
        sum((grade.usage for grade in row.grades), NO_USAGE),
    )


def _told(row: Row, grade: Grade, compare: bool) -> Told:
    wanted = expected(grade.assertion)
    compared = compare and grade.outcome is Outcome.FAIL and not grade.assertion.negated
    words = difference(wanted, exchange(row, grade).answered) if compared and wanted else None
    return Told(grade, wanted, words, claims(row, grade))


def took(usage: Usage) -> str:
    """``1 call, 120 tokens, 0.001 USD, 0.5 s``; no time where nobody took it."""
    timed = math.isfinite(usage.seconds) and usage.seconds > 0
    return spent(usage) + (f", {figure(usage.seconds, 2)} s" if timed else "")
