"""Which variables of the environment a model takes, found by building it without any."""

from __future__ import annotations

from gradegate.access.environment import Environment
from gradegate.errors import Origin
from gradegate.files.workspace import Workspace
from gradegate.http.client import Client
from gradegate.planning.bind import Binder
from gradegate.steps.preparation import with_stand_ins
from gradegate.values.suite import ProviderSpec, Suite


def variables_of(id_: str, workspace: Workspace, option: str) -> tuple[str, ...]:
    """The variables without which the model cannot be asked, sorted. Raises ConfigError for an id that nobody serves."""
    spec = ProviderSpec(id_, origin=Origin(option))

    def build(keys: dict[str, str]) -> None:
        suite = Suite(option, env=Environment(keys))
        Binder(suite, workspace, workspace.root, Client(environ={}), {}).provider(spec)

    return tuple(sorted(with_stand_ins(build)[1]))
