"""What to say of a key that is not known where it stands: what it was meant for, and where that is written.

Keys are compared as people mix them up: in any case, with and without hyphens and underscores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from gradegate.asking.options import steers
from gradegate.configs import limits
from gradegate.files.tables import table
from gradegate.grading.grader import GRADERS
from gradegate.registry import near, plain, suggest

_TABLE = table("configs", "keys.yaml")
UNSUPPORTED: Mapping[str, str] = _TABLE["unsupported"]  # what promptfoo knows and gradegate does not do
MISPLACED: Mapping[str, str] = _TABLE["misplaced"]  # keys at the wrong level, where that takes more than the name of their place
DOCUMENTS = frozenset(_TABLE["documents"])  # what documents a test or an assertion, and nothing else
# Words that speak of what is checked; keys at the top of a file and of providers may be names, but not of these.
_WORDS = frozenset(_TABLE["checks"])
_INSIDE = re.compile("assert|threshold|rubric|testcase|passrate|transform|postprocess|evaluator|expected|minscore|criteria")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# Where a limit is meant for a rule; in a test and in an assertion it is meant for their own threshold.
_LIMITED = frozenset({"root", "gate", "rule", "evaluateOptions", "command line"})


def speaks_of_checks(key: str) -> bool:
    """Whether a key has a word for what is checked, in camelCase, snake_case or kebab-case."""
    words = {word.lower() for word in _WORD.findall(key)}
    return bool(words & _WORDS or _INSIDE.search(plain(key)))


def documents(key: str) -> bool:
    """Whether a key says something to people alone."""
    return plain(key) in DOCUMENTS


@cache
def _meant(place: str) -> Mapping[str, str]:
    return {word: entry["say"] for entry in _TABLE["meant"].get(place, ()) for word in entry["for"].split()}


def is_meant(key: str, place: str) -> bool:
    """Whether people write the key for another one of that place."""
    return plain(key) in _meant(place)


def said(key: str, place: str, known: Iterable[str], elsewhere: Callable[[str], str], value: Any = None) -> tuple[str, str]:
    """What is wrong with an unknown key, and the cure.

    ``known`` are the keys of its place, ``elsewhere`` gives the place of a key that has one ("into an assertion").
    """
    if key in UNSUPPORTED:
        return f"`{key}` is not supported", UNSUPPORTED[key]
    unknown = f"unknown key `{key}`"
    word = plain(key)
    if cure := _meant(place).get(word):
        return unknown, cure
    if (place in _LIMITED and limits.is_limit(key)) or (place == "test" and limits.of_a_rule(key)):
        nothing = f"`{key}` is no key of a rule" if place == "rule" else f"`{key}` decides nothing there"
        return nothing, limits.as_rule(key, value, place)
    if place and (key in MISPLACED or (not documents(key) and elsewhere(key))):
        return f"`{key}` does not belong here", MISPLACED.get(key) or f"write it {elsewhere(key)}"
    if place == "assertion" and GRADERS.find(key.removeprefix("not-")):
        return unknown, f"write `type: {key}`, and what it compares or judges with as `value`"
    if place == "provider" and steers(key):
        return unknown, "write it into `config`"
    return unknown, _nearest(key, place, list(known))


def _nearest(key: str, place: str, known: Sequence[str]) -> str:
    """What a key is a slip of the pen for, else what to do about one that nobody knows."""
    if close := near(key, known):
        return f'did you mean "{close}"?'
    if close := near(key, _meant(place)):
        return _meant(place)[close]
    if place and (close := near(key, MISPLACED)):
        return f'did you mean "{close}"? {MISPLACED[close]}'
    return suggest(key, known) or _TABLE["unknown"].get(place, "remove it; keys of your own start with x-")
