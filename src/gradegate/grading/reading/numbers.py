"""A score or an index as the last line of a reply, with its label; a number in any other sentence is not one."""

from __future__ import annotations

import re
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import asides, labels, objects, preceding, values, vocabulary
from gradegate.grading.reading.answer import Answer
from gradegate.grading.reading.judgement import Judgement
from gradegate.grading.reading.labels import lines, plain, unwrapped

_SCORE_NOUNS = labels.NOUNS | frozenset(
    "score scores rating points mark note punktzahl punkte puntuación puntaje pontuação nota punteggio wertung оценка балл 评分 得分 分数 スコア 점수".split()
)
_INDEX_NOUNS = labels.NOUNS | frozenset(
    "index output option candidate response number choice winner item entry best text pick selection choose select".split()
)
_NO_ERROR = frozenset(("none", "null", "n/a", "ok"))
_OWN_WORDS = ("pass", "passed", "verdict", "success", "succeeded")  # a yes or no that some graders put beside a score
_FILLERS = frozenset(
    "give assign rate give overall total evaluation g-eval geval quality it a an the output submission response".split()
)
_GIVING = frozenset(
    ("give", "rate", "assign", "would", "i'd")
)  # "I give it 8 out of 10"; without the ten it may count anything
_CHOOSING = frozenset("best better winning winner choose select pick selected chosen prefer go".split())
_NOTE = re.compile(r"(?<=\d)\s+\((?:very\s+|quite\s+)?[^\W\d_]{3,20}\)[.]?$")
_IS_BEST = re.compile(
    r"(?:output|option|response|candidate|answer)\s+#?(?P<number>[0-9]{1,9})\s+is\s+(?:clearly\s+)?(?:the\s+)?(?:best|better|winner)(?:\s+(?:one|output|answer|option|response|candidate))?[.!]?",
    re.IGNORECASE,
)
_CHOICE = (labels.NOUNS | _CHOOSING | frozenset("choice pick selection".split())) - {
    "response",
    "evaluation",
    "assessment",
    "go",
    "better",
}
_LONE = re.compile(r"[\s*_`\"'(\[]*([0-9]{1,20}(?:\.[0-9]{1,20})?)(?:\s*(?:/|out\s+of)\s*[0-9]{1,3})?[\s*_`\"')\]]*")
_NUMBER = r"(?P<number>[-+]?[0-9]{1,20}(?:[.][0-9]{1,20})?)"
_OF_TEN = r"(?P<of>\s*(?:/|out\s+of|of)\s*(?P<whole>[0-9]+(?:\.[0-9]+)?)(?:\s+points)?)?"
_POINTS = re.compile(
    rf"(?P<label>.*?)[\s\"'`*_(\[]*(?<![\w.,/+–−—-]){_NUMBER}{_OF_TEN}[\"'`*_)\]]{{0,3}}[.!]?", re.DOTALL
)
_INDEX = re.compile(
    r"(?P<label>.*?)[\s\"'`*_(\[#]*(?<![\w.,/+–−—-])(?P<number>[0-9]{1,9})[\"'`*_)\]]{0,3}[.!]?", re.DOTALL
)
_TEXT = re.compile(rf"\s*{_NUMBER}(?:\s*(?:/|out\s+of)\s*(?P<whole>[0-9]+(?:\.[0-9]+)?))?\s*")


def score(answer: Answer, best: int, prose: bool = True) -> Judgement[float]:
    """The score of ``{"score", "reason"}``, or of the last line where ``prose`` counts, and the reason. Raises Unreadable."""
    answer = asides.without(answer) if prose else answer
    if prose and not answer.holds_json:
        return Judgement(_in_text(answer, best))
    reasons: list[str] = []

    def read(item: dict[str, Any]) -> float | None:
        if "score" not in item:
            return None
        reasons.append(values.words(item.get("reason")))
        number = points(item["score"], best)
        _hold_own_word(item, number, best)
        return number

    number = objects.verdict(answer, read, f'with a "score" from 0 to {best}')
    _hold_labels(objects.before(answer), number, best)
    return Judgement(number, reasons[0])


def points(value: Any, best: int) -> float:
    """A number from 0 to ``best``, also as text and as ``n/best``. Raises Unreadable."""
    match = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if match and match["whole"] is not None:
        value = match["number"] if float(match["whole"]) == best else None
    number = values.number(value)
    if number is None or not 0 <= number <= best:
        raise Unreadable(f"its score is not a number from 0 to {best}")
    return number


def _hold_own_word(item: dict[str, Any], number: float, best: int) -> None:
    """Raise Unreadable where the object says beside its score that it failed, or that the answer did: nobody asked for that word."""
    failed = item.get("error")
    if failed and values.truth(failed) is not False and str(failed).strip().lower() not in _NO_ERROR:
        raise Unreadable(f"it reports an error beside its score: {str(failed)[:60]!r}")
    for key in _OWN_WORDS:
        said = values.truth(item.get(key))
        if said is not None and (number < best / 2 if said else number > best / 2):
            raise Unreadable(f"its score is {number:g} of {best}, and its `{key}` is {item[key]!r}; give a score alone")


def _in_text(answer: Answer, best: int) -> float:
    row, before = _last(answer)
    row = _headed(before) + _without_note(row)
    match = _POINTS.fullmatch(row) if len(row) <= labels.LONGEST else None
    missing = f'it holds no JSON object with a "score" from 0 to {best}, and its last line is not "Score: n/{best}"'
    if match is None:
        raise Unreadable(missing)
    named = labels.is_label(match["label"], _SCORE_NOUNS | (_GIVING if match["of"] else frozenset()), _FILLERS)
    if not (named or (match["of"] and not match["label"].strip())):
        raise Unreadable(missing)
    number = points(match["number"] + ("/" + match["whole"] if match["whole"] else ""), best)
    _hold_labels(before, number, best)
    _hold_lone_numbers(before, number)
    return number


def _headed(before: str) -> str:
    """The heading right before the last line as a label of it: ``## Score``."""
    heading = lines(before)[-1:] if before else []
    title = heading[0].lstrip("# ") if heading and heading[0].startswith("#") else ""
    return f"{title}: " if title and labels.is_label(title, _SCORE_NOUNS, _FILLERS) else ""


def _without_note(row: str) -> str:
    """A line without a remark of one or two words in brackets: "Score: 8 (good)"."""
    match = _NOTE.search(row)
    return row[: match.start()] if match and not vocabulary.turns(match[0]) else row


def _hold_lone_numbers(before: str, number: float) -> None:
    """Raise Unreadable where an earlier line is another number alone."""
    for row in lines(before):
        match = _LONE.fullmatch(row) if len(row) <= labels.LONGEST else None
        if match and float(match[1]) != number:
            raise Unreadable(f"it says {row[:60]!r} and then {number:g}; give one")


def _last(answer: Answer) -> tuple[str, str]:
    rows = lines(answer.text)
    if not rows:
        raise Unreadable("it is empty")
    if answer.strict and len(rows) > 1:
        raise Unreadable(objects.STRICT)
    before = "\n".join(rows[:-1])
    if preceding.away(answer.text, rows[-1]):
        raise Unreadable("its last line is led up to as an example, a quotation or a denial; end with your own")
    return unwrapped(plain(rows[-1])), before


def _hold_labels(text: str, number: float, best: int) -> None:
    def meaning(value: str) -> float | None:
        match = _MEANT.match(value)
        try:
            return points(match[1] + (match[2] or ""), best) if match else None
        except Unreadable:
            return None

    other = labels.opposed(text, _SCORE_NOUNS, meaning, number)
    if other:
        raise Unreadable(f"it says {other[:60]!r} and then {number:g}; give one score")


_MEANT = re.compile(r"[\"'*_(\[]{0,3}([0-9]{1,9}(?:\.[0-9]{1,9})?)(\s*/\s*[0-9]{1,3})?(?![\w.,%/-]*\w)")


def index(answer: Answer, count: int) -> Judgement[int]:
    """The index of one of ``count`` outputs, from 0, of ``{"index", "reason"}`` or of a text, and the reason. Raises Unreadable."""
    answer = asides.without(answer)
    if not answer.holds_json:
        return Judgement(_within(_index_in_text(answer), count))
    reasons: list[str] = []

    def read(item: dict[str, Any]) -> int | None:
        if "index" not in item:
            return None
        reasons.append(values.words(item.get("reason")))
        return _whole(item["index"])

    chosen = _within(objects.verdict(answer, read, 'with the key "index"'), count)
    return Judgement(chosen, reasons[0])


def _whole(value: Any) -> int:
    number = values.number(value)
    if number is None or number != int(number):
        raise Unreadable('"index" is not a whole number')
    return int(number)


def _within(number: int, count: int) -> int:
    if not 0 <= number < count:
        raise Unreadable(f"there is no output {number}: they are counted from 0 to {count - 1}")
    return number


def _index_in_text(answer: Answer) -> int:
    row, before = _last(answer)
    best = _IS_BEST.fullmatch(row)
    row = best["number"] if best else row
    match = _INDEX.fullmatch(row) if len(row) <= labels.LONGEST else None
    alone = match is not None and not match["label"].strip()
    if match is None or not (alone or labels.is_label(match["label"], _INDEX_NOUNS, _FILLERS | _CHOOSING)):
        raise Unreadable("its last line is not the index of an output alone")
    number = int(match["number"])

    def meaning(value: str) -> int | None:
        meant = _MEANT.match(value)
        return int(float(meant[1])) if meant and not meant[2] else None

    other = labels.opposed(before, _INDEX_NOUNS - {"output", "option", "text", "response"}, meaning, number)
    if other:
        raise Unreadable(f"it says {other[:60]!r} and then {number}; give one index")
    _hold_lone_numbers(before, number)
    _hold_choices(before, number)
    return number


def _hold_choices(before: str, number: int) -> None:
    """Raise Unreadable where an earlier line chooses another output: "Best output: 1"; a heading "Output 1" does not."""
    for row in map(unwrapped, map(plain, lines(before))):
        match = _INDEX.fullmatch(row) if len(row) <= labels.LONGEST else None
        if (
            match
            and int(match["number"]) != number
            and labels.is_label(match["label"], _CHOICE, _FILLERS | _INDEX_NOUNS)
        ):
            raise Unreadable(f"it says {row[:60]!r} and then {number}; give one index")
