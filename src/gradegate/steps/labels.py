"""Reads labelled outputs: JSON lines in which a person says of an output whether an assertion of a case holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files import jsonlines
from gradegate.files.lines import Map
from gradegate.files.workspace import Workspace
from gradegate.values.settings import Settings
from gradegate.values.suite import NOWHERE

_FORM = 'write {"description": ..., "assertion": ..., "output": ..., "label": "pass" or "fail"}'


@dataclass(frozen=True, slots=True)
class Label:
    """One line: whether ``output``, as an answer to the case with that description and those variables, passes.

    ``description`` is None where the line tells the case by its variables alone.
    """

    description: str | None
    assertion: str
    output: str
    passes: bool
    vars: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = NOWHERE


@dataclass(frozen=True, slots=True)
class Labels:
    """What a file of labels holds, and the mistakes in the lines that could not be read."""

    labels: tuple[Label, ...]
    mistakes: tuple[Mistake, ...] = ()


def read(path: str, settings: Settings) -> Labels:
    """The labels of a file, its path relative to the working directory."""
    file = settings.cwd / path
    workspace = Workspace.around(file, settings.cwd, settings.environment)
    name = workspace.name(file)
    try:
        return parse(workspace.read(file.name, file.parent, Origin(name)), name)
    except ConfigError as e:  # the mistakes of the config are said beside it
        return Labels((), e.mistakes)


def parse(content: bytes, name: str) -> Labels:
    """The labels of a file of that name."""
    rows, mistakes = jsonlines.readable(content, name)
    labels = []
    for row in rows:
        origin = Origin(name, row.line)
        wrong = [Mistake(what, origin, _FORM) for what in _wrong(row)]
        mistakes += wrong
        if not wrong:
            labels.append(_label(row, origin))
    if not rows and not mistakes:
        mistakes.append(Mistake("the file holds no labels", Origin(name), _FORM))
    return Labels(tuple(labels), tuple(mistakes))


def _wrong(row: Map) -> Iterator[str]:
    """What is wrong with a line, as sentences."""
    if "description" not in row and "vars" not in row:
        yield "the label has no `description`"
    for key in ("assertion", "output", "label"):
        if key not in row:
            yield f"the label has no `{key}`"
    for key in ("description", "assertion", "output"):
        if not isinstance(row.get(key, ""), str):
            yield f"`{key}` is not text"
    yield from _unanswered(row.get("output"))
    if row.get("assertion") == "":
        yield "`assertion` is empty"
    if "label" in row and row["label"] not in ("pass", "fail"):
        yield "`label` is neither `pass` nor `fail`"
    if not isinstance(row.get("vars", {}), dict):
        yield "`vars` is not an object"


def _unanswered(output: object) -> Iterator[str]:
    """Why no target can have given that output."""
    if not isinstance(output, str):
        return
    if not any(sign.isprintable() and not sign.isspace() for sign in output):
        yield "`output` is empty: a run takes that for an error of the target, and grades nothing"
    if any("\ud800" <= sign <= "\udfff" for sign in output):
        yield "`output` has half of a sign (a lone surrogate)"


def _label(row: Map, origin: Origin) -> Label:
    passes = row["label"] == "pass"
    return Label(row.get("description"), row["assertion"], row["output"], passes, row.get("vars", {}), origin)
