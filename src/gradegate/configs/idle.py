"""Keys that mean nothing here: passed over with one note, where they cannot stand for a key that means something.

A key is taken for one that means something when it is nearly spelled like it, when it speaks of assertions, thresholds or
gates, and when it is such a key of another place. These stay mistakes, since what they were to check would go unchecked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from gradegate.asking.options import steers
from gradegate.configs import limits
from gradegate.configs.keys import MISPLACED, UNSUPPORTED, ConfigKeys, GateKeys, ProviderKeys, RuleKeys
from gradegate.errors import Origin
from gradegate.files.document import line_of
from gradegate.registry import near
from gradegate.suite import Idle, Note

OWN = ("x-", "_", ".")  # how keys begin that a config has for itself
TOO_MANY = 1000  # keys of one mapping that are looked at
MOST = 12  # keys that a note names
_WORDS = frozenset("assert asserts assertion assertions gate gates blocking".split()) | limits.WORDS
_INERT = frozenset({"tags", "sharing", "display", "outputPath", "writeLatestResults", "$schema"})


def kept(model: type[BaseModel], value: Mapping[str, Any], file: str, idle: list[Idle]) -> Mapping[str, Any]:
    """A mapping of a config without the keys that mean nothing in it, which are added to ``idle``."""
    known = _known(model)
    if known >= value.keys():
        return value
    own = [key for key in value if key.startswith(OWN) and key not in known]
    strange = [key for key in value if key not in known and key not in own]
    if len(strange) > TOO_MANY:
        return value  # no config is written so: each is a mistake
    meant = {key for key in strange if means_something(key, model)}
    if model is ConfigKeys and meant:
        meant -= _aliased(meant, value)
    strange = [key for key in strange if key not in meant]
    idle += [Idle(key, Origin(file, line_of(value, [key]))) for key in strange]
    passed = {*own, *strange}
    return {key: item for key, item in value.items() if key not in passed} if passed else value


@lru_cache(maxsize=4096)
def means_something(key: str, model: type[BaseModel]) -> bool:
    """Whether a key that the model does not know may be meant for one that decides something, here or elsewhere."""
    if _WORDS & {word.lower() for word in limits.WORD.findall(key)}:
        return True
    if model is ProviderKeys and steers(key):  # an option that belongs into `config`, such as an address
        return True
    if model is ConfigKeys and (
        key in _known(GateKeys) | _known(RuleKeys) - {"name", "select"} or limits.is_limit(key)
    ):
        return True
    return bool(near(key, [*_known(model) - _INERT, *MISPLACED, *UNSUPPORTED]))


@lru_cache
def _known(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def _aliased(keys: Iterable[str], content: Mapping[str, Any]) -> set[str]:
    """Those of the keys whose values other places of the document use: they only hold what has an anchor."""
    values = {key: _identities(content[key]) for key in keys}
    rest = [_identities(item) for key, item in content.items() if key not in values]
    return {
        key
        for key, inside in values.items()
        if not all(map(inside.isdisjoint, [*rest, *(other for name, other in values.items() if name != key)]))
    }


def _identities(value: Any) -> set[int]:
    """Of mappings, lists and texts; a value that is aliased within another is looked at once."""
    found: set[int] = set()
    left = [value]
    while left:
        item = left.pop()
        if id(item) in found or not (isinstance(item, dict | list) or (isinstance(item, str) and len(item) > 1)):
            continue
        found.add(id(item))
        left += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return found


def notes(idle: Iterable[Idle]) -> list[Note]:
    """One note for each file: its keys in the order in which they come, each with how often it is there."""
    files: dict[str, list[Idle]] = {}
    for item in idle:
        files.setdefault(item.origin.file, []).append(item)
    return [_note(items) for items in files.values()]


def _note(items: list[Idle]) -> Note:
    counts = Counter(item.key for item in items)
    names = [f"`{key}`" + (f" ({count} times)" if count > 1 else "") for key, count in counts.items()]
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    first = min((item.origin for item in items), key=lambda origin: origin.line)
    return Note(f"has no meaning here, and is passed over: {', '.join(names[:MOST])}{more}", first)
