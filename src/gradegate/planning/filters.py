"""Which tests and models of a config are run, where the command line asks for some of them, or others: as promptfoo filters."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from gradegate.config.overrides import match_pattern, note_on_left_out
from gradegate.core.policy import Note
from gradegate.core.settings import Settings
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError
from gradegate.templating.template import show


def cases(suite: Suite, settings: Settings) -> tuple[list[Case], list[Note]]:
    """The tests that every filter keeps, with a note of how many were left out. Raises ConfigError where none is kept."""
    kept = list(suite.cases)
    for option, keep in _steps(settings):
        found = keep(kept)
        if kept and not found:
            raise ConfigError.at(f"{option} matches no test of {suite.file}", None, "correct it")
        kept = found
    return kept, note_on_left_out(
        len(kept), suite, "test", [option for option, _ in _steps(settings)]
    )


def leaving_out(settings: Settings) -> list[str]:
    """The options of the command line by which tests or providers of a config may be left out."""
    options = [option for option, _ in _steps(settings)]
    options += (
        [f"<--filter-providers> {settings.filter_providers!r}"] if settings.filter_providers else []
    )
    return options + [f"<--provider {name}>" for name in settings.providers]


def _steps(settings: Settings) -> Iterable[tuple[str, Callable[[list[Case]], list[Case]]]]:
    """In promptfoo's order; all that are given must keep a test."""
    for key, part in settings.filter_metadata:
        option = f"<--filter-metadata> {f'{key}={part}'!r}"
        yield (
            option,
            lambda kept, key=key, part=part: [  # type: ignore[misc]
                case for case in kept if _has(case, key, part)
            ],
        )
    if pattern := settings.filter_pattern:
        yield (
            f"<--filter-pattern> {pattern!r}",
            lambda kept: list(
                itertools.compress(
                    kept,
                    match_pattern(
                        "<--filter-pattern>", pattern, [case.description for case in kept]
                    ),
                )
            ),
        )
    if settings.filter_first is not None:
        yield (
            f"<--filter-first-n {settings.filter_first}>",
            lambda kept: kept[: settings.filter_first],
        )


def _has(case: Case, key: str, part: str) -> bool:
    """Whether the metadata, or one of a list, holds the text."""
    value: Any = case.metadata.get(key)
    values = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return any(part in show(it) for it in values)
