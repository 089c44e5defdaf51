"""Fills in the references of a document: ``{$ref: '#/path/to/value'}`` stands for the value at that path.

Such a path is a JSON Pointer: https://www.rfc-editor.org/rfc/rfc6901
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.documents import read
from gradegate.files.limits import MAX_ALIASED
from gradegate.files.line_numbers import Map, Seq
from gradegate.files.yaml_reader import MAX_DEPTH

_REF = "$ref"
_IN_FULL = "write the values out"
# Keys with data of a test or with schemas, which have references of their own. A reference in place of all of it is ours.
_WITH_OWN_REFERENCES = frozenset(
    "value vars tools functions response_format parameters input_schema schema providerOutput".split()
)


def read_with_references(content: bytes, file: str) -> Any:
    """Read a document, and fill in its references. Raises ConfigError, also for references to nothing and in circles.

    Keys next to a reference win over the keys of what it refers to. JSON Schemas have references of their own, so what is
    under one of their keys stays as it is.
    """
    document = read(content, file)
    if b"$ref" not in content or not isinstance(document, dict | list):
        return document
    resolver = _Resolver(document, file)
    resolved = resolver.resolve(document, 0)
    if resolver.mistakes:
        raise ConfigError(*resolver.mistakes)
    return resolved


class _Target(NamedTuple):
    """What a reference stands for."""

    value: Any
    size: int  # values in it, as `MAX_ALIASED` counts them
    depth: int  # levels of mappings and lists in it


class _Resolver:
    def __init__(self, document: Any, file: str) -> None:
        self._document = document
        self._file = file
        # By the text of the reference. None while its own references are filled in.
        self._targets: dict[str, _Target | None] = {}
        self._repeated = 0  # values that references have repeated so far
        self.mistakes: list[Mistake] = []

    def resolve(self, value: Any, depth: int) -> Any:
        """The value with its references filled in, ``depth`` levels below the top; the same object if it has none."""
        if isinstance(value, Seq):
            items = [self.resolve(item, depth + 1) for item in value]
            is_same = all(new is old for new, old in zip(items, value, strict=True))
            return value if is_same else Seq(value.line, items)
        if not isinstance(value, Map):
            return value

        members = {}
        for key, item in value.items():
            is_reference = isinstance(item, Map) and list(item) == [_REF]
            keeps_references = key in _WITH_OWN_REFERENCES and not is_reference
            members[key] = item if keeps_references else self.resolve(item, depth + 1)
        reference = value.get(_REF)
        if not isinstance(reference, str):
            is_same = all(new is value[key] for key, new in members.items())
            return value if is_same else Map(value.line, members, value.lines)

        target = self._look_up(reference, value, depth)
        if target is None:
            return value
        del members[_REF]
        if isinstance(target, Map):
            lines = dict(zip(target, target.lines, strict=False))
            lines |= zip(value, value.lines, strict=False)
            members = {**target, **members}
            return Map(value.line, members, [lines.get(key, value.line) for key in members])
        if members:
            what = f"`{reference}` is not a mapping, so no key can stand next to it"
            self._note(what, value, "remove what does")
        return target

    def _look_up(self, reference: str, place: Map, depth: int) -> Any:
        """The value that a reference stands for; None if it leads to nothing or to itself, which is a mistake.

        Raises ConfigError if values are repeated without end, in number or in depth.
        """
        self._check_depth(depth, place)
        if reference not in self._targets:
            self._targets[reference] = None
            value = self.resolve(self._find(reference, place), depth + 1)
            self._targets[reference] = _measure(value)
        target = self._targets[reference]
        if target is None:
            self._note(f"`{reference}` refers to itself", place, "take one of the references out")
            return None

        self._check_depth(depth + target.depth, place)
        self._repeated += target.size
        if self._repeated > MAX_ALIASED:
            self._note("references multiply this file beyond its limit", place, _IN_FULL)
            raise ConfigError(*self.mistakes)
        return target.value

    def _check_depth(self, depth: int, place: Map) -> None:
        if depth > MAX_DEPTH:
            self._note(f"references nest this file deeper than {MAX_DEPTH} levels", place, _IN_FULL)
            raise ConfigError(*self.mistakes)

    def _find(self, reference: str, place: Map) -> Any:
        """The value at the path of a reference; None if there is none, which is a mistake."""
        start, *steps = reference.split("/")
        if start != "#":
            what = f"`$ref: {reference}` does not lead into this file"
            self._note(what, place, "write '#/assertionTemplates/NAME'")
            return None
        value = self._document
        for escaped in steps:
            step = escaped.replace("~1", "/").replace("~0", "~")
            index = int(step[:9]) if step.isascii() and step.isdigit() else -1
            if isinstance(value, Mapping) and step in value:
                value = value[step]
            elif isinstance(value, list) and 0 <= index < len(value):
                value = value[index]
            else:
                what = f"`$ref: {reference}` leads nowhere: there is no `{step}`"
                self._note(what, place, "add it, or correct the reference")
                return None
        return value

    def _note(self, what: str, place: Map, cure: str) -> None:
        self.mistakes.append(Mistake(what, Origin(self._file, place.line), cure))


def _measure(value: Any) -> _Target:
    """A value with its size and depth. A size above the limit is not exact; a text counts for its length."""
    size = 0
    deepest = 0
    stack = [(value, 0)]  # values with the levels above them
    while stack and size <= MAX_ALIASED:
        item, depth = stack.pop()
        size += 1
        deepest = max(deepest, depth)
        children: Any = ()
        if isinstance(item, str):
            size += len(item) // 128
        elif isinstance(item, dict):
            children = item.values()
        elif isinstance(item, list):
            children = item
        stack += [(child, depth + 1) for child in children]
    return _Target(value, size, deepest)
