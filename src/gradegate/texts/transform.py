"""``contextTransform``: paths into the answer, which are followed here over plain data, and what else runs as JavaScript.

A path is parsed once and takes no engine. It reads an answer that is JSON, also where JavaScript would see a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradegate.errors import NoVerdict
from gradegate.files.bounds import MAX_CHARACTERS, MAX_PATH
from gradegate.texts import code as codes
from gradegate.texts.script import ScriptError
from gradegate.values.suite import Code

_ROOT = re.compile(r"(JSON\.parse\(\s*output\s*\)|output|context\.(?:vars|metadata))(?![\w$])")
_NAME = r"(?!\d)[\w$]+"
_TEXT = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_STEP = re.compile(
    rf"\s*(?:\??\.map\(\s*\(?\s*(?P<item>{_NAME})\s*\)?\s*=>\s*(?P=item)(?P<inner>[^()]*)\)"
    rf"|\??\.join\(\s*(?P<separator>{_TEXT})?\s*\)"
    rf"|(?:\?\.)?\[\s*(?:(?P<index>\d+)|(?P<key>{_TEXT}))\s*\]"
    rf"|\??\.\s*(?P<name>{_NAME})(?!\s*[\w$(]))"
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class _Join:
    separator: str


@dataclass(frozen=True, slots=True)
class _Map:
    steps: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Transform:
    """A parsed expression: where it starts ("output", "vars", "metadata"), and the steps from there."""

    written: str
    root: str
    steps: tuple[str | int | _Join | _Map, ...]

    @property
    def variable(self) -> str:
        """The variable of the test that it needs; empty where it needs none."""
        return str(self.steps[0]) if self.root == "vars" else ""

    def apply(self, output: Any, variables: Mapping[str, Any], metadata: Mapping[str, Any]) -> Any:
        """The value that the expression leads to. Raises NoVerdict where it leads nowhere."""
        value = {"output": output, "vars": variables, "metadata": metadata}[self.root]
        if self.root == "output":
            value = self._parsed(output)
        try:
            return follow(value, self.steps)
        except LookupError as e:
            raise NoVerdict(f"contextTransform `{self.written}` leads nowhere: {e.args[0]}") from e

    def _parsed(self, output: Any) -> Any:
        if not isinstance(output, str) or (not self.steps and self.written == "output"):
            return output
        try:
            return json.loads(output)
        except (ValueError, RecursionError) as e:
            raise NoVerdict(f"contextTransform `{self.written}` needs an answer that is JSON, and it is not") from e


@dataclass(frozen=True, slots=True)
class Computed:
    """An expression, a function's body or a file of JavaScript."""

    code: Code
    variable = ""  # that it needs: what it uses shows when it runs

    @property
    def written(self) -> str:
        """As messages show it."""
        return str(codes.shown(self.code))

    def apply(self, output: Any, variables: Mapping[str, Any], metadata: Mapping[str, Any]) -> Any:
        """The value that it gives. Raises NoVerdict where it gives none."""
        given = {"vars": variables, "metadata": metadata}
        try:
            return codes.of_transform(self.code).call(output, given).value
        except ScriptError as e:
            raise NoVerdict(f"contextTransform fails: {e}") from e


def parse(written: Code) -> Transform | Computed:
    """Raises ValueError for JavaScript that cannot be used, and for a root alone that is no text."""
    found = _path(written) if isinstance(written, str) else None
    if found is None:
        codes.of_transform(written)
        return Computed(written)
    return found


def _path(written: str) -> Transform | None:
    text = written.strip().removesuffix(";").rstrip()
    root = _ROOT.match(text)
    path = steps(text[root.end() :]) if root else None
    if root is None or path is None or "length" in path:  # of a list or a text it is no key
        return None
    name = root[1].removeprefix("context.")
    if name in ("vars", "metadata") and not path:
        raise ValueError(f"`{written}` is not text; name what is in it")
    return Transform(text, name if name in ("vars", "metadata") else "output", path)


def steps(text: str) -> tuple[str | int | _Join | _Map, ...] | None:
    """The steps of a path behind its root, such as ``.a[0].b``; None where something is not a step."""
    path: list[str | int | _Join | _Map] = []
    position, text = 0, text.rstrip()
    if len(text) > MAX_PATH:
        return None
    while position < len(text):
        match = _STEP.match(text, position)
        step = _step(match) if match else None
        if match is None or step is None:
            return None
        path.append(step)
        position = match.end()
    return tuple(path)


def _step(match: re.Match[str]) -> str | int | _Join | _Map | None:
    if match["item"]:
        inner = steps(match["inner"])
        return None if inner is None else _Map(inner)
    if match["index"]:
        return int(match["index"])
    if match["name"] or match["key"]:
        return match["name"] or _text(match["key"])
    return _Join(_text(match["separator"]) if match["separator"] else ",")


def _text(written: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), written[1:-1])


def follow(value: Any, path: tuple[Any, ...]) -> Any:
    """What the steps lead to. Raises LookupError where they lead nowhere."""
    for step in path:
        if isinstance(step, _Join):
            value = _joined(step.separator, [_shown(item) for item in _list(value, "join")])
        elif isinstance(step, _Map):
            value = [follow(item, step.steps) for item in _list(value, "map")]
        elif isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                raise LookupError(f"there is no item [{step}]")
            value = value[step]
        elif isinstance(value, Mapping) and step in value:
            value = value[step]
        else:
            raise LookupError(f"there is no `{step}`")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise LookupError(f"`{what}` needs a list")
    return value


def _joined(separator: str, items: list[str]) -> str:
    if len(separator) * len(items) + sum(map(len, items)) > MAX_CHARACTERS:
        raise LookupError(f"`join` makes more than {MAX_CHARACTERS:,} characters")
    return separator.join(items)


def _shown(item: Any) -> str:
    if not isinstance(item, str):
        raise LookupError("`join` needs texts")
    return item
