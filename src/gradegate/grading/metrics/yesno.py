"""Reads how a grader says yes or no to each of several statements; another count than asked for is no verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gradegate.errors import Unreadable
from gradegate.grading.metrics import sentences

_MARK = re.compile(
    r"final\s+verdicts?(?:\s+for\s+each\s+statement)?(?:\s+in\s+order)?(?:\W*?:|\s+[–—-])[*_\s]*", re.IGNORECASE
)
_LABELLED = re.compile(r"\bverdict\W{0,4}[:=]\W{0,4}(yes|no|y|n)\b(?!\s*(?:/|\||or\b))", re.IGNORECASE)
_NUMBER = r"(?:(?:statement|claim)\s*)?#?\(?\d{1,3}\s*[.):\]–—=-]\s*"
_GAP = " \t\r\n\"'`*_()[].,;|/\\>&–—-"
_TOKEN = re.compile(rf"{_NUMBER}|\b(?:yes|no|y|n)\b", re.IGNORECASE)
NEAR = 200  # characters at the start or end of a line in which its verdict must stand
_EITHER = re.compile(r"\b(?:yes|no)\b\W{0,3}(?:/|\||\bor\b)\W{0,3}\b(?:yes|no)\b", re.IGNORECASE)
_WORD = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_SHORT = re.compile(r"\b(yes|no|y|n)\b", re.IGNORECASE)
# A verdict that goes on stops at punctuation first: "No evidence" is none.
_LEADING = re.compile(
    rf"(?:[-+•*]\s+)?[\"'`*_(\[\s]*(?:{_NUMBER})*[\"'`*_(\[\s]*(yes|no)\b[\"'`*_)\]]*(?=$|\s*[.,;:!()–—-]|\s+(?:because|since|as)\b)",
    re.IGNORECASE,
)
# What a bare yes or no must go on about, to be a verdict and not a greeting.
_ABOUT = re.compile(
    r"\b(?:statement|context|support|claim|state[sd]|sa(?:ys|id)|mention|impl|follow|infer|deduc)", re.IGNORECASE
)
_TRAILING = re.compile(r"(?:[:–—=|]|->|=>|→|\s-|[.!?)\]\"”])\s*[*_(\[\"'`]*(yes|no)[*_)\]\"'`.!|\s]*$", re.IGNORECASE)


def in_order(text: str, count: int) -> tuple[bool, ...]:
    """One yes (True) or no (False) for each of ``count`` statements. Raises Unreadable.

    Read are, in this order: what follows "Final verdict for each statement in order:"; every "Verdict: yes"; a reply
    that is nothing but verdicts; one verdict to a line of a list, at its start or at its end.
    """
    final = [_listed(rest) for rest in _after_marks(text)]
    labelled = [word.lower() in ("yes", "y") for word in _LABELLED.findall(_MARK.sub("\n", text))]
    if final:
        if any(other != final[0] for other in final[1:]):
            raise Unreadable("it holds several lists of verdicts that differ; give one")
        found = final[0]
        if len(labelled) == len(found) and labelled != found:
            raise Unreadable("its final verdicts differ from those before them")
    elif labelled:
        found = labelled
    else:
        found = _unmarked(text, count)
    if len(found) != count:
        raise Unreadable(f"it holds {len(found)} verdicts where {count} were asked for")
    return tuple(found)


def _unmarked(text: str, count: int) -> list[bool]:
    """The verdicts of a reply that marks none: nothing but verdicts, lines of a list or table, or a plain yes or no."""
    lines = sentences.lines(text)
    rules = [number for number, line in enumerate(lines, 1) if re.fullmatch(r"[|:\s-]{3,}", line)]
    rows = [line for line in lines[rules[0] if rules else 0 :] if line.startswith("|")]
    listed = rows or [line for line in lines if sentences.is_item(line)]
    if listed and not _only(text):
        found = [_of_line(line) for line in listed]
        if None in found:
            raise Unreadable("not every item of its list holds a yes or no")
        return _words(word for word in found if word)
    bare = [line for line in lines if _only(line)]
    if bare and not any(_WORD.search(line) for line in lines if line not in bare):
        return _words(_SHORT.findall("\n".join(bare)))
    pieces = _pieces(text)
    alone = [piece for piece in pieces if _only(piece)]
    if len(alone) > 1 and pieces[: len(alone)] == alone and not any(map(_WORD.search, pieces[len(alone) :])):
        return _words(_SHORT.findall(" ".join(alone)))
    leading = _LEADING.match(text[:NEAR])
    if count == 1 and leading and _ABOUT.search(text) and len(_WORD.findall(text)) == 1:
        return _words([leading[1]])
    return []


def _after_marks(text: str) -> Iterator[str]:
    marks = list(_MARK.finditer(text))
    for number, mark in enumerate(marks, 1):
        yield text[mark.end() : marks[number].start() if number < len(marks) else len(text)]


def _listed(text: str) -> list[bool]:
    """The verdicts of a list: they may stand one to a line or to a sentence, with explanations between them."""
    if _EITHER.search(text):
        raise Unreadable("it holds yes and no as alternatives")
    if _only(text):
        return _words(_SHORT.findall(text))
    lines = sentences.lines(text)
    if lines and _only(lines[0]):
        rest = [line for line in lines[1:] if _LEADING.match(line[:NEAR])]
        return _words(_SHORT.findall(lines[0]) + [_LEADING.match(line[:NEAR])[1] for line in rest])  # type: ignore[index]
    found = [_of_line(line) for line in lines]
    if sum(word is not None for word in found) < 2:
        found = [match[1] for piece in _pieces(text) if (match := _LEADING.match(piece[:NEAR]))]
    return _words(word for word in found if word is not None)


def _only(text: str) -> bool:
    """Whether a text is nothing but numbers and verdicts: "1. Yes 2. No", "Yes, No", '["Yes", "No"]'."""
    return _SHORT.search(text) is not None and not _TOKEN.sub("", text).strip(_GAP)


def _of_line(line: str) -> str | None:
    leading, trailing = _LEADING.match(line[:NEAR]), _TRAILING.search(line[-NEAR:])
    if leading and trailing and leading[1].lower() != trailing[1].lower():
        raise Unreadable("a line of it says both yes and no")
    match = leading or trailing
    return match[1] if match else None


def _pieces(text: str) -> list[str]:
    return [piece for line in sentences.lines(text) for piece in sentences.sentences(line)]


def _words(found: Iterable[str]) -> list[bool]:
    return [word.lower() in ("yes", "y") for word in found]
