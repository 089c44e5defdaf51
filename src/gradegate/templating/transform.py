"""``contextTransform``: paths into the answer, which are followed here over plain data, and what else runs as JavaScript.

A path is parsed once and takes no engine. It reads an answer that is JSON, also where JavaScript would see a text.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradegate.core.suite import Code
from gradegate.errors import NoVerdict
from gradegate.files.limits import MAX_CHARACTERS, MAX_PATH
from gradegate.templating import script
from gradegate.templating.script import ScriptError

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


_Step = (
    str | int | _Join | tuple[Any, ...]
)  # a key, an item, what `join` and `map` do; the latter has steps of its own


@dataclass(frozen=True, slots=True)
class Transform:
    """A parsed expression: where it starts ("output", "vars", "metadata"), and the steps from there."""

    written: str
    root: str
    steps: tuple[_Step, ...]

    @property
    def variable(self) -> str:
        """The variable of the test that it needs; empty where it needs none."""
        return str(self.steps[0]) if self.root == "vars" else ""

    def apply(self, output: Any, variables: Mapping[str, Any], metadata: Mapping[str, Any]) -> Any:
        """The value that the expression leads to. Raises NoVerdict where it leads nowhere."""
        value = {"output": output, "vars": variables, "metadata": metadata}[self.root]
        if (
            self.root == "output"
            and isinstance(output, str)
            and (self.steps or self.written != "output")
        ):
            try:
                value = json.loads(output)
            except (ValueError, RecursionError) as e:
                raise NoVerdict(
                    f"contextTransform `{self.written}` needs an answer that is JSON, and it is not"
                ) from e
        try:
            return follow(value, self.steps)
        except LookupError as e:
            raise NoVerdict(f"contextTransform `{self.written}` leads nowhere: {e.args[0]}") from e


@dataclass(frozen=True, slots=True)
class Computed:
    """An expression, a function's body or a file of JavaScript."""

    code: Code
    variable = ""  # that it needs: what it uses shows when it runs

    @property
    def written(self) -> str:
        """As messages show it."""
        return str(script.shown(self.code))

    def apply(self, output: Any, variables: Mapping[str, Any], metadata: Mapping[str, Any]) -> Any:
        """The value that it gives. Raises NoVerdict where it gives none."""
        try:
            return (
                script.of_transform(self.code)
                .call(output, {"vars": variables, "metadata": metadata})
                .value
            )
        except ScriptError as e:
            raise NoVerdict(f"contextTransform fails: {e}") from e


def parse(written: Code) -> Transform | Computed:
    """Raises ValueError for JavaScript that cannot be used, and for a root alone that is no text."""
    text = written.strip().removesuffix(";").rstrip() if isinstance(written, str) else ""
    root = _ROOT.match(text)
    path = steps(text[root.end() :]) if root else None
    if root is None or path is None or "length" in path:  # of a list or a text it is no key
        script.of_transform(written)
        return Computed(written)
    name = root[1].removeprefix("context.")
    if name in ("vars", "metadata") and not path:
        raise ValueError(f"`{written}` is not text; name what is in it")
    return Transform(text, name if name in ("vars", "metadata") else "output", path)


def steps(text: str) -> tuple[_Step, ...] | None:
    """The steps of a path behind its root, such as ``.a[0].b``; None where something is not a step."""
    path: list[_Step] = []
    position, text = 0, text.rstrip()
    if len(text) > MAX_PATH:
        return None
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            return None
        if match["item"]:
            if (inner := steps(match["inner"])) is None:
                return None
            path.append(inner)
        elif match["index"]:
            path.append(int(match["index"]))
        elif match["name"] or match["key"]:
            path.append(match["name"] or _text(match["key"]))
        else:
            path.append(_Join(_text(match["separator"]) if match["separator"] else ","))
        position = match.end()
    return tuple(path)


def _text(written: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), written[1:-1])


def follow(value: Any, path: tuple[Any, ...]) -> Any:
    """What the steps lead to. Raises LookupError where they lead nowhere."""
    for step in path:
        if isinstance(step, _Join | tuple) and not isinstance(value, list):
            raise LookupError(f"`{'map' if isinstance(step, tuple) else 'join'}` needs a list")
        if isinstance(step, tuple):
            value = [follow(item, step) for item in value]
        elif isinstance(step, _Join):
            if not all(isinstance(item, str) for item in value):
                raise LookupError("`join` needs texts")
            if len(step.separator) * len(value) + sum(map(len, value)) > MAX_CHARACTERS:
                raise LookupError(f"`join` makes more than {MAX_CHARACTERS:,} characters")
            value = step.separator.join(value)
        elif isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                raise LookupError(f"there is no item [{step}]")
            value = value[step]
        elif isinstance(value, Mapping) and step in value:
            value = value[step]
        else:
            raise LookupError(f"there is no `{step}`")
    return value
