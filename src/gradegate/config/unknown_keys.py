"""What to say of a key that is not known where it stands: what it was meant for, and where that is written.

Keys are compared as people mix them up: in any case, with and without hyphens and underscores.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from pydantic import BaseModel

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config import keys
from gradegate.core.numbers import list_some
from gradegate.core.policy import LIMITS, Note, limit_key
from gradegate.core.suite import Idle
from gradegate.files.documents import origin_of, table
from gradegate.providers.api.options import is_option_name
from gradegate.registry import fold_word, near_miss
from gradegate.structs import JsonObject

_TABLE = table("config", "keys.yaml")
UNSUPPORTED: Mapping[str, str] = _TABLE[
    "unsupported"
]  # what promptfoo knows and gradegate does not do
MISPLACED: Mapping[str, str] = _TABLE[
    "misplaced"
]  # keys at the wrong level, where that takes more than the name of their place
DOCUMENTS = frozenset(
    _TABLE["documents"]
)  # what documents a test or an assertion, and nothing else
# Words that speak of what is checked; keys at the top of a file and of providers may be names, but not of these.
_WORDS = frozenset(_TABLE["checks"])
_INSIDE = re.compile(
    "assert|threshold|rubric|testcase|passrate|transform|evaluator|expected|minscore|criteria"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# Where a limit is meant for a rule; in a test and in an assertion it is meant for their own threshold.
_LIMITED = frozenset({"root", "gate", "rule", "evaluateOptions", "commandLineOptions"})
OWN = ("x-", "_", ".")  # how keys begin that a config has for itself
TOO_MANY = 1000  # keys of one mapping that are looked at
MOST = 12  # keys that a note names
_STRICT = (
    keys.AssertionKeys,
    keys.TestKeys,
    keys.OptionKeys,
    keys.ScenarioKeys,
)  # where nothing is passed over but what documents


def has_word_for_checks(key: str) -> bool:
    """Whether a key has a word for what is checked, in camelCase, snake_case or kebab-case."""
    words = {word.lower() for word in _WORD.findall(key)}
    return bool(words & _WORDS or _INSIDE.search(fold_word(key)))


def is_documentation(key: str) -> bool:
    """Whether a key says something to people alone."""
    return fold_word(key) in DOCUMENTS


def cure_for_removed_key(place: str, key: str) -> str:
    """What to write instead of a key that gradegate no longer reads; empty for any other key."""
    return str(table("config", "removed.yaml")["keys"].get(place, {}).get(key, ""))


def cure_for_removed_value(place: str, key: str, value: Any) -> str:
    """What to write instead of a value that gradegate no longer reads; empty for any other value."""
    values = table("config", "removed.yaml")["values"].get(place, {}).get(key, {})
    return str(values.get(value.lower(), "")) if isinstance(value, str) else ""


@cache
def _meant(place: str) -> Mapping[str, str]:
    removed = table("config", "removed.yaml")["keys"].get(place, {})
    meant = {fold_word(word): cure for word, cure in removed.items()}
    for entry in _TABLE["meant"].get(place, ()):
        meant.update(dict.fromkeys(entry["for"].split(), entry["say"]))
    return meant


def has_cure(key: str, place: str) -> bool:
    """Whether people write the key for another one of that place."""
    return fold_word(key) in _meant(place)


def explain_unknown_key(
    key: str, place: str, known: Iterable[str], elsewhere: Callable[[str], str], value: Any = None
) -> tuple[str, str]:
    """What is wrong with an unknown key, and the cure.

    ``known`` are the keys of its place, ``elsewhere`` gives the place of a key that has one ("into an assertion").
    """
    if key in UNSUPPORTED:
        return f"`{key}` is not supported", UNSUPPORTED[key]
    unknown = f"unknown key `{key}`"
    word = fold_word(key)
    if cure := _meant(place).get(word):
        return unknown, cure
    nearest = _nearest(key, place, list(known))
    if (place in _LIMITED and is_limit(key)) or (place == "test" and near_miss(key, _RULES)):
        what = f"`{key}` decides nothing there"
        if place == "rule":
            what = f"`{key}` is not a key of a rule"
        return what, cure_as_rule(key, value, place)
    if has_assertions(value):
        return f"`{key}` has no meaning here, so its assertion is not checked", nearest
    if is_documentation(key) and (limit := find_limit_key(value)):
        inner = value.get(limit) if isinstance(value, dict) else None
        return f"`{limit}` of `{key}` decides nothing there", cure_as_rule(limit, inner, place)
    if place and (key in MISPLACED or (not is_documentation(key) and elsewhere(key))):
        return f"`{key}` does not belong here", MISPLACED.get(key) or f"write it {elsewhere(key)}"
    if place == "assertion" and EVALUATORS.find(key.removeprefix("not-")):
        return unknown, f"write `type: {key}`, and what it compares or judges with as `value`"
    if place == "provider" and is_option_name(key):
        return unknown, "write it into `config`"
    return unknown, nearest


def _nearest(key: str, place: str, known: Sequence[str]) -> str:
    """What a key is a slip of the pen for, else what to do about one that nobody knows."""
    if close := near_miss(key, known):
        return f'did you mean "{close}"?'
    if close := near_miss(key, _meant(place)):
        return _meant(place)[close]
    if place and (close := near_miss(key, MISPLACED)):
        return f'did you mean "{close}"? {MISPLACED[close]}'
    return str(_TABLE["unknown"].get(place, "remove it; keys of your own start with x-"))


# --- keys that speak of thresholds where no tool reads any --------------------------------------------------------------


_RULES = {limit_key(name): limit for name, limit in LIMITS.items()}
_EXAMPLE = 0.9
_LARGEST = 1_000_000  # number that a cure repeats


def is_limit(key: str) -> bool:
    """Whether a key speaks of a threshold, or is nearly one of a rule."""
    return "threshold" in fold_word(key) or bool(near_miss(key, _RULES))


def find_limit_key(value: Any) -> str:
    """The first key in what a key documents that speaks of a threshold; empty where there is none."""
    return next(filter(is_limit, _keys_in(value)), "")


def has_assertions(value: Any) -> bool:
    """Whether what stands under a key holds assertions, however deep."""
    return any(key == "assert" for key in _keys_in(value))


def _keys_in(value: Any) -> Iterator[str]:
    left = [value]
    for item in left:  # which grows
        if isinstance(item, Mapping):
            yield from map(str, item)
            item = [*item.values()]  # noqa: PLW2901
        if isinstance(item, list) and len(left) < _LARGEST:
            left += item


def cure_as_rule(key: str, value: Any, place: str) -> str:
    """What to write in place of such a key, where ``place`` is its place as unknown_keys.py calls it ("root", "gate", "rule")."""
    wanted = near_miss(key, _RULES) or ("min-score" if "score" in key.lower() else "min-pass-rate")
    count = value if type(value) is int and 0 <= value <= _LARGEST else 0
    limit = f"{wanted}: {count if _RULES[wanted].counts else _share(value)}"
    if place == "rule" and wanted == "min-pass-rate":
        return f"write `{limit}` or `min-score`"
    if place in ("rule", "gate"):
        return f"write `{limit}`"
    cure = f"write `gate: {{{limit}}}`"
    if place != "root":
        cure += " at the top of the file"
    if key == "threshold":
        cure += ", or, where it is one of a test or an assertion, write it there"
    return cure


def _share(value: Any) -> str:
    """A share from 0 to 1 as it is meant: 80 and "80%" are 0.8."""
    text = value if isinstance(value, str) else ""
    if type(value) in (int, float) and abs(value) <= 100:
        text = repr(value)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    number = float(match[1]) if match else _EXAMPLE
    number = number / 100 if number > 1 or (match and match[2]) else number
    return f"{number if number <= 1 else _EXAMPLE:.10g}"


def is_branch(step: Any) -> bool:
    """Pydantic puts the branch of a union into the location: a type, and no key of the file."""
    return isinstance(step, str) and (
        step in ("str", "IgnoreKeys", "ReaskKeys", "LabelsKeys") or "[" in step
    )


def model_at(model: type[BaseModel] | None, location: Sequence[Any]) -> type[BaseModel] | None:
    """The model of the mapping that holds the last step of a location, by walking the models' fields."""
    for step in location[:-1]:
        if model is None or isinstance(step, int) or is_branch(step):
            continue
        field = next((f for n, f in model.model_fields.items() if (f.alias or n) == step), None)
        model = _model_in(field.annotation) if field is not None else None
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(
        (model for part in getattr(annotation, "__args__", ()) if (model := _model_in(part))), None
    )


def without_idle_keys(
    model: type[BaseModel], value: JsonObject, file: str, idle: list[Idle]
) -> JsonObject:
    """A mapping of a config without the keys that mean nothing in it, which are added to ``idle``."""
    known = keys.key_names(model)
    if known >= value.keys():
        return value
    own = {key for key in value if is_own(key) and key not in known}
    strange = [key for key in value if key not in known and key not in own]
    if len(strange) > TOO_MANY:
        return value  # no config is written so: each is a mistake
    meant = {
        key
        for key in strange
        if may_decide(key, model)
        or (is_documentation(key) and find_limit_key(value[key]))
        or has_assertions(value[key])
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
    idle += [Idle(key, origin_of(file, value, key)) for key in strange]
    passed = {*own, *strange}
    return {key: item for key, item in value.items() if key not in passed} if passed else value


def is_own(key: str) -> bool:
    """Whether a config has the key for itself; two underscores are those of a column of CSV."""
    return key.startswith(OWN) and not key.startswith("__")


@lru_cache(maxsize=4096)
def may_decide(key: str, model: type[BaseModel]) -> bool:
    """Whether a key that the model does not know may be meant for one that decides something, here or elsewhere."""
    if model in _STRICT:
        return not is_documentation(key)
    if has_cure(key, keys.place_of(model)) or is_limit(key):
        return True
    if model is keys.ProviderKeys and is_option_name(
        key
    ):  # an option that belongs into `config`, such as an address
        return True
    if is_documentation(key):
        return False
    if has_word_for_checks(key) or (
        key not in keys.INERT and (key in MISPLACED or keys.where_key_belongs(key))
    ):
        return True
    return bool(near_miss(key, [*keys.key_names(model) - keys.INERT, *MISPLACED, *UNSUPPORTED]))


def _identities(value: Any) -> set[int]:
    """Of mappings, lists and texts; a value that is aliased within another is looked at once."""
    found = set()
    left = [value]
    while left:
        item = left.pop()
        if id(item) in found:
            continue
        if isinstance(item, dict | list) or (isinstance(item, str) and len(item) > 1):
            found.add(id(item))
        if isinstance(item, dict):
            left += item.values()
        elif isinstance(item, list):
            left += item
    return found


def notes_on_idle_keys(idle: Iterable[Idle]) -> list[Note]:
    """One note for each file: its keys in the order in which they come, each with how often it is there."""
    files: dict[str, list[Idle]] = {}
    for item in idle:
        files.setdefault(item.origin.file, []).append(item)
    lines = []
    for items in files.values():
        counts = Counter(item.key for item in items)
        names = [
            f"`{key}`" + (f" ({count} times)" if count > 1 else "") for key, count in counts.items()
        ]
        first = min((item.origin for item in items), key=lambda origin: origin.line)
        lines.append(
            Note(
                f"has no meaning here and is ignored: {list_some(names[:MOST], len(names))}", first
            )
        )
    return lines
