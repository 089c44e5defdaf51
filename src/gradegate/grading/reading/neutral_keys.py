"""The keys that an object may have besides those of the grader: a short closed list, and what the user asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.errors import Unreadable

# Their values are not read.
NEUTRAL = frozenset(
    "reason reasons reasoning explanation explanations rationale justification analysis thinking thought thoughts comment"
    " comments note notes evidence confidence summary steps id claim statement sentence quote quotes".split()
)
# What a program gives beside a verdict: the other fields of promptfoo's GradingResult.
OF_PROGRAMS = frozenset("namedscores namedscoreweights componentresults tokensused assertion metadata suggestions".split())
# They say a verdict, whoever asks for them.
_VERDICTS = frozenset("pass passed verdict result success error refusal".split())


@dataclass(frozen=True, slots=True)
class Keys:
    """What one question leaves neutral: ``asked`` are texts of the user's in which a key before a colon is asked for."""

    neutral: frozenset[str] = NEUTRAL
    asked: tuple[str, ...] = ()

    def check(self, value: Any, schema: Mapping[str, Any]) -> None:
        """Raise Unreadable for a key that is neither of ``schema`` nor neutral, at every depth that the schema has."""
        if isinstance(value, dict):
            properties: Mapping[str, Any] = schema.get("properties", {})
            for key, inner in value.items():
                if key in self.neutral:
                    continue
                if key in properties:
                    self.check(inner, properties[key])
                elif "".join(filter(str.isalnum, key)) in _VERDICTS or not any(
                    re.search(before_a_colon(key), text, re.IGNORECASE) for text in self.asked
                ):
                    raise Unreadable(f"its object has the key `{excerpt(key, 60)}`, which was not asked for")
        elif isinstance(value, list) and "items" in schema:
            for item in value:
                self.check(item, schema["items"])


def before_a_colon(*keys: str) -> str:
    """A pattern for any of these keys before a colon, in quotes or not."""
    return rf"(?<![^\W_])(?:{'|'.join(map(re.escape, keys))})[\W_]*?[:：]"
