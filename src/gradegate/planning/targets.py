"""The models that the command line names: targets in place of the config's, and graders."""

from __future__ import annotations

from dataclasses import replace

from gradegate.configs import specs
from gradegate.configs.dialect import Source
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.settings import Settings
from gradegate.suite import ProviderSpec, Suite

PROVIDER, GRADER = Origin("--provider"), Origin("--grader")


def chosen(suite: Suite, source: Source, settings: Settings) -> Suite:
    """The suite with the models that the settings name; a suite that is left without a target says so.

    A name or an id of a target of the config is that target with its settings, as far as targets are named. Graders may
    name each target of the config, asked or not.
    """
    here = replace(source, path=settings.cwd / source.path.name)  # files are named from where the command is started
    mistakes: list[Mistake] = [suite.targetless] if suite.targetless and not settings.providers else []

    def read(written: str, origin: Origin) -> list[ProviderSpec]:
        try:
            return specs.providers(written, here, origin)
        except ConfigError as e:
            mistakes.extend(e.mistakes)
            return []

    def named(written: str) -> list[ProviderSpec]:
        own = [spec for spec in suite.targets if written in (spec.id, spec.label)]
        return own or read(written, PROVIDER)

    given = {kind: found[0] for kind, written in settings.graders.items() if (found := read(written, GRADER))}
    asked = (
        tuple(spec for written in settings.providers for spec in named(written))
        if settings.providers
        else suite.targets
    )
    others = tuple(spec for spec in suite.targets if spec not in asked)
    return replace(suite, targets=asked, others=others, given=given, mistakes=(*suite.mistakes, *mistakes))
