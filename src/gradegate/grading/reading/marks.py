"""Sentences that are each marked at their end: ``The sky is blue. [Attributed]``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import labels, objects, sentences, values, vocabulary
from gradegate.grading.reading.answer import Answer

_WORDS = {
    "attributed": True,
    "notattributed": False,
    "unattributed": False,
    "yes": True,
    "y": True,
    "true": True,
    "no": False,
    "n": False,
    "false": False,
}
_OPEN, _CLOSE = r"(?:\[|\(|\*\*?|__?|`|【|［)", r"(?:\]|\)|\*\*?|__?|`|】|］)"
_BRACKETED = re.compile(rf"{_OPEN}[^\[\]()*`\n]{{0,40}}attribut[^\[\]()*`\n]{{0,40}}{_CLOSE}", re.IGNORECASE)
_NAMED = re.compile(r"attribut(?:ed|able)", re.IGNORECASE)
_KNOWN = r"(?P<mark>(?:not[\s_-]*|un)?attributed)"
_AT_END = re.compile(
    rf"(?:(?P<wrap>(?:\*\*|__|`|\s)*)\[[\s*_`]*{_KNOWN}[\s*_`.]*\]|(?:\*\*|__|`)?\([\s*_`]*{_KNOWN.replace('mark', 'round')}[\s*_`]*\)|(?:\*\*?|__?|`)\s*{_KNOWN.replace('mark', 'bold')}[.]?\s*(?:\*\*?|__?|`)"
    rf"|(?:[:|=→]|->|=>|\s[-–—])\s*{_KNOWN.replace('mark', 'plain')}[.!]?)(?:\*\*|__|`|[.|\s])*$",
    re.IGNORECASE,
)
_RULE = re.compile(r"[|:\s-]{3,}")
# A mark that goes on a sentence instead of standing after it: "It cannot be [Attributed]".
_FLOWING = re.compile(
    r"(?:\b(?:is|are|be|been|being|was|were|as|say|says|said|write|writes|answer|answers|deserve|deserves|earn|earns|merit|output|outputs|reply|replies|with|to|of|the|a|an|any|some|every|each|all|both|no|not|never|none|neither"
    r"|nor|nothing|nobody|hardly|barely|scarcely|almost|partly|partially|cannot|or|and|than|like|but|if|mark|marked|marks|label|labelled|labeled|call|called|get|gets|got|becomes|for|from|by|in|on|quite|entirely|fully|only|just|ist|sind|est|sont|es|son|è|é|är|er|jest|есть"
    r"|format|example|marker|tag|option|options|nicht|kein|keine|pas|non|nie|niet|ikke|inte|не)|n['’]t)\W*$",
    re.IGNORECASE,
)
# A sentence that is only a denial, and one that shows a format; with no full stop, "No sentence" is of this kind.
_DENIED = re.compile(
    r"(?:\W*(?:no|not|none|never|hardly|barely|scarcely|nothing|nobody|zero|few|\d+|kein\w*|nicht|nie|aucune?|pas|ninguna?|nenhuma?|nessuna?)\b(?:\W+\w+){0,2}\W*)\Z|\W*(?:e\.\s?g\.|example|format|z\.\s?b\.)\W",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(r"[.!?。]\s+([^.!?。]{1,60})\Z")
_NEGATED = re.compile(r"\W*(?:Not|NOT|Never|NEVER)\s+[\"“]?[A-Z]")  # "Not" before a sentence, and not within it
_OWN = re.compile(r"\W*(?:I|We|we)\b")
_SHOWING = re.compile(r"\W*(?:the\s+)?(?:format|marks?|markers?|tags?|options?|legend|key)\b", re.IGNORECASE)
_CELL = re.compile(r"^\|\s*\d{1,3}\s*\|")
_LETTERS = re.compile(r"[^\W\d_]+")
_TOTAL = re.compile(
    r"\W*(?:(?:total|number\s+of|count|sentences)\W+){0,2}\[?(?:not\s+|un)?attributed\]?\W{0,4}[:=]\W*\d+\W*",
    re.IGNORECASE,
)
_SHORT_WORD = 6  # letters of a word that can be a denial by itself
_TICKED = re.compile(r"\s*(?:(?P<yes>[✅✔☑])|(?P<no>[❌✘✗❎]))\ufe0f?\s*\Z")
_DENYING = re.compile(
    r"\W*(?:not|none|no|never|nothing|neither|nor|kein\w*|nicht|aucune?|ninguna?|nenhuma?|nessuna?|\d+)\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Marked:
    """A sentence and whether it is marked as attributed."""

    sentence: str
    attributed: bool


def marked(answer: Answer) -> tuple[Marked, ...]:
    """The sentences of ``{"verdicts": [{"sentence", "verdict"}]}``, or the marked lines of a text. Raises Unreadable."""
    if answer.holds_json:
        return tuple(_of(item) for item in _listed(answer))
    rows = labels.lines(answer.text)
    sentences: list[Marked] = []
    for number, row in enumerate(rows):
        if _RULE.fullmatch(row) or _TOTAL.fullmatch(row):
            continue
        if _NAMED.search(row):
            sentences.append(_marked(row, rows[number - 1] if number else ""))
        elif answer.strict:
            raise Unreadable(objects.STRICT)
        else:
            _hold_prose(row, bool(sentences))
    if not sentences:
        raise Unreadable("it marks no sentence as [Attributed] or [Not Attributed]")
    return tuple(sentences)


def _marked(row: str, before: str) -> Marked:
    tick = _TICKED.search(row)
    row = row[: tick.start()] if tick else row
    match = _AT_END.search(row) if not labels.is_quoted(row) else None
    if match is None or _BRACKETED.search(row[: match.start()]):
        raise Unreadable(f"a mark is not at the end of its line, or is not known: {row[:80]!r}")
    mark = next(match[name] for name in ("mark", "round", "bold", "plain") if match[name])
    sentence = _CELL.sub("", row[: match.start()]).strip(" \t*_`|:→=>–—")
    alone = not re.sub(r"^\W*\d*\W*", "", sentence)
    if alone:
        sentence = "" if _AT_END.search(before) else before
    sentence = sentences.bare(sentence.strip("| "))
    if not any(map(str.isalpha, sentence)) or _DENYING.fullmatch(sentence) or _flows(sentence) or _led(sentence):
        raise Unreadable(f"a mark is part of a sentence, or belongs to none: {row[:80]!r}")
    attributed = mark.lower().startswith("attributed")
    if tick and attributed != (tick["yes"] is not None):
        raise Unreadable(f"a mark and the sign after it differ: {row[:80]!r}")
    return Marked(sentence, attributed)


def _flows(sentence: str) -> bool:
    """Whether a sentence goes on over its mark."""
    if _NEGATED.match(sentence) or (_OWN.match(sentence) and vocabulary.turns(sentence)):
        return True
    fragment = _FRAGMENT.search(sentence)
    if fragment and vocabulary.turns(fragment[1]) and len(fragment[1].split()) <= 3:
        return True
    whole = sentence.rstrip("\"'”’)*_ ").endswith((".", "!", "?", "。", "！", "？"))
    if _DENIED.match(sentence) and not (
        whole and sentence[:1].isalpha() and not sentence.lower().startswith(("e.g", "z.b"))
    ):
        return True
    if not whole and _is_denial(sentence.rsplit(maxsplit=1)[-1]):
        return True
    return not whole and len(_LETTERS.findall(sentence)) > 1 and _FLOWING.search(sentence) is not None


def _is_denial(word: str) -> bool:
    """Whether the last word before a mark is a denial in another script or alphabet than English: "değil", "不"."""
    return not word.isascii() and len(word) <= _SHORT_WORD and vocabulary.turns(word)


def _led(sentence: str) -> bool:
    """Whether a sentence speaks of the mark, or refuses it."""
    whole = sentence.rstrip("\"'”’)*_ ").endswith((".", "!", "?"))
    speaks = vocabulary.is_of_replying(sentence) if whole else vocabulary.leads_away(objects.clause(sentence))
    return speaks or vocabulary.refuses(sentence)


def _hold_prose(row: str, after: bool) -> None:
    """Raise Unreadable for a line without a mark that may change what the marks mean."""
    leads = row.rstrip("*_ ").endswith((":", "：")) and (vocabulary.leads_away(row) or _SHOWING.match(row))
    if (
        leads
        or vocabulary.refuses(row)
        or vocabulary.takes_back(row)
        or (after and vocabulary.turns(row) and not _is_sentence(row))
    ):
        raise Unreadable(f"beside its marked lines it says {row[:80]!r}")


def _is_sentence(row: str) -> bool:
    """Whether a line is the next item of the list, whose mark follows on a line of its own."""
    return sentences.is_item(row)


def _listed(answer: Answer) -> list[Any]:
    if answer.spans and any("verdicts" in (span.value or {}) for span in answer.spans):
        return objects.table(answer, "verdicts") or _nothing()
    return list(objects.last(answer, 'with the key "verdicts"'))


def _nothing() -> list[Any]:
    raise Unreadable('"verdicts" is empty')


def _of(item: Any) -> Marked:
    if not isinstance(item, Mapping) or not isinstance(item.get("verdict"), str | bool):
        raise Unreadable('a verdict is not a JSON object with the key "verdict"')
    word = re.sub(r"[\s_-]+", "", str(item["verdict"]).strip("\"'`*_()[]“”‘’ \t\r\n.!").lower())
    if word not in _WORDS:
        raise Unreadable(f"the verdict {str(item['verdict'])[:40]!r} is neither attributed nor not attributed")
    return Marked(values.words(item.get("sentence")), _WORDS[word])
