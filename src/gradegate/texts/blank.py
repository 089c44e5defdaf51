"""Whether a text prints anything at all."""

from __future__ import annotations

import regex

# What Unicode says is not to be shown, what has no shape, and the shapes that are empty: a blank of Braille, of musical
# notation, of Khitan and of hieroglyphs.
_SEEN = regex.compile(r"[^\p{Default_Ignorable_Code_Point}\p{C}\p{Z}\s\u2800\U0001D159\U00016FE4\U00013441\U00013442]")
# What a terminal takes for commands: ECMA-48, control sequences, strings and single functions.
_COMMANDS = regex.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)


def is_blank(text: str) -> bool:
    """Whether nothing of the text is seen: blanks, signs that are never shown, and commands to a terminal."""
    if any(sign in text for sign in "\x1b\x9b\x9d\x90\x98\x9e\x9f"):
        text = _COMMANDS.sub("", text)
    # At once: handing the interpreter over to another thread and back takes longer than to look.
    return _SEEN.search(text, concurrent=False) is None
