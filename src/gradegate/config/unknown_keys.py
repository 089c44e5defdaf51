"""Explains unknown keys: what a key was probably meant for, and where that is written.

Keys are compared without case, hyphens and underscores, because people mix these up. The sentences are in `keys.yaml` and
`removed.yaml`.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from pydantic import BaseModel

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config.keys import (
    INERT,
    AssertionKeys,
    ConfigKeys,
    OptionKeys,
    PromptKeys,
    ProviderKeys,
    ScenarioKeys,
    TestKeys,
    key_names,
    place_of,
    where_key_belongs,
)
from gradegate.core.numbers import list_some
from gradegate.core.policy import LIMITS, Note, limit_key
from gradegate.core.suite import Idle
from gradegate.files.documents import origin_of, table
from gradegate.providers.api.options import is_option_name
from gradegate.registry import fold_word, near_miss
from gradegate.structs import JsonObject

_TABLE = table("config", "keys.yaml")
UNSUPPORTED: Mapping[str, str] = _TABLE["unsupported"]  # promptfoo's keys that gradegate refuses
# Keys that belong to another place, with more to say than the name of that place
MISPLACED: Mapping[str, str] = _TABLE["misplaced"]
DOCUMENTS = frozenset(_TABLE["documents"])  # keys that only document a test or an assertion
# Prefixes of keys that a config has for itself
_OWN_PREFIXES = ("x-", "_", ".")
_MAX_KEYS = 1000  # unknown keys of one mapping that are looked at
_MAX_NAMES = 12  # keys that a note names
# Places where every unknown key is a mistake, except keys that document.
_STRICT = (AssertionKeys, TestKeys, OptionKeys, ScenarioKeys)


# --- what is wrong with an unknown key --------------------------------------------------------------------


def explain_unknown_key(
    key: str, place: str, names: Iterable[str], value: Any = None
) -> tuple[str, str]:
    """What is wrong with an unknown key, and the cure. ``names`` are the keys of its place."""
    if key in UNSUPPORTED:
        return f"`{key}` is not supported", UNSUPPORTED[key]

    unknown = f"unknown key `{key}`"
    if cure := _cures(place).get(fold_word(key)):
        return unknown, cure

    # A limit of the gate, or any threshold where no tool reads one.
    if (place in _WITHOUT_THRESHOLD and is_limit(key)) or (
        place == "test" and near_miss(key, _LIMITS)
    ):
        what = f"`{key}` decides nothing there"
        if place == "rule":
            what = f"`{key}` is not a key of a rule"
        return what, cure_as_rule(key, value, place)

    nearest = _nearest_key(key, place, list(names))
    if has_assertions(value):
        return f"`{key}` has no meaning here, so its assertion is not checked", nearest
    if is_documentation(key) and (limit := find_limit_key(value)):
        inner = value.get(limit) if isinstance(value, dict) else None
        return f"`{limit}` of `{key}` decides nothing there", cure_as_rule(limit, inner, place)

    # A key of another place.
    if place:
        where = "" if is_documentation(key) else where_key_belongs(key)
        if key in MISPLACED or where:
            cure = MISPLACED.get(key) or f"write it {where}"
            return f"`{key}` does not belong here", cure
    if place == "assertion" and EVALUATORS.find(key.removeprefix("not-")):
        return unknown, f"write `type: {key}`, and what it compares or judges with as `value`"
    if place == "provider" and is_option_name(key):
        return unknown, "write it into `config`"
    return unknown, nearest


def _nearest_key(key: str, place: str, names: Sequence[str]) -> str:
    """The cure for a key that is probably misspelt, or else for one that nobody knows."""
    if meant := near_miss(key, names):
        return f'did you mean "{meant}"?'
    if meant := near_miss(key, _cures(place)):
        return _cures(place)[meant]
    if place and (meant := near_miss(key, MISPLACED)):
        return f'did you mean "{meant}"? {MISPLACED[meant]}'
    return str(_TABLE["unknown"].get(place, "remove it; keys of your own start with x-"))


@cache
def _cures(place: str) -> Mapping[str, str]:
    """The cures for keys that were removed from a place, or that people write for another key.

    A key is spelled as `fold_word` does it.
    """
    cures = {fold_word(key): cure for key, cure in _removed_entries("keys", place).items()}
    for entry in _TABLE["meant"].get(place, ()):
        cures.update(dict.fromkeys(entry["for"].split(), entry["say"]))
    return cures


def cure_for_removed_key(place: str, key: str) -> str:
    """What to write instead of a key that gradegate no longer reads; empty for any other key."""
    return str(_removed_entries("keys", place).get(key, ""))


def cure_for_removed_value(place: str, key: str, value: Any) -> str:
    """What to write instead of a value that gradegate no longer reads; empty for any other value."""
    if not isinstance(value, str):
        return ""
    return str(_removed_entries("values", place).get(key, {}).get(value.lower(), ""))


def _removed_entries(kind: str, place: str) -> Mapping[str, Any]:
    """The entries of a table, "keys" or "values", for what gradegate no longer reads at a place."""
    entries: Mapping[str, Any] = table("config", "removed.yaml")[kind].get(place, {})
    return entries


# --- keys that speak of thresholds where no tool reads any ------------------------------------------------


# Places where a limit is meant for a rule. In tests and assertions it is meant for their own threshold.
_WITHOUT_THRESHOLD = frozenset({"root", "gate", "rule", "evaluateOptions", "commandLineOptions"})
_LIMITS = {limit_key(name): limit for name, limit in LIMITS.items()}
_EXAMPLE_SHARE = 0.9
_MAX_NUMBER = 1_000_000  # the largest number that a cure repeats
_MAX_VALUES = 1_000_000  # values inside of a key that are searched


def is_limit(key: str) -> bool:
    """Whether a key speaks of a threshold, or is nearly a limit of a rule."""
    return "threshold" in fold_word(key) or bool(near_miss(key, _LIMITS))


def find_limit_key(value: Any) -> str:
    """The first key inside of a value that speaks of a threshold; empty if there is none."""
    for key in _keys_inside(value):
        if is_limit(key):
            return key
    return ""


def has_assertions(value: Any) -> bool:
    """Whether there are assertions inside of a value, however deep."""
    return "assert" in _keys_inside(value)


def _keys_inside(value: Any) -> Iterator[str]:
    """All keys inside of a value, those of outer mappings first."""
    values = [value]
    for item in values:  # the list grows in the loop
        inner: list[Any] = []
        if isinstance(item, Mapping):
            yield from map(str, item)
            inner = list(item.values())
        elif isinstance(item, list):
            inner = item
        if len(values) < _MAX_VALUES:
            values += inner


def cure_as_rule(key: str, value: Any, place: str) -> str:
    """Tell to write a limit of the gate instead of a key. ``place`` is the name of the key's place, such as "root"."""
    name = near_miss(key, _LIMITS)
    if not name:
        name = "min-score" if "score" in key.lower() else "min-pass-rate"
    if not _LIMITS[name].counts:
        amount = _as_share(value)
    elif type(value) is int and 0 <= value <= _MAX_NUMBER:
        amount = str(value)
    else:
        amount = "0"
    limit = f"{name}: {amount}"

    if place == "rule" and name == "min-pass-rate":
        return f"write `{limit}` or `min-score`"
    if place in ("rule", "gate"):
        return f"write `{limit}`"
    cure = f"write `gate: {{{limit}}}`"
    if place != "root":
        cure += " at the top of the file"
    if key == "threshold":
        cure += ", or, where it is one of a test or an assertion, write it there"
    return cure


def _as_share(value: Any) -> str:
    """A share from 0 to 1, as it was meant: 80 and "80%" are 0.8. An example for what is no share."""
    share = _EXAMPLE_SHARE
    if type(value) in (int, float) and abs(value) <= 100:
        value = repr(value)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", value) if isinstance(value, str) else None
    if match:
        share = float(match[1])
        if share > 1 or match[2]:
            share /= 100
        if share > 1:
            share = _EXAMPLE_SHARE
    return f"{share:.10g}"


# --- the model of a place ---------------------------------------------------------------------------------


BRANCHES = frozenset({"str", "IgnoreKeys", "ReaskKeys", "LabelsKeys"})  # of unions in `keys`


def is_branch(step: Any, branches: Container[str] = BRANCHES) -> bool:
    """Whether a step of pydantic's location is the branch of a union: a type, and no key of the file."""
    return isinstance(step, str) and (step in branches or "[" in step)


def model_at(model: type[BaseModel] | None, location: Sequence[Any]) -> type[BaseModel] | None:
    """The model of the mapping with the last key of a location; ``model`` is that of the whole. None if unknown."""
    for step in location[:-1]:
        if model is None:
            break
        if isinstance(step, int) or is_branch(step):
            continue
        annotations = {
            field.alias or name: field.annotation for name, field in model.model_fields.items()
        }
        model = _model_in(annotations.get(step))
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first model that an annotation such as ``list[Model] | None`` names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in getattr(annotation, "__args__", ()):
        if model := _model_in(part):
            return model
    return None


# --- keys that mean nothing -------------------------------------------------------------------------------


# Words for what is checked. A key of a file or a provider with such a word is a mistake, and not just idle.
_CHECK_WORDS = frozenset(_TABLE["checks"])
_CHECK_PARTS = re.compile(
    "assert|threshold|rubric|testcase|passrate|transform|evaluator|expected|minscore|criteria"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def without_idle_keys(
    model: type[BaseModel], value: JsonObject, file: str, idle: list[Idle]
) -> JsonObject:
    """A mapping without the keys that mean nothing in it. They are added to ``idle``, except a config's own keys."""
    names = key_names(model)
    if names >= value.keys():
        return value

    unknown = [key for key in value if key not in names and not is_own(key)]
    if len(unknown) > _MAX_KEYS:
        return value  # nobody writes such a config: each key is a mistake

    deciding = _keys_that_may_decide(unknown, value, model)
    meaningful = {}
    for key, item in value.items():
        if key in names or key in deciding:
            meaningful[key] = item
        elif not is_own(key):
            idle.append(Idle(key, origin_of(file, value, key)))
    # The mapping itself knows its line in the file.
    return value if len(meaningful) == len(value) else meaningful


def _keys_that_may_decide(
    unknown: Iterable[str], value: JsonObject, model: type[BaseModel]
) -> set[str]:
    """The unknown keys of a mapping that are a mistake, because they may be meant to decide something."""
    keys = {key for key in unknown if _may_decide_with(key, value[key], model)}
    if model is PromptKeys:
        keys.discard("vars")
    if model is ConfigKeys:
        # A config with tests does not only run red teaming.
        if value.get("tests") or value.get("scenarios"):
            keys.discard("redteam")
        keys -= _anchor_keys(keys, value)
    return keys


def is_own(key: str) -> bool:
    """Whether a config has the key for itself. Two underscores are those of a CSV column."""
    return key.startswith(_OWN_PREFIXES) and not key.startswith("__")


def is_documentation(key: str) -> bool:
    """Whether a key only documents something for people."""
    return fold_word(key) in DOCUMENTS


def _may_decide_with(key: str, value: Any, model: type[BaseModel]) -> bool:
    return (
        may_decide(key, model)
        or (is_documentation(key) and bool(find_limit_key(value)))
        or has_assertions(value)
    )


@lru_cache(maxsize=4096)
def may_decide(key: str, model: type[BaseModel]) -> bool:
    """Whether an unknown key may be meant for one that decides something, here or elsewhere."""
    if model in _STRICT:
        return not is_documentation(key)
    if fold_word(key) in _cures(place_of(model)) or is_limit(key):
        return True
    # An option that belongs into `config`, such as an address.
    if model is ProviderKeys and is_option_name(key):
        return True
    if is_documentation(key):
        return False
    if has_word_for_checks(key):
        return True
    if key not in INERT and (key in MISPLACED or where_key_belongs(key)):
        return True
    return bool(near_miss(key, [*key_names(model) - INERT, *MISPLACED, *UNSUPPORTED]))


def has_word_for_checks(key: str) -> bool:
    """Whether a key has a word for what is checked, in camelCase, snake_case or kebab-case."""
    words = {word.lower() for word in _WORD.findall(key)}
    return bool(words & _CHECK_WORDS or _CHECK_PARTS.search(fold_word(key)))


def _anchor_keys(keys: Iterable[str], config: JsonObject) -> set[str]:
    """Those of the keys that only store an anchor: other places of the config use their values by an alias."""
    if not keys:
        return set()
    identities_by_key = {key: _identities(value) for key, value in config.items()}
    uses = Counter[int]()
    for identities in identities_by_key.values():
        uses.update(identities)

    anchor_keys = set()
    for key in keys:
        if any(uses[identity] > 1 for identity in identities_by_key[key]):
            anchor_keys.add(key)
    return anchor_keys


def _identities(value: Any) -> set[int]:
    """The identities of all mappings, lists and texts in a value. An aliased value is looked at once."""
    identities = set()
    values = [value]
    while values:
        item = values.pop()
        if id(item) in identities:
            continue
        if isinstance(item, dict | list) or (isinstance(item, str) and len(item) > 1):
            identities.add(id(item))
        if isinstance(item, dict):
            values += item.values()
        elif isinstance(item, list):
            values += item
    return identities


def notes_on_idle_keys(idle: Iterable[Idle]) -> list[Note]:
    """A note for each file, at its first idle key. It names the keys in order, with how often they are there."""
    by_file: dict[str, list[Idle]] = {}
    for item in idle:
        by_file.setdefault(item.origin.file, []).append(item)

    notes = []
    for items in by_file.values():
        names = []
        for key, count in Counter(item.key for item in items).items():
            names.append(f"`{key}` ({count} times)" if count > 1 else f"`{key}`")
        keys = list_some(names[:_MAX_NAMES], len(names))
        first = min((item.origin for item in items), key=lambda origin: origin.line)
        notes.append(Note(f"has no meaning here and is ignored: {keys}", first))
    return notes
