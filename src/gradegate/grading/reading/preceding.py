"""How the lines before the last one lead up to it: as a sentence that denies it, an exclusion, a condition, or another's words."""

from __future__ import annotations

import re

from gradegate.grading.reading import objects, sentences, vocabulary

_EXCLUDED = re.compile(
    r"^\W*(?:if|unless|suppose|supposing|assum\w+|were|had|should|whether|when|wenn|falls|si|se|als|jeśli|если|如果|もし|만약)\b|\b(?:rul(?:e|es|ed|ing)\s+out|except|exclud\w*|(?:everything|anything|all)\s+but|never|lazy|wrong\s+\w+)\b",
    re.IGNORECASE,
)
_APART = re.compile(r"\n[ \t]*\r?\n[\s`~*_]*\Z")
_COMPLETE = (".", "!", "?", "。", "！", "？", "…", ")", '"', "”", "|", ";")
_FEW = 6  # words of a line that can be a denial of what comes after it, and nothing else
_SHORT = 120  # characters of a refusal
_LOOK_BACK = 600  # characters before the last line


def away(text: str, last: str) -> bool:
    """Whether the last line of a text is not the speaker's own verdict by what is before it."""
    before = text[: text.rstrip().rfind(last)]
    lead = objects.clause(before[-_LOOK_BACK:])
    if len(before.strip()) <= _SHORT and vocabulary.refuses(before):
        return True  # a refusal, and what it refuses; a longer text may refuse a part and decide the rest
    if not lead:
        return False
    if lead.rstrip("*_ ").endswith((":", "：")):
        denied = len(lead.split()) <= _FEW and vocabulary.turns(lead)
        return denied or _EXCLUDED.search(lead) is not None or vocabulary.leads_away(lead)
    return not _APART.search(before) and _goes_on(lead)


def _goes_on(line: str) -> bool:
    """Whether a line without an end may be a sentence that the next line ends: "I cannot say"."""
    if line.endswith(_COMPLETE) or line.startswith(("#", "|", "**", "__")) or sentences.is_item(line):
        return False
    return vocabulary.turns(line) or vocabulary.leads_away(line) or _EXCLUDED.search(line) is not None
