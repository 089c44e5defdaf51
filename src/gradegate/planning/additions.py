"""Assertions that the command line asks for, of every test of every config."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.grading.grader import of_two
from gradegate.grading.scalars import number
from gradegate.values.suite import Assertion, Suite

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_FORM = re.compile(r"(?:\(([^()]*)\))?(?::(.*))?", re.DOTALL)


def parse(written: str) -> Assertion:
    """``TYPE``, ``TYPE(THRESHOLD)``, ``TYPE:VALUE`` or ``TYPE(THRESHOLD):VALUE``. Raises ConfigError."""
    text = written.strip()
    kind = of_two(text) or ((named := _NAME.match(text)) and named[0]) or ""
    match = _FORM.fullmatch(text, len(kind)) if kind else None
    threshold = number(match[1]) if match and match[1] is not None else None
    if match is None or (match[1] is not None and threshold is None):
        cure = "write TYPE, TYPE(THRESHOLD), TYPE:VALUE or TYPE(THRESHOLD):VALUE"
        raise ConfigError(Mistake(f"--assert {written!r} is not an assertion", None, cure))
    return Assertion(kind, match[2], threshold)


def added(suite: Suite, written: Sequence[str]) -> Suite:
    """The suite with these asserted of each of its cases, at the case's line. Raises ConfigError."""
    assertions = [parse(text) for text in written]
    if not assertions:
        return suite
    cases = tuple(
        replace(
            case,
            assertions=(
                *case.assertions,
                *(replace(assertion, origin=_origin(case.origin)) for assertion in assertions),
            ),
        )
        for case in suite.cases
    )
    return replace(suite, cases=cases)


def _origin(case: Origin) -> Origin:
    return case if case.file else Origin("--assert")
