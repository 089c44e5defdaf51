"""One yes or no for each of several statements, in order; another number than asked for is not a verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gradegate.errors import Unreadable
from gradegate.figures import many
from gradegate.grading.reading import labels, objects, sentences, values, vocabulary
from gradegate.grading.reading.answer import Answer

_FINAL = re.compile(
    r"^[\s*_#-]*(?:(?:so|therefore|thus|hence|in\s+conclusion|in\s+summary|overall)\b[,\s]*)?(?:(?:the|my|here\s+are\s+(?:the|my))\s+)?(?:final\s+(?:verdicts?|answers?)|verdicts)(?:\s+(?:for|on)\s+(?:each|the|all)(?:\s+of\s+the)?\s+statements?)?(?:\s+in\s+order)?"
    r"(?:\s+(?:is|are))?[*_\s]*(?::|\s[–—-])[*_]*(?P<rest>.*)",
    re.IGNORECASE,
)
_VERDICT = re.compile(r"\bverdict\b[*_\s]*[:=](?P<said>.*)$", re.IGNORECASE)
_WORD = re.compile(r"[\s*_\"'`(\[]*(?P<word>yes|no|y|n)[\s*_\"'`)\].!]*", re.IGNORECASE)
_SHORT = re.compile(r"\b(?:yes|no|y|n)\b", re.IGNORECASE)
_NUMBERED = r"(?:(?:statement|claim)\s*)?#?\(?\d{1,3}\s*[.):\]–—=-]\s*"
_ONLY = re.compile(rf"(?:{_NUMBERED}|\b(?:yes|no|y|n)\b|[\s\"'`*_()\[\].,;|–—-])*+", re.IGNORECASE)
# A verdict that goes on stops at punctuation first: "No evidence" is not one.
_LEADING = re.compile(
    rf"[\"'`*_(\[\s]*+(?:{_NUMBERED})?[\"'`*_(\[\s]*(?P<word>yes|no)\b[\"'`*_)\]]*(?:$|\s*[.,;:!(–—-](?P<why>.*)|\s+(?P<because>(?:because|since|as)\b.*))",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:[:–—=|]|->|=>|→|\s-|[.!?)\]\"”])\s*[*_(\[\"'`]*(?P<word>yes|no)[*_)\]\"'`.!|\s]*$", re.IGNORECASE
)
# What a yes would mean the opposite of support of: "Contradicted: yes".
_INVERSE = re.compile(
    r"\b(?:contradict\w*|refut\w*|un(?:supported|founded|true|verif\w*|faithful\w*|grounded|substantiated)|not\s+\w+|false|incorrect|wrong|disprov\w*|hallucinat\w*|invented|fabricated|missing|absent|conflict\w*|inconsistent|errors?"
    r"|widerspr\w*|widerlegt|contredit\w*|contradice\w*|矛盾)\b",
    re.IGNORECASE,
)
_LAST_CLAUSE = re.compile(r"[.;|,!]\s|:\s|\s[–—-]\s")
_LABEL_WORDS = 6  # words that a label before a yes has at most
_NUMBER = re.compile(
    r"[\s*_\"'`(\[|+•#-]*(?:(?:statement|claim)\s*)?#?\(?(?P<number>\d{1,3})(?:[*_`]*\s*[.):\]|–—=-])(?!\d)",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"(?:^|(?<=[\s,;|(]))\(?(\d{1,3})\s*[.):\]|–—=-]")
_LABEL = re.compile(r"\A\W*+\w.*:\s*+[*_]*+(?:yes|no)[*_]*[.!]?$", re.IGNORECASE)
_RULE = re.compile(r"[|:\s-]{3,}")


def supported(answer: Answer, count: int) -> tuple[bool, ...]:
    """Yes (True) or no for each of ``count`` statements, of ``{"verdicts": [{"verdict"}]}`` or of a text. Raises Unreadable."""
    said = _of_json(answer) if answer.holds_json else _of_text(answer)
    if len(said) != count:
        raise Unreadable(f"it holds {many(len(said), 'verdict')} where {count} were asked for")
    return tuple(said)


def _of_json(answer: Answer) -> list[bool]:
    if any("verdicts" in (span.value or {}) for span in answer.spans):
        items: list[Any] = objects.table(answer, "verdicts")
    else:
        items = list(objects.last(answer, 'with the key "verdicts"'))
    return [_truth(item) for item in items]


def _truth(item: Any) -> bool:
    said = values.truth(item["verdict"]) if isinstance(item, Mapping) and "verdict" in item else None
    if said is None:
        raise Unreadable('a verdict is not a JSON object with yes or no under the key "verdict"')
    return said


def _of_text(answer: Answer) -> list[bool]:
    rows = labels.lines(answer.text)
    if rows and labels.is_quoted(rows[-1]):
        raise Unreadable("it ends in a quotation")
    last = max((number for number, row in enumerate(rows) if _FINAL.match(row)), default=None)
    if last is not None:
        return _final(rows, last, answer.strict)
    if any(_VERDICT.search(row) for row in rows):
        return _labelled(rows, answer.strict)
    return _listed(rows, answer.strict)


# --- after "Final verdict for each statement in order:" ---------------------------------------------------------


def _final(rows: list[str], last: int, strict: bool) -> list[bool]:
    said = _after(rows, last, len(rows))
    earlier = [number for number, row in enumerate(rows[:last]) if _FINAL.match(row)]
    if any(_after(rows, number, number + 1) != said for number in earlier):
        raise Unreadable("it holds several lists of verdicts that differ; give one")
    before = [
        match["said"] for row in rows[:last] if not _FINAL.match(row) for match in [_VERDICT.search(row)] if match
    ]
    if (before and _clean(before) != said) or _differs(rows[:last], said):
        raise Unreadable("its final verdicts differ from those before them")
    if strict and last:
        raise Unreadable(objects.STRICT)
    return said


def _differs(rows: list[str], said: list[bool]) -> bool:
    """Whether a list or a table before the final verdicts says something else."""
    listed = [(_numbered(row), _glimpse(row)) for row in rows if row.startswith("|") or _is_listed(row)]
    listed = [(number, yes) for number, yes in listed if yes is not None]
    if any(number and number <= len(said) and said[number - 1] != yes for number, yes in listed):
        return True
    return len(listed) == len(said) and [yes for _, yes in listed] != said


def _is_listed(row: str) -> bool:
    return sentences.is_item(row) or _ONLY.fullmatch(row) is not None


def _glimpse(row: str) -> bool | None:
    """The yes or no at the beginning or the end of an item, as far as there is one."""
    match = _LEADING.match(row.lstrip("-+•*| \t")) or _TRAILING.search(row)
    return None if match is None else match["word"].lower() == "yes"


def _after(rows: list[str], number: int, end: int) -> list[bool]:
    """The verdicts after a mark: in its line, or in the lines of a list after it; nothing else may follow."""
    match = _FINAL.match(rows[number])
    rest = match["rest"].strip(" *_") if match else ""
    if rest:
        if end > number + 1 or not _ONLY.fullmatch(rest):
            raise Unreadable("its final verdicts are not yes or no alone, or something follows them")
        return _words([rest])
    return _listed(rows[number + 1 : end], strict=False)


# --- "Verdict: yes" after each statement ------------------------------------------------------------------------


def _labelled(rows: list[str], strict: bool) -> list[bool]:
    if not _VERDICT.search(rows[-1]):
        raise Unreadable("something follows its last verdict")
    matches = [(row, match) for row in rows for match in [_VERDICT.search(row)] if match]
    for row, match in matches:
        lead = row[: match.start()].rstrip(" *_")
        if strict and lead.strip("-•0123456789.) "):
            raise Unreadable(objects.STRICT)
        if (lead and lead[-1] not in ".!?:;)|–—-") or vocabulary.leads_away(objects.clause(lead)):
            raise Unreadable(f"a verdict is part of a sentence: {row[:80]!r}")
    if strict and len(matches) < len(rows):
        raise Unreadable(objects.STRICT)
    _hold_numbers([_numbered(row) for row, _ in matches])
    return _clean([match["said"] for _, match in matches])


def _clean(said: list[str]) -> list[bool]:
    words = [_WORD.fullmatch(text) for text in said]
    if not all(words):
        raise Unreadable("not every verdict of it is yes or no alone")
    return [match["word"].lower() in ("yes", "y") for match in words if match]


# --- a list, a table, or nothing but verdicts -------------------------------------------------------------------


def _listed(rows: list[str], strict: bool) -> list[bool]:
    if not rows or any(labels.CHECKBOX.search(row) for row in rows):
        raise Unreadable("it holds no verdicts")
    if all(_ONLY.fullmatch(row) for row in rows):
        return _words(rows)
    if any(map(_INVERSE.search, _headings(rows))):
        raise Unreadable("its table asks for the opposite of support")
    rules = [number for number, row in enumerate(rows) if _RULE.fullmatch(row)]
    listed = rows[rules[0] + 1 :] if rules else rows
    if not rules and (listed[0].rstrip("*_ ").endswith(":") and not sentences.is_item(listed[0])):
        if strict or _is_inverse_lead(listed[0]):
            raise Unreadable("its verdicts are led up to by other words")
        listed = listed[1:]
    if listed and all(_ONLY.fullmatch(row) for row in listed):
        return _words(listed)
    marked = all(row.startswith("|") or sentences.is_item(row) for row in listed)
    if strict or not listed or not (marked or all(map(_LABEL.search, listed))):
        raise Unreadable(objects.STRICT if strict else "it is not a list with one yes or no to a line")
    _hold_numbers(list(map(_numbered, listed)))
    return [_of_row(row) for row in listed]


def _headings(rows: list[str]) -> list[str]:
    """The lines before the rule of a table."""
    rules = [number for number, row in enumerate(rows) if _RULE.fullmatch(row)]
    return rows[: rules[0]] if rules else []


def _is_inverse_lead(row: str) -> bool:
    return bool(vocabulary.leads_away(row) or vocabulary.turns(row) or _INVERSE.search(row))


def _numbered(row: str) -> int | None:
    """The number that an item begins with."""
    match = _NUMBER.match(row)
    return int(match["number"]) if match else None


def _hold_numbers(numbers: list[int | None]) -> None:
    """Raise Unreadable where an item has another number than its place."""
    if any(number not in (None, place) for place, number in enumerate(numbers, 1)):
        raise Unreadable("its verdicts are numbered otherwise than the statements: 1, 2, and so on")


def _of_row(row: str) -> bool:
    row = row if row.startswith("|") else row.lstrip("-+•* \t")
    leading, trailing = _LEADING.match(row), _TRAILING.search(row)
    if leading is None and trailing is None:
        raise Unreadable(f"an item of its list holds no yes or no: {row[:80]!r}")
    said = [match["word"].lower() == "yes" for match in (leading, trailing) if match]
    why = (leading["why"] or leading["because"] or "") if leading else row[: trailing.start()] if trailing else ""
    denied = vocabulary.takes_back(why) or (said[0] and (vocabulary.turns(why) if leading else _led(why)))
    denied = denied or bool(_INVERSE.search(why) if leading and said[0] else not leading and _asks_opposite(why))
    if len(set(said)) > 1 or denied:
        raise Unreadable(f"an item of its list says more than one thing: {row[:80]!r}")
    return said[0]


def _led(why: str) -> bool:
    """Whether a statement before its yes says the word itself, or leads up to one that is not the grader's."""
    return _SHORT.search(why) is not None or vocabulary.leads_away(objects.clause(why))


def _asks_opposite(statement: str) -> bool:
    """Whether what a yes or no is said to is a label such as "Contradicted", and not a statement."""
    pieces = [piece for piece in _LAST_CLAUSE.split(statement.strip(" \t*_|:?")) if any(map(str.isalpha, piece))]
    words = pieces[-1].split() if pieces else []
    return 0 < len(words) <= _LABEL_WORDS and _INVERSE.search(" ".join(words[:3])) is not None


def _words(rows: list[str]) -> list[bool]:
    words = [word for row in rows for word in _SHORT.findall(row)]
    numbers = [int(number) for row in rows for number in _NUMBERS.findall(row)]
    if len(numbers) == len(words) or len(rows) == 1:
        _hold_numbers(list(numbers))
    else:
        _hold_numbers([_numbered(row) for row in rows if _SHORT.search(row)])
    return [word.lower() in ("yes", "y") for word in words]
