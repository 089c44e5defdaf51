"""References within a document: ``{$ref: '#/path/to/it'}`` stands for what is at that place, as JSON Pointer (RFC 6901).

What is written beside a reference wins over what it refers to. JSON Schemas have references of their own: what is under one
of their keys is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files import document
from gradegate.files.bounds import MAX_ALIASED
from gradegate.files.lines import Map, Seq

REF = "$ref"
# Data of a test, and where schemas are: a reference in them is theirs. One that stands for all of it is ours.
_OWN = frozenset("value vars tools functions response_format parameters input_schema schema providerOutput".split())


def read(content: bytes, file: str) -> Any:
    """A document with its references filled in. Raises ConfigError, also for references that lead nowhere or in circles."""
    whole = document.read(content, file)
    if b"$ref" not in content or not isinstance(whole, dict | list):
        return whole
    resolver = _Resolver(whole, file)
    filled = resolver.filled(whole)
    if resolver.mistakes:
        raise ConfigError(*resolver.mistakes)
    return filled


class _Resolver:
    """``_known`` has what each reference stands for, with how many values it repeats; None while it is looked up."""

    def __init__(self, whole: Any, file: str) -> None:
        self._whole = whole
        self._file = file
        self._known: dict[str, tuple[Any, int] | None] = {}
        self._repeated = 0
        self.mistakes: list[Mistake] = []

    def filled(self, value: Any) -> Any:
        """The value itself where it holds no reference."""
        if isinstance(value, Seq):
            items = [self.filled(item) for item in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return Seq(value.line, items)
        if not isinstance(value, Map):
            return value
        pairs = {
            key: item if key in _OWN and not (isinstance(item, Map) and [*item] == [REF]) else self.filled(item)
            for key, item in value.items()
        }
        if isinstance(value.get(REF), str):
            reference = value[REF]
            target = self._looked_up(reference, value)
            beside = {key: item for key, item in pairs.items() if key != REF}
            if not isinstance(target, Map):
                if beside and target is not None:
                    self._say(f"`{reference}` is not a mapping, so no key can stand next to it", value, "remove what does")
                return value if target is None else target
            merged = {**target, **beside}
            lines = {**dict(zip(target, target.lines, strict=False)), **dict(zip(value, value.lines, strict=False))}
            return Map(value.line, merged, tuple(lines.get(key, value.line) for key in merged))
        unchanged = all(new is value[key] for key, new in pairs.items())
        return value if unchanged else Map(value.line, pairs, value.lines)

    def _looked_up(self, reference: str, at: Map) -> Any:
        if reference not in self._known:
            self._known[reference] = None
            found = self._at(reference, at)
            filled = self.filled(found)
            # How many values there are, up to a few more than a file may repeat.
            count, left = 0, [filled]
            while left and count <= MAX_ALIASED:
                item = left.pop()
                count += 1 + (len(item) // 128 if isinstance(item, str) else 0)
                left += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
            self._known[reference] = (filled, count)
        known = self._known[reference]
        if known is None:
            self._say(f"`{reference}` refers to itself", at, "take one of the references out")
            return None
        self._repeated += known[1]
        if self._repeated > MAX_ALIASED:
            what = "references multiply this file beyond its limit"
            raise ConfigError(*self.mistakes, Mistake(what, Origin(self._file, at.line), "write the values out"))
        return known[0]

    def _at(self, reference: str, at: Map) -> Any:
        where, found = reference.removeprefix("#"), self._whole
        if not reference.startswith("#") or (where and not where.startswith("/")):
            self._say(f"`$ref: {reference}` does not lead into this file", at, "write '#/assertionTemplates/NAME'")
            return None
        for step in (step.replace("~1", "/").replace("~0", "~") for step in where.split("/")[1:]):
            if isinstance(found, Mapping) and step in found:
                found = found[step]
            elif isinstance(found, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(found):
                found = found[int(step[:9])]
            else:
                self._say(f"`$ref: {reference}` leads nowhere: there is no `{step}`", at, "add it, or correct the reference")
                return None
        return found

    def _say(self, what: str, at: Map, cure: str) -> None:
        self.mistakes.append(Mistake(what, Origin(self._file, at.line), cure))
