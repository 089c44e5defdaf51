"""What to say about a key or a value that its model refuses."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import (
    BaseModel,
    ValidationError,
)

from gradegate.config import unknown_keys as wrongkeys
from gradegate.config.keys import key_names, place_of, where_key_belongs
from gradegate.core.policy import LIMITS, limit_key
from gradegate.core.validation import explain_invalid
from gradegate.errors import Mistake, Origin
from gradegate.files.documents import origin_of
from gradegate.files.limits import MAX_MISTAKES
from gradegate.registry import near_miss

_SHARES = {"ignore-up-to", "threshold"} | {
    limit_key(name) for name, limit in LIMITS.items() if limit.is_share
}


def validation_mistakes(
    error: ValidationError,
    content: Any,
    file: str,
    path: Sequence[str | int] = (),
    keys: type[BaseModel] | None = None,
) -> list[Mistake]:
    """What pydantic found, each at its line. ``path`` leads to the checked value within ``content``."""
    details = [*_distinct(error.errors(include_url=False))]
    said = [_mistake(detail, content, file, path, keys) for detail in details[:MAX_MISTAKES]]
    if len(details) > len(said):
        what = f"{len(details) - len(said):,} more mistakes are here"
        said.append(Mistake(what, said[0].origin, "correct these first"))
    return said


def _mistake(
    detail: Any, content: Any, file: str, path: Sequence[str | int], keys: type[BaseModel] | None
) -> Mistake:
    location = [*path, *_steps(detail)]
    origin = origin_of(file, content, *location)
    name = next((str(step) for step in reversed(location) if isinstance(step, str)), "the file")
    if detail["type"] == "extra_forbidden":
        model = wrongkeys.model_at(keys, detail["loc"])
        known = key_names(model) if model else ()
        what, cure = wrongkeys.explain_unknown_key(
            name, place_of(model), known, where_key_belongs, value=detail.get("input")
        )
        return Mistake(what, origin, cure)
    if detail["type"] == "missing":
        return Mistake(f"`{name}` is missing", origin, "add it")
    place = place_of(wrongkeys.model_at(keys, detail["loc"]))
    mistake = wrong_value(name, detail, origin)
    cure = wrongkeys.cure_for_removed_value(place, name, detail["input"])
    return Mistake(mistake.what, origin, cure) if cure else mistake


def _distinct(details: Sequence[Any]) -> Iterator[Any]:
    """One for each thing that is wrong: of a union's branches the one that was meant, and no key as missing that is misspelt."""
    misspelt: dict[tuple[Any, ...], list[str]] = {}
    for detail in details:
        if detail["type"] == "extra_forbidden":
            misspelt.setdefault(detail["loc"][:-1], []).append(str(detail["loc"][-1]))
    located = [(_steps(detail), detail) for detail in details]
    inner = {steps[:length] for steps, _ in located for length in range(len(steps))}
    seen = set()
    for steps, detail in located:
        absent = detail["type"] == "missing" and near_miss(
            str(steps[-1]), misspelt.get(detail["loc"][:-1], ())
        )
        if not absent and steps not in inner and steps not in seen:
            seen.add(steps)
            yield detail


def _steps(detail: Any) -> tuple[Any, ...]:
    """The keys that lead to what is wrong, without the branches of unions. An unknown key is none, whatever it looks like."""
    location = detail["loc"]
    steps = [step for step in location[:-1] if not wrongkeys.is_branch(step)]
    is_key = detail["type"] == "extra_forbidden"
    last = [step for step in location[-1:] if is_key or not wrongkeys.is_branch(step)]
    return (*steps, *last)


def wrong_value(name: str, detail: Any, origin: Origin) -> Mistake:
    """What is wrong with a value, and what to write."""
    what, cure = explain_invalid(detail, share=name in _SHARES, name=name)
    return Mistake(f"`{name}` {what}", origin, cure)
