"""Finds plug-ins by name, importing their modules when they are needed, and suggests the name that a typo may have meant."""

import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
# What follows a stem: `factualness` and `factuality` have one stem, `factfulness` has another.
_ENDING = re.compile(r"(?:ness|ity|ing|cy|ce|t|y|e|s)+$")
_MOST_LETTERS = 100  # of a word in which two swapped letters are looked for
_LEAST_LETTERS = 3  # of a name that is suggested: nearly every short word is near another


def suggest(word: str, candidates: Iterable[str]) -> str:
    """Ask ``did you mean "contains"?`` if one candidate is close to the word. Otherwise an empty string.

    A distant candidate is not suggested, because users believe a suggestion.
    """
    candidate = near_miss(word, candidates)
    return f'did you mean "{candidate}"?' if candidate else ""


def near_miss(word: str, candidates: Iterable[str]) -> str:
    """Find the candidate that a typo may have meant. Case, hyphens and underscores do not matter. Empty if no candidate is close.

    The rules apply in this order: the same word, two letters swapped, the same stem, most letters in common.
    """
    # 1. The same word
    folded = fold_word(word)
    names = {fold_word(candidate): candidate for candidate in candidates}
    if folded in names:
        return names[folded]

    # 2. Two letters swapped
    stems = {name: _ENDING.sub("", name) for name in names if len(name) >= _LEAST_LETTERS}
    for at in range(min(len(folded), _MOST_LETTERS) - 1):
        swapped = folded[:at] + folded[at + 1] + folded[at] + folded[at + 2 :]
        if swapped in stems:
            return names[swapped]

    # 3. The same stem
    stem = _ENDING.sub("", folded)
    if len(stem) > _LEAST_LETTERS:
        for name, other in stems.items():
            if other == stem:
                return names[name]

    # 4. Most letters in common. One letter of four may differ.
    similarity = 0.75 if len(folded) == 4 else 0.8
    close = difflib.get_close_matches(folded, stems, n=1, cutoff=similarity)
    return names[close[0]] if close else ""


def fold_word(word: str) -> str:
    """Fold a word for comparison: small letters, without hyphens and underscores."""
    return word.lower().replace("-", "").replace("_", "")


class Registry(Generic[T]):
    """The plug-ins of one kind by name. They register themselves when their module in ``package`` is imported.

    A look-up imports only the modules that contain the name in double quotes, in their own text or in that of the YAML file
    beside them. Importing sixty evaluators would take as long as reading a thousand answers. Methods that give all plug-ins
    import every module.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._plugins: dict[str, T] = {}
        # The texts of the modules that are not imported yet, by module. None: not read yet.
        self._texts: dict[str, str] | None = None

    def register(self, *names: str) -> Callable[[T], T]:
        """A decorator that enters a plug-in under these names. Raises ValueError if a name is taken."""

        def enter(plugin: T) -> T:
            for name in names:
                if name in self._plugins:
                    raise ValueError(f"{self.kind} {name!r} is registered twice")
                self._plugins[name] = plugin
            return plugin

        return enter

    def unregister(self, *names: str) -> None:
        """Remove plug-ins that a test has registered. Raises KeyError for a name that nobody registered."""
        for name in names:
            del self._plugins[name]

    def find(self, name: str) -> T | None:
        """The plug-in of that name, or None."""
        if name not in self._plugins:
            self.mentioning(name)
        return self._plugins.get(name)

    def mentioning(self, literal: str) -> list[T]:
        """Import every module with ``literal`` in double quotes, and give all plug-ins of imported modules."""
        texts = self._texts_to_import()
        self._import([module for module, text in texts.items() if f'"{literal}"' in text])
        return list(self._plugins.values())

    def one_by_one(self) -> Iterator[T]:
        """Yield every plug-in, in any order. The next module is imported when the plug-ins of the last one are used up."""
        texts = self._texts_to_import()
        number = 0
        while True:
            # Not an iterator of the table: between two plug-ins, the caller may look up others, which adds to it.
            while number < len(self._plugins):
                yield list(self._plugins.values())[number]
                number += 1
            if not texts:
                return
            importlib.import_module(texts.popitem()[0])

    def suggest(self, name: str) -> str:
        """The name that a typo may have meant, as a question, or an empty string."""
        return suggest(name, self._import_all())

    def names(self) -> list[str]:
        """Every name, sorted."""
        return sorted(self._import_all())

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return iter(sorted(self._import_all().items(), key=lambda item: item[0]))

    def _import_all(self) -> dict[str, T]:
        self._import(list(self._texts_to_import()))
        return self._plugins

    def _import(self, modules: Iterable[str]) -> None:
        """Import those of the modules that are not imported yet."""
        texts = self._texts_to_import()
        for module in modules:
            # A module may look up a plug-in while it is imported, and so import others of these modules.
            if texts.pop(module, None) is not None:
                importlib.import_module(module)

    def _texts_to_import(self) -> dict[str, str]:
        """The texts of modules and their tables by module, without the imported modules."""
        if self._texts is None:
            folder = Path(importlib.import_module(self._package).__path__[0])
            self._texts = {}
            for path in sorted(folder.glob("[!_]*.py")):
                text = path.read_text(encoding="utf-8")
                table = path.with_suffix(".yaml")
                if table.exists():
                    text += table.read_text(encoding="utf-8")
                self._texts[f"{self._package}.{path.stem}"] = text
        return self._texts
