"""Sentences that are quoted from a text, and nothing beside them but list marks and one line that leads up to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import labels, objects, vocabulary
from gradegate.grading.reading.answer import Answer
from gradegate.grading.reading.sentences import bare, folded, is_quotable, quoted, sentences, stands_in

_NONE = re.compile(
    r"(?:there\s+is\s+)?insufficient\s+information(?:\s+in\s+the\s+(?:\w+\s+)?context)?(?:\s+to\s+answer(?:\s+the\s+(?:query|question))?)?",
    re.IGNORECASE,
)
# What a line that leads up to quotations says of them; without such a word it may say that they are useless.
_LEADING = re.compile(
    r"\b(?:relevant\w*|needed|necessary|required|useful|helpful|help|helps|answer|answers|extract\w*|support\w*|pertinent\w*|related|key|selected|copied|sentences?|candidates?|evidence|necessar\w+|relevan\w+|wichtig\w*"
    r"|hilfreich\w*|sätze|phrases?|frases?|oraciones|frasi|zinnen|предложени\w+|релевант\w+)\b|相关|相關|句子|関連|文|관련",
    re.IGNORECASE,
)
_DENYING = re.compile(
    r"\b(?:ir|un)(?:relevant\w*|related|necessary|needed|helpful|used|important|supported)|\b(?:useless|off[- ]?topic|discard\w*|exclud\w*|reject\w*|ignor\w*|remov\w*|drop\w*|skip\w*|omit\w*|left\s+out|leav\w+\s+out|superfluous"
    r"|redundant|noise|distract\w*|beside\s+the\s+point|less|least|non[- ]?\w+|without|except|apart|lack\w*|contradict\w*|mislead\w*|wrong|false|other|rest|remaining|hardly|barely|irrelevan\w+|pertinence\s+nulle"
    r"|zero|low|lowest|little|poor|weak|minimal|limited|minor|nulle?|in[uú]til\w*|unnütz\w*|nutzlos\w*|unwichtig\w*|onbelangrijk\w*|nutteloos|zbędn\w*|бесполезн\w*|нерелевантн\w*|(?:all|every|each|any|random|whole|entire|full)\s+(?:of\s+)?(?:the\s+)?(?:sentences?|lines?|text|context|passages?|candidates?))\b|無関係|무관",
    re.IGNORECASE,
)
_DOUBTED = re.compile(r"[.!][\"'”’]?\s*[?？]+\s*\Z")
_GOES_ON = frozenset(
    "the a an of is are was were be and or but to in on at by for with from that which who as not its their his her".split()
)
_MOST = 2000  # lines, and sentences of a line


def insufficient(text: str) -> bool:
    """Whether a text is the phrase that says that nothing helps."""
    return _NONE.fullmatch(folded(bare(text))) is not None


def quotations(answer: Answer, units: Sequence[str], whole: str) -> tuple[str, ...]:
    """The ``units`` of a context that are quoted, and pieces quoted of others, each once; empty for "Insufficient Information".

    ``units`` and ``whole`` are folded. Raises Unreadable for anything else.
    """
    pieces, said = _pieces(answer, whole)
    if said and pieces:
        raise Unreadable("it quotes sentences and says that there are none")
    if not said and not pieces:
        raise Unreadable("it quotes nothing that is in the context")
    covered: dict[str, None] = {}
    for piece in pieces:
        inside = [unit for unit in units if stands_in(unit, piece)] or _part(piece, units)
        if not inside:
            raise Unreadable(f"{piece!r} is too short to be a quotation of the context")
        covered |= dict.fromkeys(inside)
    return tuple(item for item in covered if not any(item != other and stands_in(item, other) for other in covered))


def _part(piece: str, units: Sequence[str]) -> list[str]:
    """The unit that a piece is a part of, so that two parts of a sentence count once; the piece itself where it is in several."""
    if not (is_quotable(piece) and _ends(piece)):
        return []
    return [next((unit for unit in units if stands_in(piece, unit)), piece)]


def _ends(piece: str) -> bool:
    """Whether a part of a sentence may be the end of one: "Paris is the" is cut off."""
    return piece.rsplit(maxsplit=1)[-1] not in _GOES_ON


def _pieces(answer: Answer, whole: str) -> tuple[list[str], bool]:
    """What is quoted, folded, and whether it says that nothing helps."""
    rows, listed = _rows(answer)
    if not listed and rows and insufficient(next(iter(sentences(rows[0])), rows[0])):
        return [], _nothing_else(rows, whole, answer.strict)
    if listed and any(map(insufficient, rows)):
        return [] if len(rows) == 1 else [""], True
    if not listed and len(rows) > 1 and _leads(rows[0], whole):
        if answer.strict:
            raise Unreadable(objects.STRICT)
        rows = rows[1:]
    return [piece for row in rows for piece in _quoted(row, whole)], False


def _rows(answer: Answer) -> tuple[list[str], bool]:
    if answer.holds_json:
        listed = _texts_alone(answer) if not answer.spans else objects.table(answer, "sentences")
        if not listed or not all(isinstance(item, str) and item.strip() for item in listed):
            raise Unreadable('"sentences" is not a list of sentences')
        return [row for item in listed for row in labels.lines(item)][:_MOST], True
    rows = labels.lines(answer.text)
    if len(rows) > _MOST:
        raise Unreadable("it has too many lines")
    return rows, False


def _texts_alone(answer: Answer) -> list[Any]:
    from gradegate.grading.reading import lists

    return lists.alone(answer)


def _nothing_else(rows: list[str], whole: str, strict: bool) -> bool:
    """True where what follows the phrase is only the reason for it. Raises Unreadable."""
    rest = sentences(rows[0])[1:] + rows[1:]
    if strict and rest:
        raise Unreadable(objects.STRICT)
    quoting = any(stands_in(folded(bare(part)), whole) and is_quotable(folded(bare(part))) for part in rest)
    if quoting or any(map(vocabulary.takes_back, rest)) or any(quoted(part) for part in rest):
        raise Unreadable("it says that there is insufficient information, and then more than the reason")
    return True


def _leads(row: str, whole: str) -> bool:
    return row.rstrip("*_ ").endswith((":", "：")) and not stands_in(folded(bare(row)), whole) and _is_lead(row)


def _is_lead(row: str) -> bool:
    if _DENYING.search(row) or vocabulary.turns(row) or vocabulary.refuses(row) or vocabulary.leads_away(row):
        raise Unreadable(f"its quotations are led up to by {row[:80]!r}")
    return _LEADING.search(row) is not None


def _quoted(row: str, whole: str) -> list[str]:
    """The quotations of a line: all of it, or each of its sentences, perhaps after words that lead up to them."""
    if (labels.CHECKBOX.search(row) or row.startswith("❌")) and not stands_in(folded(row), whole):
        raise Unreadable("it holds a box to tick")
    if _DOUBTED.search(row):
        raise Unreadable("it puts a question mark after a quotation")
    if stands_in(folded(bare(row)), whole):
        return [folded(bare(row))]
    lead, colon, said = row.partition(": ")
    if colon and any(map(str.isalpha, lead)) and len(lead) <= 80 and _is_lead(lead):
        row = said
        if stands_in(folded(bare(row)), whole):
            return [folded(bare(row))]
    parts = [folded(bare(part)) for part in sentences(row)][:_MOST]
    if not parts or not all(stands_in(part, whole) for part in parts):
        raise Unreadable(f"{row[:80]!r} is not quoted from the context; copy sentences word for word, and add nothing")
    return parts
