"""Keys that mean nothing here: passed over with one note, where they cannot stand for a key that means something.

In a test, its options and an assertion only what documents them is passed over (``wrongkeys.DOCUMENTS``): a check that
nobody reads would be green. At the top of a file, in providers and in what steers a run a key may be a name, if it is
no near miss, no key of another place, and has no word for what is checked. Two keys of promptfoo are passed over where
what they are about is decided elsewhere: a text says itself which variables it lacks, so `vars` of a prompt are idle, and
so is `redteam` beside tests.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from gradegate.config import keys
from gradegate.config.unknown_keys import (
    MISPLACED,
    UNSUPPORTED,
    asserts,
    documents,
    is_limit,
    is_meant,
    limit_in,
    speaks_of_checks,
)
from gradegate.core.suite import Idle, Note
from gradegate.errors import Origin
from gradegate.files.documents import line_of
from gradegate.providers.api.options import steers
from gradegate.registry import near

OWN = ("x-", "_", ".")  # how keys begin that a config has for itself
TOO_MANY = 1000  # keys of one mapping that are looked at
MOST = 12  # keys that a note names
_STRICT = (
    keys.AssertionKeys,
    keys.TestKeys,
    keys.OptionKeys,
    keys.ScenarioKeys,
)  # where nothing is passed over but what documents


def kept(
    model: type[BaseModel], value: Mapping[str, Any], file: str, idle: list[Idle]
) -> Mapping[str, Any]:
    """A mapping of a config without the keys that mean nothing in it, which are added to ``idle``."""
    known = keys.names_of(model)
    if known >= value.keys():
        return value
    own = {key for key in value if is_own(key) and key not in known}
    strange = [key for key in value if key not in known and key not in own]
    if len(strange) > TOO_MANY:
        return value  # no config is written so: each is a mistake
    meant = {
        key
        for key in strange
        if means_something(key, model)
        or (documents(key) and limit_in(value[key]))
        or asserts(value[key])
    }
    if model is keys.PromptKeys or (
        model is keys.ConfigKeys and (value.get("tests") or value.get("scenarios"))
    ):
        meant.discard("vars" if model is keys.PromptKeys else "redteam")
    if model is keys.ConfigKeys and meant:
        # Those of the keys whose values other places of the document use: they only hold what has an anchor.
        values = {key: _identities(item) for key, item in value.items()}
        used = Counter(identity for inside in values.values() for identity in inside)
        meant -= {key for key in meant if any(used[identity] > 1 for identity in values[key])}
    strange = [key for key in strange if key not in meant]
    idle += [Idle(key, Origin(file, line_of(value, [key]))) for key in strange]
    passed = {*own, *strange}
    return {key: item for key, item in value.items() if key not in passed} if passed else value


def is_own(key: str) -> bool:
    """Whether a config has the key for itself; two underscores are those of a column of CSV."""
    return key.startswith(OWN) and not key.startswith("__")


@lru_cache(maxsize=4096)
def means_something(key: str, model: type[BaseModel]) -> bool:
    """Whether a key that the model does not know may be meant for one that decides something, here or elsewhere."""
    if model in _STRICT:
        return not documents(key)
    if is_meant(key, keys.place_of(model)) or is_limit(key):
        return True
    if model is keys.ProviderKeys and steers(
        key
    ):  # an option that belongs into `config`, such as an address
        return True
    if documents(key):
        return False
    if speaks_of_checks(key) or (key not in keys.INERT and (key in MISPLACED or keys.belongs(key))):
        return True
    return bool(near(key, [*keys.names_of(model) - keys.INERT, *MISPLACED, *UNSUPPORTED]))


def _identities(value: Any) -> set[int]:
    """Of mappings, lists and texts; a value that is aliased within another is looked at once."""
    found: set[int] = set()
    left = [value]
    while left:
        item = left.pop()
        if id(item) in found or not (
            isinstance(item, dict | list) or (isinstance(item, str) and len(item) > 1)
        ):
            continue
        found.add(id(item))
        left += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return found


def notes(idle: Iterable[Idle]) -> list[Note]:
    """One note for each file: its keys in the order in which they come, each with how often it is there."""
    files: dict[str, list[Idle]] = {}
    for item in idle:
        files.setdefault(item.origin.file, []).append(item)
    said = []
    for items in files.values():
        counts = Counter(item.key for item in items)
        names = [
            f"`{key}`" + (f" ({count} times)" if count > 1 else "") for key, count in counts.items()
        ]
        more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
        first = min((item.origin for item in items), key=lambda origin: origin.line)
        said.append(
            Note(f"has no meaning here and is ignored: {', '.join(names[:MOST])}{more}", first)
        )
    return said
