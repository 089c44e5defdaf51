"""``derivedMetrics``: metrics that are worked out of others once all answers are graded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradegate.configs import scripts
from gradegate.configs.desk import Desk
from gradegate.configs.keys import DerivedKeys
from gradegate.errors import ConfigError
from gradegate.files.bounds import MAX_DERIVED
from gradegate.texts.formulas import COUNT
from gradegate.values.suite import DerivedSpec


def derived(written: Sequence[Any], desk: Desk) -> Iterator[DerivedSpec]:
    """Those without a mistake; mistakes are said at the desk."""
    names: list[str] = []
    if len(written) > MAX_DERIVED:
        desk.say(f"there are more than {MAX_DERIVED} derived metrics", desk.line("derivedMetrics"), "leave some out")
    for number, item in enumerate(written[:MAX_DERIVED]):
        origin = desk.line("derivedMetrics", number)
        if not isinstance(item, Mapping):
            desk.say("a derived metric is a mapping", origin, "write `- {name: ..., value: ...}`")
        elif keys := desk.check(DerivedKeys, item, item, desk.file):
            if misnamed := _misnamed(keys.name, names):
                desk.say(misnamed, origin, "give it another name")
            try:
                if keys.value.startswith("file://") and not scripts.is_script(keys.value):
                    raise ConfigError.at(f"`{keys.value}` is not a JavaScript file", origin, "name a .js, .cjs or .mjs file")
                yield DerivedSpec(keys.name, scripts.code(keys.value, desk.source, origin, engine=True), origin)
            except ConfigError as e:
                desk.mistakes += e.mistakes
            names.append(keys.name)


def _misnamed(name: str, before: Sequence[str]) -> str:
    if not name.strip():
        return "a derived metric has no name"
    if name == COUNT:
        return f"a derived metric is called `{COUNT}`, which is reserved for the number of answers"
    return f"two derived metrics are called `{name}`" if name in before else ""
