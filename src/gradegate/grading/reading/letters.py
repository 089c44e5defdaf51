"""One letter as an answer: alone, in brackets, after a label, or first and followed by its reason; a sentence about a letter is not one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import labels, objects, values, vocabulary
from gradegate.grading.reading.answer import Answer, parse
from gradegate.grading.reading.judgement import Judgement
from gradegate.grading.reading.labels import lines, plain, unwrapped

_NOUNS = labels.NOUNS | frozenset(
    "category option choice letter class label kategorie catégorie categoría categoria categorie kategori option-letter opción opção opzione optie"
    " wahl choix buchstabe lettre letra lettera категория вариант буква 类别 類別 选项 選項 カテゴリ カテゴリー 分類 범주 الفئة".split()
)
_FILLERS = frozenset("best correct right appropriate most choose select pick go".split())
_ALONE = re.compile(r"([A-Za-z])[.!)]?")
_LABELLED = re.compile(
    r"(?P<label>.{2,200}?)[\s\"'`*_(\[“‘:=→>-]*(?<![^\W_])(?P<letter>[A-Za-z])[\"'`*_)\]”’]{0,3}[.!]?", re.DOTALL
)
_SINGLE = re.compile(r"(?:^|\s|[:=→>(\[\"'“‘*_])\Z")
# The letter first, then `)`, `.`, `:`, a dash or a line end, and then a reason; a comma only before "because".
_FIRST = re.compile(
    r"(?:\((?P<round>[A-Za-z])\)|\[(?P<square>[A-Za-z])\]|(?P<bare>[A-Za-z]))(?:(?P<line>[.:)]?[ \t]*\n)|(?P<sign>[.):](?=\s)|\s*[-–—](?=\s)|,(?=\s+(?:because|since|as)\b))|(?P<blank>[ \t]+))(?P<reason>.*)",
    re.DOTALL,
)
# What goes on about the letter: "(C) is wrong", "(C) does not apply", "(C) or (D)".
_ABOUT = re.compile(
    r"\W*(?:is|isn|was|wasn|are|were|be|been|would|wouldn|will|won|could|couldn|should|shouldn|may|might|must|can|can't|cannot|couldn't|does|doesn|do|don|did|didn|has|hasn|had|have|seems|looks|appears|applies|holds"
    r"|fits|fails|and|or|nor|but|not|n't|rather|instead|over|vs|versus|to|through|than|if|unless|when|maybe|perhaps|possibly|probably|as\s+in|for\s+example|ist|war|est|es|era|è|é|oder|ou|o|y|und|et|e|или|и|не|nicht|pas|non|n['’]est|n['’]a|wrong|incorrect|ruled|excluded|rejected|out|false|invalid|impossible|unlikely|doubtful|n/a|inapplicable|unclear|unknown|undecided|undetermined|falsch|faux|incorrecto|(?:no|nope|none|never)(?=\W*$|\s*[,.;!]))(?!\w)",
    re.IGNORECASE,
)  # fmt: skip
_ANOTHER = re.compile(
    r"[(\[]\s*([A-Za-z])\s*[)\]]|\b(?:category|option|choice|letter|answer)\s+(?:is\s+)?[\"'(*]{0,3}([A-E])\b(?!')|(?:^|(?<=\s))([A-E])[):](?=\s)",
    re.IGNORECASE | re.MULTILINE,
)
_POINT = re.compile(r"(?<=[^.!])[.!]\Z")
_ROW = re.compile(r"^\W{0,4}([A-Za-z])\W{0,3}$", re.MULTILINE)
_MEANT = re.compile(r"[\"'*_(\[]{0,3}([A-E])\b(?!['’\w+])|[\"'*_]{0,3}[(\[]([a-e])[)\]]")


def category(answer: Answer, choices: str) -> Judgement[str]:
    """The letter of ``{"category", "reason"}`` or of a text, and the reason. Raises Unreadable."""
    if not answer.holds_json:
        return Judgement(letter(answer, choices))
    reasons: list[str] = []

    def read(item: dict[str, Any]) -> str | None:
        if "category" not in item:
            return None
        reasons.append(values.words(item.get("reason")))
        value = item["category"]
        return letter(parse(value) if isinstance(value, str) else Answer(""), choices)

    only = objects.verdict(answer, read, 'with the key "category"')
    _hold_labels(objects.before(answer), only)
    return Judgement(only, reasons[0])


def letter(answer: Answer, choices: str) -> str:
    """The one letter that a text answers with, in upper case. Raises Unreadable for none, two, or one that is not of ``choices``."""
    rows = lines(answer.text)
    if not rows:
        raise Unreadable(f"it is empty; answer with one of {', '.join(choices)}")
    if answer.strict and len(rows) > 1:
        raise Unreadable(objects.STRICT)
    only = _one(_readings(rows, answer.text, answer.strict), choices)
    if only not in choices:
        raise Unreadable(f"{only} is not one of {', '.join(choices)}")
    return only


def _readings(rows: list[str], text: str, strict: bool) -> Iterator[str]:
    ending = _alone(rows[-1]) or _labelled(rows[-1])
    if ending and len(rows) > 1:
        before = "\n".join(rows[:-1])
        if vocabulary.leads_away(objects.clause(before[-600:])):
            raise Unreadable("its letter is led up to as an example, a quotation or a denial; answer with your own")
        _hold_labels(before, ending)
        yield ending
        yield from (other for other in map(_alone, rows[:-1]) if other)
    elif ending:
        yield ending
    if not strict and not ending:
        yield from filter(None, [_first(text)])


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
    label = line[: match.start("letter")].rstrip(" \t\"'`*_([“‘")
    if match["letter"] == "a" and not _SINGLE_MARK.search(line[: match.start("letter")]):
        return ""  # the article
    introduced = _DIRECT.fullmatch(label) or (_SEPARATED.search(label) and labels.is_label(label, _NOUNS, _FILLERS))
    return match["letter"].upper() if introduced else ""


_SEPARATED = re.compile(
    r"(?:[:=→>–—-]|\b(?:is|be|ist|est|es|é|è|är|er|jest|choose|pick|select|c'est)(?:\s+(?:clearly|therefore|thus|hence|definitely|indeed|option|category|choice|letter))*)[\s*_]*\Z",
    re.IGNORECASE,
)
_DIRECT = re.compile(
    r"[\s*_\"'(\[]*(?:final\s+)?(?:option|category|choice|answer|kategorie|catégorie|categoría|opción)[\s*_\"'(\[]*|[\s*_\"'(\[]*(?:(?:so|therefore|thus|hence)\W+)?i\s+(?:choose|pick|select)(?:\s+(?:option|category|answer|choice))?[\s*_\"'(\[]*",
    re.IGNORECASE,
)
_SINGLE_MARK = re.compile(r"[:=→>(\[\"'“‘][\s\"'*_(\[]*\Z")


def _first(text: str) -> str:
    match = _FIRST.fullmatch(plain(text)[: vocabulary.LONGEST_REASON])
    if match is None or len(text) > vocabulary.LONGEST_REASON:
        return ""
    leading = match["round"] or match["square"] or match["bare"]
    if match["blank"] and not (match["round"] or match["square"]):
        return ""  # "A better answer ..."
    reason = match["reason"].strip()
    if not any(map(str.isalpha, reason)) or _ABOUT.match(reason) or reason.startswith((".", "…", "?")):
        return ""
    if _foreign(reason) and vocabulary.turns(reason):
        return ""  # "(C) とは言えない": without blanks, what goes on about the letter cannot be told from a reason
    others = {next(filter(None, letters)).upper() for letters in _ANOTHER.findall(reason)} | set(
        map(str.upper, _ROW.findall(reason))
    )
    if others - {leading.upper()} or vocabulary.takes_back(reason) or vocabulary.is_of_replying(reason):
        return ""
    return leading.upper()


def _foreign(reason: str) -> bool:
    """Whether a reason begins in another script than the Latin one."""
    first = next(character for character in reason if character.isalpha())
    return "LATIN" not in unicodedata.name(first, "")


def _hold_labels(text: str, only: str) -> None:
    other = labels.opposed(text, _NOUNS, _meant, only)
    if other:
        raise Unreadable(f"it holds several letters: {other!r} and ({only}); give one")


def _meant(value: str) -> str | None:
    match = _MEANT.match(value)
    return (match[1] or match[2]).upper() if match else None
