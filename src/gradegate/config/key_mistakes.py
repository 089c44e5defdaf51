"""Explains what pydantic refuses in a config: what is wrong with a key or a value, where, and what to write instead."""

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from itertools import islice
from typing import Any

from pydantic import BaseModel, ValidationError

from gradegate.config import unknown_keys
from gradegate.config.keys import key_names, place_of
from gradegate.core.policy import LIMITS, limit_key
from gradegate.core.validation import explain_invalid
from gradegate.errors import Mistake, Origin
from gradegate.files.documents import origin_of
from gradegate.files.limits import MAX_MISTAKES
from gradegate.registry import near_miss

Path = Sequence[str | int]

_SHARES = {"ignore-up-to", "threshold"} | {
    limit_key(name) for name, limit in LIMITS.items() if limit.is_share
}


def validation_mistakes(
    error: ValidationError,
    content: Any,
    file: str,
    path: Path = (),
    model: type[BaseModel] | None = None,
) -> list[Mistake]:
    """The mistakes that pydantic found, each at its line. ``path`` leads to the checked value within ``content``."""
    details = distinct_details(_without_misspelt_missing(error.errors(include_url=False)))
    mistakes = []
    for keys, detail in islice(details.items(), MAX_MISTAKES):
        steps = [*path, *keys]
        origin = origin_of(file, content, *steps)
        names = [step for step in steps if isinstance(step, str)]
        mistakes.append(_explain_detail(detail, names[-1] if names else "the file", origin, model))
    if len(details) > len(mistakes):
        what = f"{len(details) - len(mistakes):,} more mistakes are here"
        mistakes.append(Mistake(what, mistakes[0].origin, "correct these first"))
    return mistakes


def _explain_detail(
    detail: Any, name: str, origin: Origin, model: type[BaseModel] | None
) -> Mistake:
    inner_model = unknown_keys.model_at(model, detail["loc"])
    place = place_of(inner_model)
    if detail["type"] == "extra_forbidden":
        names = key_names(inner_model) if inner_model else ()
        what, cure = unknown_keys.explain_unknown_key(name, place, names, detail.get("input"))
        return Mistake(what, origin, cure)
    if detail["type"] == "missing":
        return Mistake(f"`{name}` is missing", origin, "add it")
    mistake = wrong_value(name, detail, origin)
    cure = unknown_keys.cure_for_removed_value(place, name, detail["input"])
    return Mistake(mistake.what, origin, cure or mistake.cure)


def wrong_value(name: str, detail: Any, origin: Origin) -> Mistake:
    """What is wrong with the value of a key, and what to write."""
    what, cure = explain_invalid(detail, share=name in _SHARES, name=name)
    return Mistake(f"`{name}` {what}", origin, cure)


# --- pydantic's errors -------------------------------------------------------------------------------------


def distinct_details(
    details: Iterable[Any], branches: Container[str] = unknown_keys.BRANCHES
) -> dict[tuple[Any, ...], Any]:
    """One of pydantic's errors for each thing that is wrong, by the keys that lead to the value.

    A union has an error for each of its branches. The error with the longest path belongs to the branch that was meant.
    """
    detail_by_keys: dict[tuple[Any, ...], Any] = {}
    for detail in details:
        detail_by_keys.setdefault(_keys_to(detail, branches), detail)

    # Paths to values inside of which something is wrong.
    outer_paths = set[tuple[Any, ...]]()
    for keys in detail_by_keys:
        outer_paths.update(keys[:length] for length in range(len(keys)))
    return {keys: detail for keys, detail in detail_by_keys.items() if keys not in outer_paths}


def _keys_to(detail: Any, branches: Container[str]) -> tuple[Any, ...]:
    """The keys that lead to an error, without the branches of unions, which pydantic puts between them."""
    location = detail["loc"]
    keys = [step for step in location if not unknown_keys.is_branch(step, branches)]
    # An unknown key is a key, even if it has the name of a branch.
    if detail["type"] == "extra_forbidden" and unknown_keys.is_branch(location[-1], branches):
        keys.append(location[-1])
    return tuple(keys)


def _without_misspelt_missing(details: Sequence[Any]) -> list[Any]:
    """The errors without those of a missing key that is there with a spelling mistake."""
    misspelt_keys = defaultdict(list)  # by the location of the mapping
    for detail in details:
        if detail["type"] == "extra_forbidden":
            *mapping, key = detail["loc"]
            misspelt_keys[tuple(mapping)].append(str(key))

    relevant = []
    for detail in details:
        if detail["type"] == "missing":
            *mapping, key = detail["loc"]
            if near_miss(str(key), misspelt_keys[tuple(mapping)]):
                continue
        relevant.append(detail)
    return relevant
