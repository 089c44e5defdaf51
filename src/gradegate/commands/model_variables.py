"""Which variables of the environment a model takes, found by building it without any."""

from __future__ import annotations

from gradegate.access.environment import Environment
from gradegate.errors import ConfigError, Origin
from gradegate.files.workspace import Workspace
from gradegate.http.client import Client
from gradegate.planning.bind import Binder
from gradegate.steps.session import MOST_ROUNDS, STAND_IN
from gradegate.values.suite import ProviderSpec, Suite


def variables_of(id_: str, workspace: Workspace, option: str) -> tuple[str, ...]:
    """The variables without which the model cannot be asked, sorted. Raises ConfigError for an id that nobody serves."""
    names: set[str] = set()
    spec = ProviderSpec(id_, origin=Origin(option))
    for _ in range(MOST_ROUNDS):
        suite = Suite(option, env=Environment(dict.fromkeys(names, STAND_IN)))
        try:
            Binder(suite, workspace, workspace.root, Client(environ={}), {}).provider(spec)
        except ConfigError as e:
            if not e.missing - names:
                raise
            names |= e.missing
        else:
            break
    return tuple(sorted(names))
