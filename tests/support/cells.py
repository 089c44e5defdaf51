"""What is expected of what a run left behind: values at paths, texts, files, and what is there instead."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

TEXTS = {"mistake": ("err", "has"), "said": ("said", "has"), "unsaid": ("said", "lacks")}
MISSING = "(missing)"
WORDS: dict[str, Callable[[Any, Any], bool]] = {
    "has": lambda found, texts: all(it in found for it in (texts if isinstance(texts, list) else [texts])),
    "lacks": lambda found, texts: not any(it in found for it in (texts if isinstance(texts, list) else [texts])),
    "begins": lambda found, text: found.startswith(text),
    "ends": lambda found, text: found.endswith(text),
    "like": lambda found, pattern: re.search(pattern, found) is not None,
    "size": lambda found, size: len(found) == size,
    "keys": lambda found, keys: list(found) == keys,
    "sorted": lambda found, items: sorted(found, key=str) == items,
    "all": lambda found, value: len(found) > 0 and not any(unmet(value, it) for it in found),
    "some": lambda found, value: not all(unmet(value, it) for it in found),
    "count": lambda found, counts: all(found.count(text) == number for text, number in counts.items()),
    "fewer": lambda found, counts: all(found.count(text) < number for text, number in counts.items()),
    "times": lambda found, counts: all(sum(text in it for it in found) == number for text, number in counts.items()),
    "differ": lambda found, wanted: (len({json.dumps(it) for it in found}) == len(found)) is wanted,
    "among": lambda found, values: found in values,
    "between": lambda found, ends: ends[0] <= found <= ends[1],
    "not": lambda found, value: found != value,
    "at": lambda found, paths: not any(unmet(value, at(found, path)) for path, value in paths.items()),
    "json": lambda found, paths: not unmet({"at": paths}, json.loads(found)),
    "jsonl": lambda found, paths: not unmet({"at": paths}, [json.loads(line) for line in found.splitlines()]),
}


def differences(expect: Mapping[str, Any], left: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """What is not as expected, with what is there instead."""
    usual = {"code": 2, "requested": 0} if expect.get("mistake") else {"code": 0}
    own = {path: it for path, it in expect.items() if path not in TEXTS and path != "written"}
    pairs = [(path, at(left, path), it) for path, it in ({path: it for path, it in usual.items() if path in left} | own).items()]
    pairs += [(name, left[place], {word: expect[name]}) for name, (place, word) in TEXTS.items() if expect.get(name) is not None]
    for file, value in expect.get("written", {}).items():
        pairs += [(file, (folder / file).read_text(encoding="utf-8") if (folder / file).exists() else MISSING, value)]
    yield from (f"{path} is {found!r}, and not {value!r}" for path, found, value in pairs if unmet(value, found))


def at(value: Any, path: str) -> Any:
    """What is at `cases.0.output`; `cases.*.output` are those of all."""
    step, _, rest = path.partition(".")
    if step == "*" and isinstance(value, list):
        return [at(it, rest) if rest else it for it in value]
    here = dict(enumerate(value)) if isinstance(value, list) else value if isinstance(value, Mapping) else {}
    found = here.get(int(step) if isinstance(value, list) else step, MISSING)
    return at(found, rest) if rest and found != MISSING else found


def unmet(value: Any, found: Any) -> bool:
    """Whether it is not the value, or not what its words say."""
    if isinstance(value, Mapping) and value and value.keys() <= WORDS.keys():
        return found == MISSING or not all(WORDS[word](found, it) for word, it in value.items())
    return found != (pytest.approx(value, abs=1e-6) if isinstance(value, float) else value)
