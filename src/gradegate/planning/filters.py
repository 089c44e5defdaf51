"""Which tests and models of a config are run, where the command line asks for some of them, or others: as promptfoo filters."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradegate.config import providers as specs
from gradegate.config.dialect import Source
from gradegate.core.numbers import many
from gradegate.core.settings import Settings
from gradegate.core.suite import Case, Note, ProviderSpec, Suite
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.sandbox.evaluate import Exceeded
from gradegate.structs import replace
from gradegate.templating.regex import found_in
from gradegate.templating.template import show

Reader = Callable[[Any, Source, Origin], list[ProviderSpec]]


def chosen(suite: Suite, source: Source, settings: Settings) -> Suite:
    """The suite with the models that the settings name, and of its targets those that the filter keeps.

    A suite that is left without a target says so. A name or an id of a target of the config is that target with its settings,
    as far as targets are named. Graders may name each target of the config, asked or not.
    """
    here = replace(
        source, path=settings.cwd / source.path.name
    )  # files are named from where the command is started
    mistakes: list[Mistake] = (
        [suite.targetless] if suite.targetless and not settings.providers else []
    )

    def read(written: str, origin: Origin, reader: Reader) -> list[ProviderSpec]:
        try:
            return reader(written, here, origin)
        except ConfigError as e:
            mistakes.extend(e.mistakes)
            return []

    def named(written: str) -> list[ProviderSpec]:
        own = [spec for spec in suite.targets if written in (spec.id, spec.label)]
        return own or read(written, settings.at("provider"), specs.targets)

    asked = (
        tuple(spec for written in settings.providers for spec in named(written))
        if settings.providers
        else suite.targets
    )
    own = sum(spec in asked for spec in suite.targets)
    notes = (
        _note(own, suite, "provider", [f"<--provider {name}>" for name in settings.providers])
        if own
        else []
    )
    try:
        kept = _targets(replace(suite, targets=asked), settings, notes)
    except ConfigError as e:
        mistakes.extend(e.mistakes)
        kept = asked
    graders = {} if settings.listing else settings.graders
    return replace(
        suite,
        targets=kept,
        others=tuple(spec for spec in suite.targets if spec not in kept),
        given={
            kind: found[0]
            for kind, name in graders.items()
            if (found := read(name, settings.at("grader"), specs.providers))
        },
        notes=(*suite.notes, *notes),
        mistakes=(*suite.mistakes, *mistakes),
    )


def _targets(suite: Suite, settings: Settings, notes: list[Note]) -> tuple[ProviderSpec, ...]:
    """The targets whose id or label the filter matches. Raises ConfigError where there is none."""
    if not settings.filter_providers:
        return suite.targets
    option = f"<--filter-providers> {settings.filter_providers!r}"
    names = [name for spec in suite.targets for name in (spec.id, spec.label)]
    found = _matches("<--filter-providers>", settings.filter_providers, names)
    kept = tuple(
        spec for number, spec in enumerate(suite.targets) if any(found[2 * number : 2 * number + 2])
    )
    if suite.targets and not kept:
        known = ", ".join(f"`{spec.name}`" for spec in suite.targets)
        raise ConfigError.at(
            f"{option} matches no provider of {suite.file}", None, f"the providers are {known}"
        )
    notes += _note(len(kept), suite, "provider", [option])
    return kept


def cases(suite: Suite, settings: Settings) -> tuple[list[Case], list[Note]]:
    """The tests that every filter keeps, with a note of how many were left out. Raises ConfigError where none is kept."""
    kept = list(suite.cases)
    for option, keep in _steps(settings):
        found = keep(kept)
        if kept and not found:
            raise ConfigError.at(f"{option} matches no test of {suite.file}", None, "correct it")
        kept = found
    return kept, _note(len(kept), suite, "test", [option for option, _ in _steps(settings)])


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
                    _matches("<--filter-pattern>", pattern, [case.description for case in kept]),
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


def _matches(option: str, pattern: str, texts: Sequence[str]) -> list[bool]:
    try:
        found = found_in(pattern, texts)
    except Exceeded as e:
        raise ConfigError.at(f"{option} cannot be used: {e}", None, "simplify it") from e
    except ValueError as e:
        raise ConfigError.at(f"{option} {e}", None, "correct it") from e
    return [bool(text) and hit for text, hit in zip(texts, found, strict=True)]


def _note(kept: int, suite: Suite, noun: str, options: Sequence[str]) -> list[Note]:
    count = len(suite.cases if noun == "test" else suite.targets)
    if not options or kept == count:
        return []
    return [Note(f"only {kept:,} of {many(count, noun)} of {suite.file}, by {', '.join(options)}")]
