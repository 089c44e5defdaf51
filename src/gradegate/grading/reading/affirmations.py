"""Yes or no as the last line of a reply, alone or after a label; and the words pass and fail."""

from __future__ import annotations

import re
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import labels, objects, preceding, values
from gradegate.grading.reading.answer import Answer
from gradegate.grading.reading.judgement import Judgement
from gradegate.grading.reading.labels import lines, plain, ticked, unwrapped

_NOUNS = labels.NOUNS | frozenset(
    "criterion criteria met meets satisfied satisfies fulfilled fulfils fulfills fulfil fulfill meet satisfy pass passes passed relevant hence therefore thus overall y/n yes/no requirement kriterium critère criterio critério erfüllt".split()
)
_FILLERS = frozenset(
    "does do it has been have submission submitted requirement requirements are well last message assistant conversation".split()
)
_WORD = re.compile(
    r"(?P<label>.*?)[\s\"'`*_(\[“‘]*(?<![^\W_])(?<![^\s:=?→>\"'`*_(\[“‘|-])(?P<word>yes|no|y|n)[\"'`*_)\]”’]{0,3}[.!;]?",
    re.IGNORECASE | re.DOTALL,
)
_ALONE = re.compile(r"(yes|no|y|n)[.!;]?", re.IGNORECASE)
_MEANT = re.compile(
    r"[\"'*_(\[]{0,3}(?:(?:it|this|the\s+(?:answer|submission|response|output))\s+)?(?:(?P<yes>pass(?:es|ed)?|yes|y|true|met|meets|satisfied|accepted|approved|correct)|(?P<no>fail(?:s|ed|ing|ure)?|no|n|false|(?:(?:is|was|does|has|did)\s+)?(?:not|n['’]t)\s+(?:met|meet|pass|passed|satisfied|satisfy|acceptable|correct|fulfilled)|(?:doesn|isn|hasn)['’]t\s+\w+|unmet|rejected|incorrect|wrong))\b(?!\s*(?:/|\||or\b|[-’']\w))",
    re.IGNORECASE,
)
VERDICT_NOUNS = labels.NOUNS | frozenset("pass passed".split())


def affirmed(answer: Answer, key: str = "verdict") -> Judgement[bool]:
    """Yes (True) or no of ``{"verdict", "reason"}`` or of the last line, and the reason. Raises Unreadable."""
    if not answer.holds_json:
        rows = lines(answer.text)
        return Judgement(last_line(answer), " ".join(rows[:-1]))
    reasons: list[str] = []

    def read(item: dict[str, Any]) -> bool | None:
        if key not in item:
            return None
        reasons.append(values.words(item.get("reason")))
        said = values.truth(item[key])
        if said is None:
            raise Unreadable(f'"{key}" is neither yes nor no')
        return said

    said = objects.verdict(answer, read, f'with the key "{key}"')
    hold_labels(objects.before(answer), said)
    return Judgement(said, reasons[0])


def last_line(answer: Answer) -> bool:
    """Whether the last line that is not empty is yes (True) or no. Raises Unreadable."""
    rows = lines(answer.text)
    said = _said(rows[-1]) if rows else None
    if said is None:
        raise Unreadable("its last line is not Y or N alone")
    if answer.strict and len(rows) > 1:
        raise Unreadable(objects.STRICT)
    before = "\n".join(rows[:-1])
    if preceding.away(answer.text, rows[-1]):
        raise Unreadable("its last line is led up to as an example, a quotation or a denial; end with your own Y or N")
    hold_labels(before, said)
    return said


def _said(line: str) -> bool | None:
    rest, tick = ticked(unwrapped(plain(line)))
    rest = unwrapped(rest)
    match = _ALONE.fullmatch(rest)
    if match is None:
        labelled = _WORD.fullmatch(rest) if len(rest) <= labels.LONGEST else None
        if labelled is None or not labels.is_label(labelled["label"], _NOUNS, _FILLERS):
            return None
        word = labelled["word"]
    else:
        word = match[1]
    said = word.lower() in ("yes", "y")
    return None if tick and (tick == "yes") != said else said


def hold_labels(text: str, said: bool) -> None:
    """Raise Unreadable where a labelled line of a text says the opposite."""
    other = labels.opposed(text, VERDICT_NOUNS, meant, said) if text else ""
    if other:
        raise Unreadable(f"it says {other[:60]!r} and then the opposite; give one verdict")


def meant(value: str) -> bool | None:
    """Whether what follows a label is a word for pass (True) or for fail; None for neither."""
    match = _MEANT.match(value)
    return None if match is None else match["yes"] is not None
