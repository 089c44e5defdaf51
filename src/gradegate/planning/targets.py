"""The models that the command line names: targets in place of the configs', and graders."""

from __future__ import annotations

from dataclasses import replace

from gradegate.configs import specs
from gradegate.configs.dialect import Source
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.planning import filters
from gradegate.settings import Settings
from gradegate.suite import Graders, ProviderSpec, Suite

PROVIDER, GRADER = Origin("--provider"), Origin("--grader")


def chosen(suite: Suite, source: Source, settings: Settings) -> Suite:
    """The suite with the targets that the settings name in place of its own, or keep of them; graders may name all.

    A name or an id of a target of the config is that target with its settings. A suite without a target says so.
    """
    if not settings.providers:
        suite = replace(suite, mistakes=(*suite.mistakes, suite.targetless)) if suite.targetless else suite
        return _kept(suite, settings)
    mistakes: list[Mistake] = []
    named: list[ProviderSpec] = []
    for written in settings.providers:
        own = [spec for spec in suite.targets if written in (spec.id, spec.label)]
        try:
            named += own or specs.targets(written, _here(source, settings), PROVIDER)
        except ConfigError as e:
            mistakes += e.mistakes
    suite = replace(suite, targets=tuple(named), others=suite.targets, mistakes=(*suite.mistakes, *mistakes))
    return _kept(suite, settings)


def _kept(suite: Suite, settings: Settings) -> Suite:
    """The suite with the targets that the filter keeps."""
    try:
        kept, notes = filters.targets(suite, settings.filters)
    except ConfigError as e:
        return replace(suite, mistakes=(*suite.mistakes, *e.mistakes))
    others = (*suite.others, *(spec for spec in suite.targets if spec not in kept))
    return replace(suite, targets=tuple(kept), others=others, notes=(*suite.notes, *notes))


def graders(source: Source, settings: Settings) -> Graders:
    """The graders that the settings name, by kind. Raises ConfigError."""
    return {
        kind: specs.providers(written, _here(source, settings), GRADER)[0] for kind, written in settings.graders.items()
    }


def _here(source: Source, settings: Settings) -> Source:
    """A file is looked for where the command is started, as its other files are."""
    return replace(source, path=settings.cwd / source.path.name)
