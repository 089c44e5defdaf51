"""Collects the secrets that no report may show: those of the environment, and those that configs contain."""

from collections.abc import Iterable, Mapping, Sequence

from gradegate.config.context import Context
from gradegate.core.suite import Suite
from gradegate.security.environment import MODEL
from gradegate.security.secrets import literal_secrets, secret_variables
from gradegate.structs import FrozenStruct


class Secrets(FrozenStruct):
    """Values that no report shows: those of ``environment`` variables, and literals ``written`` in configs."""

    environment: Mapping[str, str]
    written: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the environment, sorted."""
        return tuple(sorted({name.partition(":")[0] for name in self.environment}))

    @property
    def values(self) -> frozenset[str]:
        """All secret values."""
        return self.written.union(self.environment.values())


def collect_secrets(
    context: Context, suites: Sequence[Suite] = (), shown_variables: Iterable[str] = ()
) -> Secrets:
    """The secrets of the environment, and those of every provider that a suite names.

    ``shown_variables`` are variables that configs show somewhere.
    """
    variables = set(shown_variables) | context.settings.exec_env
    literals = set[str]()
    for suite in suites:
        variables.update(*suite.env.drawn.values())
        for spec in suite.provider_specs():
            variables.add(str(spec.config.get("apiKeyEnvar") or ""))
            variables.update(use.variable for use in spec.reads if use.sent != MODEL)
            content = {"id": spec.id, "config": spec.config, "env": dict(spec.env)}
            literals.update(filter(str.strip, literal_secrets(content)))
    return Secrets(secret_variables(context.environ, variables), frozenset(literals))
