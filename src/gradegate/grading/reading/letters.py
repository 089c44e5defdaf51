"""One letter as an answer: alone, in brackets, after a label, or first and followed by its reason; a sentence about a letter is not one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import asides, labels, letter_reasons, objects, preceding, values, vocabulary
from gradegate.grading.reading.answer import Answer, parse
from gradegate.grading.reading.judgement import Judgement
from gradegate.grading.reading.labels import lines, plain, unwrapped

_NOUNS = labels.NOUNS | frozenset(
    "category option choice letter class label kategorie catégorie categoría categoria categorie kategori option-letter opción opção opzione optie"
    " wahl choix buchstabe lettre letra lettera категория вариант буква 类别 類別 选项 選項 カテゴリ カテゴリー 分類 범주 الفئة 정답 정답은 답은 答案是 答案为 答えは 正解 正解は 正确答案 正确答案是 hence therefore thus".split()
)
_FILLERS = frozenset(
    "best correct right appropriate most choose select pick go would i'd i'll be richtige korrekte correcta correcte bonne esatta corretta juiste correta".split()
)
_ALONE = re.compile(r"([A-Za-z])[.!)]?")
_LABELLED = re.compile(
    r"(?P<label>.{2,200}?)[\s\"'`*_(（\[“‘:=→>-]*(?<![A-Za-z0-9])(?P<letter>[A-Za-z])[\"'`*_)\]”’）]{0,3}(?:입니다|이다|です|である)?[.!。]?",
    re.DOTALL,
)
_SINGLE = re.compile(r"(?:^|\s|[:=→>(（\[\"'“‘*_])\Z")
# The letter first, then `)`, `.`, `:`, a dash or a line end, and then a reason; a comma only before "because".
_FIRST = re.compile(
    r"(?:\((?P<round>[A-Za-z])\)|\[(?P<square>[A-Za-z])\]|(?P<bare>[A-Za-z]))(?:(?P<line>[.:)]?[ \t]*\n)|(?P<sign>[.):](?=\s)|\s*[-–—](?=\s)|,(?=\s+(?:because|since|as)\b))|(?P<blank>[ \t]+))(?P<reason>.*)",
    re.DOTALL,
)
_POINT = re.compile(r"(?<=[^.!])[.!]\Z")
_MEANT = re.compile(r"[\"'*_(\[]{0,3}([A-E])\b(?!['’\w+])|[\"'*_]{0,3}[(\[]([a-e])[)\]]")


def category(answer: Answer, choices: str, negative: str = "") -> Judgement[str]:
    """The letter of ``{"category", "reason"}`` or of a text, and the reason; ``negative`` is the letter that says that something is wrong.

    Raises Unreadable.
    """
    answer = asides.without(answer)
    if not answer.holds_json:
        return Judgement(letter(answer, choices, negative))
    reasons: list[str] = []

    def read(item: dict[str, Any]) -> str | None:
        if "category" not in item:
            return None
        reasons.append(values.words(item.get("reason")))
        value = item["category"]
        return letter(parse(value) if isinstance(value, str) else Answer(""), choices, negative)

    only = objects.verdict(answer, read, 'with the key "category"')
    _hold_labels(objects.before(answer), only)
    return Judgement(only, reasons[0])


def letter(answer: Answer, choices: str, negative: str = "") -> str:
    """The one letter that a text answers with, in upper case. Raises Unreadable for none, two, or one that is not of ``choices``."""
    rows = lines(answer.text)
    if not rows:
        raise Unreadable(f"it is empty; answer with one of {', '.join(choices)}")
    if answer.strict and len(rows) > 1:
        raise Unreadable(objects.STRICT)
    only = _one(_readings(rows, answer, negative), choices)
    if only not in choices:
        raise Unreadable(f"{only} is not one of {', '.join(choices)}")
    return only


def _readings(rows: list[str], answer: Answer, negative: str) -> Iterator[str]:
    ending = _alone(rows[-1]) or _labelled(rows[-1])
    if not ending and not answer.strict:
        beginning = _with_reason(answer.text, negative)
        if beginning:
            yield beginning
            return
        ending = _with_reason(rows[-1], negative, bracketed=True) if len(rows) > 1 and not _is_shown(rows[-2]) else ""
    if ending:
        yield ending
    if ending and len(rows) > 1:
        before = "\n".join(rows[:-1])
        if vocabulary.leads_away(objects.clause(before[-600:])) or preceding.away(answer.text, rows[-1]):
            raise Unreadable("its letter is led up to as an example, a quotation or a denial; answer with your own")
        _hold_labels(before, ending)
        yield from (other for other in map(_begun, rows[:-1]) if other)


def _one(readings: Iterator[str], choices: str) -> str:
    letters = set(readings)
    if len(letters) != 1:
        what = "several letters" if letters else "no letter that stands alone"
        raise Unreadable(f"it holds {what}; answer with one of {', '.join(choices)}")
    return letters.pop()


def _alone(line: str) -> str:
    match = _ALONE.fullmatch(unwrapped(_POINT.sub("", unwrapped(plain(line)))))
    return match[1].upper() if match and match[1].isascii() else ""


def _labelled(line: str) -> str:
    line = unwrapped(plain(line))
    match = _LABELLED.fullmatch(line) if len(line) <= labels.LONGEST + 20 else None
    if match is None or not _SINGLE.search(line[: match.start("letter")]):
        return ""
    label = line[: match.start("letter")].rstrip(" \t\"'`*_(（[“‘")
    if match["letter"] == "a" and not _SINGLE_MARK.search(line[: match.start("letter")]):
        return ""  # the article
    return match["letter"].upper() if _is_introduction(label) else ""


_SEPARATED = re.compile(
    r"(?:[:=→>–—-]|(?:은|는|是|为|は)|\b(?:is|be|ist|est|es|é|è|är|er|jest|choose|pick|select|hence|therefore|thus|c'est)(?:\s+(?:clearly|therefore|thus|hence|definitely|indeed|option|category|choice|letter))*)[\s*_]*\Z",
    re.IGNORECASE,
)
_DIRECT = re.compile(
    r"[\s*_\"'(\[]*(?:final\s+)?(?:option|category|choice|answer|kategorie|catégorie|categoría|opción)[\s*_\"'(\[]*|[\s*_\"'(\[]*(?:(?:so|therefore|thus|hence)\W+)?i(?:\s+would|\s+will|['’](?:d|ll))?\s+(?:choose|pick|select|go\s+with|go\s+for)(?:\s+(?:option|category|answer|choice))?[\s*_\"'(\[]*"
    r"|[\s*_]*(?:this|it|the\s+(?:submitted\s+answer|submission|answer|response|comparison))\s+(?:falls\s+(?:under|into)|corresponds\s+to|belongs\s+to|matches)\s+(?:the\s+)?(?:option|category|choice)[\s*_\"'(\[]*",
    re.IGNORECASE,
)
_SINGLE_MARK = re.compile(r"[:=→>(\[\"'“‘][\s\"'*_(\[]*\Z")


def _with_reason(text: str, negative: str, bracketed: bool = False) -> str:
    """The letter that a text begins with, perhaps after a label, where a reason for it follows; empty for none.

    ``bracketed``: only one in brackets or after a label.
    """
    if len(text) > vocabulary.LONGEST_REASON:
        return ""
    text = _unquoted(plain(labels.short_runs(text)))
    match = _FIRST.fullmatch(text)
    if match is None or (bracketed and match["bare"]):
        match = _introduced(text)
    if match is None or (match["blank"] and match["bare"]):
        return ""  # "A better answer ..."
    leading = (match["round"] or match["square"] or match["bare"]).upper()
    reason = match["reason"].strip()
    return "" if letter_reasons.speaks_of(reason, leading, negative) else leading


def _is_shown(lead: str) -> bool:
    """Whether a line leads up to something that is not called an answer: "Options:"."""
    lead = plain(lead)
    return lead.endswith(":") and not labels.is_label(lead, _NOUNS - _PLURAL, _FILLERS)


def _introduced(text: str) -> re.Match[str] | None:
    """The letter after a label at the beginning of a text: "The answer is (B) because ...", "Category: D (disagreement)"."""
    for candidate in _MARKED.finditer(text[: labels.LONGEST]):
        label = text[: candidate.start()]
        if _is_introduction(label.rstrip(" \t\"'`*_([“‘")):
            return _FIRST_BEFORE_NOTE.fullmatch(text, candidate.start()) or _FIRST.fullmatch(text, candidate.start())
    return None


def _is_introduction(label: str) -> bool:
    if "\n" in label:
        return False
    return bool(_DIRECT.fullmatch(label) or (_SEPARATED.search(label) and labels.is_label(label, _NOUNS, _FILLERS)))


def _begun(row: str) -> str:
    """The letter that a line consists of, or begins with in brackets or before a colon."""
    match = _BEGUN.match(_unquoted(plain(row)))
    return _alone(row) or (next(filter(None, match.groups())) if match else "")


def _unquoted(text: str) -> str:
    return text.strip().lstrip('"“')


_PLURAL = frozenset("option letter class".split())  # what may be one of several that are shown
_MARKED = re.compile(r"(?<=[\s:=*_>→])(?:\([A-Za-z]\)|\[[A-Za-z]\]|[A-Z](?![\w'’]))")
_FIRST_BEFORE_NOTE = re.compile(
    r"(?:\((?P<round>[A-Za-z])\)|\[(?P<square>[A-Za-z])\]|(?P<bare>[A-Z]))(?P<blank>(?!))?,?\s+(?P<reason>(?:\(|because\b|since\b|as\b).*)",
    re.DOTALL,
)
_BEGUN = re.compile(r"\(([A-E])\)(?=\s)|([A-E])[:)](?=\s)")


def _hold_labels(text: str, only: str) -> None:
    other = labels.opposed(text, _NOUNS, _meant, only)
    if other:
        raise Unreadable(f"it holds several letters: {other!r} and ({only}); give one")


def _meant(value: str) -> str | None:
    match = _MEANT.match(value)
    return (match[1] or match[2]).upper() if match else None
