"""Whether a text prints anything at all."""

from __future__ import annotations

import re

# What Python calls printable and nobody sees: what Unicode says to ignore (joiners, fillers of Hangul, variation
# selectors), and empty shapes of Braille, hieroglyphs, Khitan and musical notation.
_UNSEEN = re.compile(
    "[ \u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
# What a terminal takes for commands: ECMA-48, control sequences, strings and single functions.
_COMMANDS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)


def is_blank(text: str) -> bool:
    """Whether nothing of the text is seen: blanks, signs that are never shown, and commands to a terminal."""
    if any(sign in text for sign in "\x1b\x9b\x9d\x90\x98\x9e\x9f"):
        text = _COMMANDS.sub("", text)
    return not any(sign.isprintable() and not _UNSEEN.match(sign) for sign in dict.fromkeys(text))
