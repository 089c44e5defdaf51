"""The keys that a grader's object may have besides those of its form."""

import re
from typing import Any

from msgspec import Struct

from gradegate.errors import Unreadable
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

# Their values are not read.
NEUTRAL = frozenset(
    "reason reasons reasoning explanation explanations rationale justification analysis thinking thought thoughts comment"
    " comments note notes evidence confidence summary steps id claim statement sentence quote quotes".split()
)
# What a program gives besides a verdict: the other fields of promptfoo's GradingResult.
OF_PROGRAMS = frozenset(
    "namedscores namedscoreweights componentresults tokensused assertion metadata suggestions".split()
)
# These keys say a verdict, whoever asks for them.
_VERDICT_KEYS = frozenset("pass passed verdict result success error refusal".split())


class NeutralKeys(Struct, frozen=True):
    """The keys that may be in a reply to one question, besides those of its form.

    ``prompts`` are texts of the user. A key before a colon in one of them is asked for, and so is neutral, too.
    """

    keys: frozenset[str] = NEUTRAL
    prompts: tuple[str, ...] = ()

    def check(self, value: Any, schema: JsonObject) -> None:
        """Raise Unreadable for a key that is neither neutral, nor in ``schema``, nor asked for by a prompt of the user.

        Objects inside the value are checked as deep as the schema describes them.
        """
        if isinstance(value, list) and "items" in schema:
            for item in value:
                self.check(item, schema["items"])
        if not isinstance(value, dict):
            return
        properties = schema.get("properties", {})
        for key, inner in value.items():
            if key in self.keys:
                continue
            if key in properties:
                self.check(inner, properties[key])
            elif not self._user_asks_for(key):
                raise Unreadable(
                    f"its object has the key `{excerpt(key, 60)}`, which was not asked for"
                )

    def _user_asks_for(self, key: str) -> bool:
        """Whether a prompt of the user asks for a key. Keys that say a verdict are never accepted."""
        if "".join(filter(str.isalnum, key)) in _VERDICT_KEYS:
            return False
        pattern = re.compile(key_before_colon(key), re.IGNORECASE)
        return any(pattern.search(prompt) for prompt in self.prompts)


def key_before_colon(*keys: str) -> str:
    """A pattern for any of these keys before a colon: ``"pass":``, ``pass :``."""
    return rf"(?<![^\W_])(?:{'|'.join(map(re.escape, keys))})[\W_]*?[:：]"
