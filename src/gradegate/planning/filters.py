"""Which tests and targets of a config are run, where the command line asks for some of them: as promptfoo filters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from gradegate.errors import ConfigError
from gradegate.processes.evaluate import Exceeded
from gradegate.texts.patterns import found_in
from gradegate.texts.template import show
from gradegate.values.figures import many
from gradegate.values.settings import Settings
from gradegate.values.suite import Case, Note, ProviderSpec, Suite


def cases(suite: Suite, settings: Settings) -> tuple[list[Case], list[Note]]:
    """The tests that every filter keeps, with a note of how many were left out. Raises ConfigError where none is kept."""
    kept = list(suite.cases)
    for option, keep in _steps(settings):
        found = keep(kept)
        if kept and not found:
            raise ConfigError.at(f"{option} matches no test of {suite.file}", None, "correct it")
        kept = found
    used = [option for option, _ in _steps(settings)]
    return kept, _note(len(kept), len(suite.cases), "test", suite, used)


def targets(suite: Suite, settings: Settings) -> tuple[list[ProviderSpec], list[Note]]:
    """The targets whose id or label the filter matches. Raises ConfigError where there is none."""
    if not settings.filter_providers:
        return list(suite.targets), []
    option = f"--filter-providers {settings.filter_providers!r}"
    names = [[spec.id, spec.label] for spec in suite.targets]
    found = _matches("--filter-providers", settings.filter_providers, [name for pair in names for name in pair])
    kept = [spec for number, spec in enumerate(suite.targets) if any(found[2 * number : 2 * number + 2])]
    if suite.targets and not kept:
        known = ", ".join(f"`{spec.name}`" for spec in suite.targets)
        raise ConfigError.at(f"{option} matches no provider of {suite.file}", None, f"the providers are {known}")
    return kept, _note(len(kept), len(suite.targets), "provider", suite, [option])


def named(own: int, suite: Suite, settings: Settings) -> list[Note]:
    """A note where --provider names some of a config's targets, which are ``own``, and not all."""
    options = [f"--provider {name}" for name in settings.providers]
    return _note(own, len(suite.targets), "provider", suite, options) if own else []


def leaving_out(settings: Settings) -> list[str]:
    """The options of the command line by which tests or providers of a config may be left out."""
    options = [option for option, _ in _steps(settings)]
    options += [f"--filter-providers {settings.filter_providers!r}"] if settings.filter_providers else []
    return options + [f"--provider {name}" for name in settings.providers]


def _steps(settings: Settings) -> Iterable[tuple[str, Callable[[list[Case]], list[Case]]]]:
    """In promptfoo's order; all that are given must keep a test."""
    for pair in settings.filter_metadata:
        yield f"--filter-metadata {'='.join(pair)!r}", partial(_tagged, *pair)
    if settings.filter_pattern:
        yield f"--filter-pattern {settings.filter_pattern!r}", lambda kept: _described(kept, settings.filter_pattern)
    if settings.filter_first is not None:
        yield f"--filter-first-n {settings.filter_first}", lambda kept: kept[: settings.filter_first]


def _tagged(key: str, part: str, kept: list[Case]) -> list[Case]:
    return [case for case in kept if _has(case, key, part)]


def _has(case: Case, key: str, part: str) -> bool:
    """Whether the metadata, or one of a list, holds the text."""
    value: Any = case.metadata.get(key)
    values = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return any(part in show(it) for it in values)


def _described(kept: list[Case], pattern: str) -> list[Case]:
    return list(itertools.compress(kept, _matches("--filter-pattern", pattern, [case.description for case in kept])))


def _matches(option: str, pattern: str, texts: Sequence[str]) -> list[bool]:
    try:
        found = found_in(pattern, texts)
    except Exceeded as e:
        raise ConfigError.at(f"{option} cannot be used: {e}", None, "simplify it") from e
    except ValueError as e:
        raise ConfigError.at(f"{option} {e}", None, "correct it") from e
    return [bool(text) and hit for text, hit in zip(texts, found, strict=True)]


def _note(kept: int, count: int, noun: str, suite: Suite, options: Sequence[str]) -> list[Note]:
    if not options or kept == count:
        return []
    return [Note(f"only {kept:,} of {many(count, noun)} of {suite.file}, by {', '.join(options)}")]
