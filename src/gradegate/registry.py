"""A table of plug-ins that fills itself by importing every module of a folder."""

import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
# What is put behind a stem: `factualness` and `factuality` are of one, `factfulness` is not.
_ENDING = re.compile(r"(?:ness|ity|ing|cy|ce|t|y|e|s)+$")
_LONGEST = 100  # letters of a word whose letters are put in other order
_LEAST = 3  # letters of a name that a slip of the pen may be meant for: nearly every short word is near another


def suggest(word: str, candidates: Iterable[str]) -> str:
    """``did you mean "contains"?`` for a near miss, else an empty string: a wrong name would be believed."""
    close = near(word, candidates)
    return f'did you mean "{close}"?' if close else ""


def near(word: str, candidates: Iterable[str]) -> str:
    """The candidate for which a word may be a slip of the pen, case, hyphens and underscores aside; else empty: the same word,
    one with two letters in other order, one of the same stem, or one with most of its letters.
    """
    own, words = plain(word), {plain(candidate): candidate for candidate in candidates}
    if own in words:
        return words[own]
    longer = {it: _ENDING.sub("", it) for it in words if len(it) >= _LEAST}
    swapped = (
        own[:at] + own[at + 1] + own[at] + own[at + 2 :]
        for at in range(min(len(own), _LONGEST) - 1)
    )
    if same := next((it for it in swapped if it in longer), ""):
        return words[same]
    stem = _ENDING.sub("", own)
    if len(stem) > _LEAST and (same := next((it for it, of in longer.items() if of == stem), "")):
        return words[same]
    found = difflib.get_close_matches(
        own, longer, n=1, cutoff=0.75 if len(own) == 4 else 0.8
    )  # one of four
    return words[found[0]] if found else ""


def plain(word: str) -> str:
    """A word as it is compared: in small letters, without hyphens and underscores."""
    return word.lower().replace("-", "").replace("_", "")


class Registry(Generic[T]):
    """Plug-ins of one kind by name, from the modules of ``package``.

    A look-up imports the modules whose text, or whose table's, holds the name in double quotes, since sixty graders take as long to
    import as a thousand answers to read; whoever asks for all plug-ins gets every module imported.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._plugins: dict[str, T] = {}
        self._unread: dict[str, str] | None = (
            None  # modules that were not imported yet, with their text
        )

    def register(self, *names: str) -> Callable[[T], T]:
        """Decorator: enter a plug-in under its names. Raises ValueError when a name is taken."""

        def enter(plugin: T) -> T:
            for name in names:
                if name in self._plugins:
                    raise ValueError(f"{self.kind} {name!r} is registered twice")
                self._plugins[name] = plugin
            return plugin

        return enter

    def find(self, name: str) -> T | None:
        """The plug-in of that name, or None."""
        if name not in self._plugins:
            self.mentioning(name)
        return self._plugins.get(name)

    def mentioning(self, literal: str) -> list[T]:
        """The plug-ins known once every module is imported whose text holds ``literal`` in double quotes."""
        unread = self._texts()
        for module in [module for module, text in unread.items() if f'"{literal}"' in text]:
            del unread[module]
            importlib.import_module(module)
        return list(self._plugins.values())

    def one_by_one(self) -> Iterator[T]:
        """Every plug-in, in no order that matters; modules are imported as the caller goes on."""
        yield from self._plugins.values()
        unread = self._texts()
        while unread:
            before = len(self._plugins)
            importlib.import_module(unread.popitem()[0])
            yield from list(self._plugins.values())[before:]

    def suggest(self, name: str) -> str:
        """The name that a slip of the pen was meant for, as a question, or an empty string."""
        return suggest(name, self._all())

    def names(self) -> list[str]:
        """Every name, sorted."""
        return sorted(self._all())

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return iter(sorted(self._all().items(), key=lambda item: item[0]))

    def _all(self) -> dict[str, T]:
        unread = self._texts()
        for module in list(unread):
            if unread.pop(module, None) is not None:  # else an import of another has imported it
                importlib.import_module(module)
        return self._plugins

    def _texts(self) -> dict[str, str]:
        if self._unread is None:
            folder = Path(importlib.import_module(self._package).__path__[0])
            tables = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.yaml")}
            texts = {
                path.stem: path.read_text(encoding="utf-8") + tables.get(path.stem, "")
                for path in sorted(folder.glob("[!_]*.py"))
            }
            self._unread = {f"{self._package}.{name}": text for name, text in texts.items()}
        return self._unread
