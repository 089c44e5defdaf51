"""The models that the command line names: targets in place of the config's, and graders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from gradegate.configs import specs
from gradegate.configs.dialect import Source
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.planning import filters
from gradegate.values.settings import Settings
from gradegate.values.suite import Note, ProviderSpec, Suite

PROVIDER, GRADER = Origin("--provider"), Origin("--grader")
Reader = Callable[[Any, Source, Origin], list[ProviderSpec]]


def chosen(suite: Suite, source: Source, settings: Settings) -> Suite:
    """The suite with the models that the settings name, and of its targets those that the filter keeps.

    A suite that is left without a target says so. A name or an id of a target of the config is that target with its settings, as far as targets are named. Graders may
    name each target of the config, asked or not.
    """
    here = replace(source, path=settings.cwd / source.path.name)  # files are named from where the command is started
    mistakes: list[Mistake] = [suite.targetless] if suite.targetless and not settings.providers else []

    def read(written: str, origin: Origin, reader: Reader) -> list[ProviderSpec]:
        try:
            return reader(written, here, origin)
        except ConfigError as e:
            mistakes.extend(e.mistakes)
            return []

    def named(written: str) -> list[ProviderSpec]:
        own = [spec for spec in suite.targets if written in (spec.id, spec.label)]
        return own or read(written, PROVIDER, specs.targets)

    asked = tuple(spec for written in settings.providers for spec in named(written))
    kept, notes = _kept(replace(suite, targets=asked) if settings.providers else suite, settings, mistakes)
    return replace(
        suite,
        targets=kept,
        others=tuple(spec for spec in suite.targets if spec not in kept),
        given={kind: found[0] for kind, name in _graders(settings) if (found := read(name, GRADER, specs.providers))},
        notes=(*suite.notes, *filters.named(sum(spec in asked for spec in suite.targets), suite, settings), *notes),
        mistakes=(*suite.mistakes, *mistakes),
    )


def _kept(suite: Suite, settings: Settings, mistakes: list[Mistake]) -> tuple[tuple[ProviderSpec, ...], list[Note]]:
    """The targets that the filter keeps, with a note of how many they are."""
    try:
        kept, notes = filters.targets(suite, settings)
    except ConfigError as e:
        mistakes.extend(e.mistakes)
        return suite.targets, []
    return tuple(kept), notes


def _graders(settings: Settings) -> Iterable[tuple[str, str]]:
    return () if settings.listing else settings.graders.items()
