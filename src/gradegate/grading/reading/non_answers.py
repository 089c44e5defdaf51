"""Texts that came in place of an answer: an error page, a block, a refusal, a request for more, an empty heading."""

from __future__ import annotations

import re

from gradegate.grading.reading import vocabulary

_FAILURE = re.compile(
    r"\W*(?:<(?:!doctype|html|\?xml|head|body|title)\b|(?:http\W*)?[45]\d\d\b|(?:internal\s+)?server\s+error\b|bad\s+(?:gateway|request)\b|service\s+(?:is\s+)?(?:temporarily\s+)?unavailable\b|gateway\s+time-?out\b|too\s+many\s+requests\b"
    r"|rate\s+limit|access\s+denied\b|forbidden\b|unauthorized\b|not\s+found\W*$|upstream\s+\w+|connection\s+(?:reset|refused|closed|error)|(?:request\s+)?timed?\s?-?out\b|error\s*[:\d]|data:\s|overloaded\b|quota\b"
    r"|(?:the|this|your|my)?\s*(?:content|response|request|output|prompt|message|reply|input|text)\s*(?:was|has\s+been|is|got|were)?\s*(?:blocked|filtered|flagged|removed|withheld|redacted|censored|moderated)\b"
    r"|(?:please|kindly|bitte|por\s+favor|s['’]il)\b|(?:let\s+me|i\s+will|i['’]ll|i\s+would|i\s+need|i\s+refuse|i\s+decline|sure\b|okay\b|ok\b|certainly|of\s+course|here\s+(?:are|is))|the\s+answer\s+(?:is|was)\s+(?:a\s+refusal|empty|blank|missing))",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"無理|お断り|控えさせ|応じられ|拒否|拒绝|拒絕|无可奉告|거절|거부|أرفض|מסרב|отказ|откажусь|verweiger\w*|weigere|refuse|rifiuto|me\s+niego|recuso",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"\W*(?:(?:the\s+)?(?:statements?|claims?|sentences?|list|verdicts?|answer)|empty|none|n/?a|nothing|null|yes|no|nein|non|keine?)\W*",
    re.IGNORECASE,
)
_LONGEST = 200  # characters of a line that can be one


def is_one(line: str) -> bool:
    """Whether a line of plain text is not a statement: no words, a question, a heading, a failure or a refusal."""
    if not any(map(str.isalpha, line)) or _HEADING.fullmatch(line[:_LONGEST]):
        return True
    short = line.strip()[:_LONGEST]
    return short.endswith(("?", "？", "؟")) or any(
        (_FAILURE.match(short), _REFUSAL.search(short) if len(short) < _LONGEST else None, vocabulary.refuses(short))
    )
