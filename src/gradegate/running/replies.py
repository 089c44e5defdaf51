"""Whether a reply holds an answer: one rule for replies that are asked for now and for those that were recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.asking.finish import WORDS, ended
from gradegate.errors import ProviderError, Trouble
from gradegate.files.bounds import MAX_BODY, MIB, READ, TooMuch
from gradegate.grading.reading.peel import is_reasoning
from gradegate.values.conversation import Reply

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


def check(reply: Reply, who: str) -> None:
    """Raises ProviderError for a reply that holds no answer: filtered, not known to have come to its end, or empty.

    A refusal in words is an answer, and so is one that was cut at its token limit.
    """
    end = ended(reply.finish_reason)
    if end == "content_filter":
        words = reply.text.strip()
        what = f"{who}: a content filter stopped the answer" + (f": {words}" if words else "")
        raise ProviderError(what, Trouble.REFUSED)
    if end and end not in WORDS:
        raise ProviderError(f"{who} did not finish its answer (finish reason {excerpt(end, 60)})", Trouble.MALFORMED)
    check_text(reply, who)


def check_text(reply: Reply, who: str) -> None:
    """Raises ProviderError for a text that is none: nothing of it is seen, it is reasoning alone, or it is too long."""
    if none := emptiness(reply.text, reply.metadata):
        limit = " at its token limit" if ended(reply.finish_reason) == "length" else ""
        raise ProviderError(f"{who} answered with {none}{limit}", Trouble.MALFORMED)
    if len(reply.text) > MAX_BODY:
        raise ProviderError(f"{who} answered more than {MAX_BODY // MIB} Mi characters", Trouble.MALFORMED)
    try:
        READ.add_answer(len(reply.text))
    except TooMuch as e:
        raise ProviderError(f"{e}: ask for shorter ones", Trouble.MALFORMED) from e


def emptiness(text: str, metadata: Mapping[str, Any]) -> str:
    """What a text is that holds no answer, beside no call of a tool; empty where it holds one."""
    calls = metadata.get("tool_calls")
    if isinstance(calls, list | tuple) and any(calls):
        return ""
    return "an empty text" if is_blank(text) else "reasoning alone" if is_reasoning(text) else ""


def metadata(reply: Reply) -> dict[str, object]:
    """What graders know of a reply beside its text."""
    refused = {"refused": True} if reply.refused else {}
    return {"finish_reason": reply.finish_reason, **refused, **reply.metadata}


def is_blank(text: str) -> bool:
    """Whether nothing of the text is seen: blanks, signs that are never shown, and commands to a terminal."""
    if any(sign in text for sign in "\x1b\x9b\x9d\x90\x98\x9e\x9f"):
        text = _COMMANDS.sub("", text)
    return not any(sign.isprintable() and not _UNSEEN.match(sign) for sign in dict.fromkeys(text))
