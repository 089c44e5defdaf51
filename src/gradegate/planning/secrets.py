"""Which values of a run no report may show: secrets of the environment, and keys written into a config."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradegate.planning.load import Located
from gradegate.settings import SECRET_NAME, SHORTEST_SECRET, Settings
from gradegate.suite import ProviderSpec


def secrets_of(settings: Settings, suites: Iterable[Located]) -> tuple[str, ...]:
    """The secrets of the environment, and those of every model that any suite names."""
    specs = (spec for located in suites for spec in located.suite.specs())
    keys = {value for spec in specs for value in _keys(spec, settings) if len(value) >= SHORTEST_SECRET}
    return tuple({*settings.secrets, *keys})


def _keys(spec: ProviderSpec, settings: Settings) -> Iterator[str]:
    named = {**spec.config, **spec.env, **(spec.config.get("headers") or {})}
    for name, value in named.items():
        if name == "apiKeyEnvar":
            yield settings.environ.get(str(value), "")
        elif SECRET_NAME.search(name) or name.lower() in ("authorization", "cookie"):
            yield str(value)
