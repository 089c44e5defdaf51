"""Checks ``assertionTemplates``: also those that no test refers to, which nothing else checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from gradegate.configs import idle
from gradegate.configs.keys import AssertionKeys, mistakes
from gradegate.errors import Origin
from gradegate.files.document import line_of
from gradegate.grading.grader import GRADERS
from gradegate.registry import near
from gradegate.values.suite import Note

_SET = "assert-set"


def notes(templates: Any, file: str) -> Iterator[Note]:
    """What is wrong with a template, as notes: where a test uses it, the same is a mistake there."""
    for name, written in templates.items() if isinstance(templates, Mapping) else ():
        if isinstance(written, Mapping) and "$ref" not in written:
            line = Origin(file, line_of(templates, [name]))
            for wrong in _wrong(written, file):
                yield Note(f"the assertion template `{name}` cannot be used: {wrong}", line)


def _wrong(written: Mapping[str, Any], file: str) -> Iterator[str]:
    try:
        keys = AssertionKeys.model_validate(idle.kept(AssertionKeys, written, file, []))
    except ValidationError as e:
        yield from (f"{mistake.what} ({mistake.cure})" for mistake in mistakes(e, written, file, (), AssertionKeys))
        return
    base = keys.type.removeprefix("not-")
    if base != _SET and GRADERS.find(base) is None:
        meant = near(base, GRADERS.names())
        yield f"there is no assertion type `{keys.type}`" + (f' (did you mean "{meant}"?)' if meant else "")
