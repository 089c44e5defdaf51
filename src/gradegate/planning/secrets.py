"""What no report may show of a run: secrets of the environment, and those that configs contain."""

from collections.abc import Iterable, Mapping, Sequence

from gradegate.config.context import Context
from gradegate.core.suite import Suite
from gradegate.security.environment import MODEL
from gradegate.security.secrets import secrets, written_secrets
from gradegate.structs import FrozenStruct


class Secrets(FrozenStruct):
    """Values that are hidden. ``environment`` maps variables to theirs; ``written`` stand in configs."""

    environment: Mapping[str, str]
    written: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the environment among them."""
        return tuple(sorted({name.partition(":")[0] for name in self.environment}))

    @property
    def values(self) -> frozenset[str]:
        """All of them."""
        return self.written.union(self.environment.values())


def collect_secrets(
    context: Context, suites: Sequence[Suite] = (), named: Iterable[str] = ()
) -> Secrets:
    """The secrets of the environment, and those of every model that any suite names.

    ``named`` are variables that configs show somewhere.
    """
    specs = [spec for suite in suites for spec in suite.specs()]
    read = {
        name
        for spec in specs
        for name in (
            *(use.variable for use in spec.reads if use.sent != MODEL),
            str(spec.config.get("apiKeyEnvar") or ""),
        )
    }
    read |= {*named} | context.settings.exec_env
    read |= {name for suite in suites for names in suite.env.drawn.values() for name in names}
    named_in = ({"id": spec.id, "config": spec.config, "env": dict(spec.env)} for spec in specs)
    written = {value for content in named_in for value in written_secrets(content)}
    return Secrets(
        secrets(context.environ, read), frozenset(value for value in written if value.strip())
    )
