"""What a run knows of its surroundings. A `Context` is built once, when the run starts, and passed down."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Self

from gradegate.core.provider_spec import ProviderSpec
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError
from gradegate.files.git import (
    commit_of,
    default_branch_is_checked_out,
    files_checked_out,
    head_of,
    repository_of,
)
from gradegate.providers.api import readiness
from gradegate.providers.api.provider import PROVIDERS
from gradegate.sandbox.permission import NO_EXEC, ExecPolicy, exec_policy
from gradegate.security.egress import EgressPolicy
from gradegate.security.environment import Environment
from gradegate.security.event import Event, read_event
from gradegate.security.hosts import host_at
from gradegate.security.vendors import Vendor
from gradegate.structs import FrozenStruct, NamedTexts, replace

_SEPARATE_FOLDER = "check out the base into a separate folder"


class Context(FrozenStruct):
    """What a run knows of its surroundings. Nothing below reads the event, the environment or the commit again."""

    settings: Settings
    environment: Environment = Environment()  # the variables that configs may read
    event: Event = Event()
    commit: str = ""  # the commit that is checked out, where it is known
    on_default_branch: bool = False  # the default branch itself is run, and not a proposal
    awaited: tuple[readiness.ReadyTarget, ...] = ()  # what has to answer before the run begins
    egress: EgressPolicy = EgressPolicy()
    exec_policy: ExecPolicy = NO_EXEC
    keyless: bool = False  # the plan lists missing keys, and nobody asks a provider without its key

    @property
    def environ(self) -> NamedTexts:
        """The variables of the environment."""
        return self.environment.variables

    @property
    def cwd(self) -> Path:
        """The folder that paths of options are relative to."""
        return self.settings.cwd

    @property
    def top(self) -> Path:
        """The folder that corresponds to the base: the job's workspace, else the repository, else the working directory."""
        cwd = self.cwd.absolute()
        workspace = self.environment.workspace
        if workspace and cwd.resolve().is_relative_to(Path(workspace).resolve()):
            return Path(workspace).absolute()
        for folder in (cwd, *cwd.parents):
            if (folder / ".git").exists():
                return folder
        return cwd

    def base_root(self) -> Path:
        """The folder of the base checkout.

        Raises ConfigError if the pull request could have written the base, or if the base is the pull request itself.
        """
        base = self.settings.base_checkout
        folder = self.cwd / base
        top = self.top

        # The pull request can commit links, and a link could lead to any folder.
        steps = [folder, *folder.parents]
        steps_inside = [
            step for step in steps if step.absolute() != top and step.absolute().is_relative_to(top)
        ]
        if any(step.is_symlink() for step in steps_inside or steps[:1]):
            what = (
                f"the base `{base}` is a symbolic link, which the pull request could have created"
            )
            raise ConfigError.at(what, None, _SEPARATE_FOLDER)

        root = folder.resolve()
        if self.cwd.resolve().is_relative_to(root):
            what = f"the base `{base}` is the checkout under test"
            raise ConfigError.at(what, None, _SEPARATE_FOLDER)

        if files_checked_out(folder.absolute()):
            what = f"git tracks the base `{base}`, so the pull request could have written it"
            cure = "check out the base into a folder that is not in the repository"
            raise ConfigError.at(what, None, cure)

        # A checkout without `ref` is the pull request again: whatever it changes, nothing would differ.
        if self._runs_proposal() and head_of(root) in self._commits_under_test():
            what = f"the base `{base}` is at the commit of the pull request"
            cure = "give its checkout `ref: ${{ github.event.pull_request.base.sha }}`"
            raise ConfigError.at(what, None, cure)
        return root

    def _runs_proposal(self) -> bool:
        if self.environment.on_github or self.environment.event:
            return self.environment.event.startswith("pull_request")
        return not self.on_default_branch

    def _commits_under_test(self) -> set[str]:
        commits = {self.environment.commit, self.commit}
        repository = repository_of(self.cwd.resolve())
        if repository:
            commits.add(head_of(repository))
        return commits - {""}

    def for_base(self) -> Self:
        """The context of the base checkout. Raises ConfigError as `base_root` does, or if there is no such folder."""
        base = self.settings.base_checkout
        if not (self.cwd / base).is_dir():
            what = f"the base checkout `{base}` is not a folder"
            raise ConfigError.at(what, None, "check out the base commit there")
        root = self.base_root()
        top = self.top

        configs = []
        for config in self.settings.configs:
            if Path(config).is_absolute() and Path(config).is_relative_to(top):
                config = str(root / Path(config).relative_to(top))  # noqa: PLW2901
            configs.append(config)
        cwd = root / self.cwd.resolve().relative_to(top.resolve())
        variables = {**self.environ, "GITHUB_WORKSPACE": str(root)}
        return replace(
            self,
            settings=replace(self.settings, base_checkout="", configs=tuple(configs), cwd=cwd),
            environment=replace(self.environment, variables=variables),
            commit=head_of(root),
        )


def build_context(
    settings: Settings,
    environ: NamedTexts,
    process: NamedTexts | None = None,
    event: Event | None = None,
) -> Context:
    """Find out where the run happens and what it may do.

    ``environ`` has the variables of the process and of env files. ``process`` has those of the process only: an env file
    must not decide where the run happens. Raises ConfigError if the event forbids an option, or ``ready`` is wrong.
    """
    if process is None:
        process = environ
    event = event or read_event(process)

    surroundings = Environment(process)
    on_default_branch = event.is_default_branch
    if not surroundings.on_github:
        on_default_branch = default_branch_is_checked_out(settings.cwd, process)
    commit = event.head_sha
    if not settings.inputs:
        commit = commit_of(settings.cwd, surroundings)

    # A workflow can open variables to the texts of a config, but never the key of a vendor.
    opened = frozenset(name for name in settings.allowed_env if not is_vendors_key(name))
    environment = Environment(environ, opened)
    awaited = readiness.parse_targets(settings.ready, environ)
    egress = EgressPolicy(
        variables=environ,
        hosts=settings.allowed_hosts,
        bound=environment.on_github or bool(settings.allowed_hosts),
        vendors=known_vendors,
        opened=settings.allowed_env,
        awaited=tuple(host_at(service.url) for service in awaited),
        on_runner=environment.on_github,
    )
    return Context(
        settings=settings,
        environment=environment,
        event=event,
        commit=commit,
        on_default_branch=on_default_branch,
        awaited=awaited,
        egress=egress,
        exec_policy=exec_policy(settings, environment, event),
    )


@cache
def known_vendors() -> tuple[Vendor, ...]:
    """The vendors of all provider plug-ins, each once."""
    vendors = [getattr(build, "vendor", Vendor()) for _, build in PROVIDERS]
    return tuple(dict.fromkeys(vendors))


def is_vendors_key(name: str) -> bool:
    """Whether a variable contains the key of any vendor."""
    return EgressPolicy(vendors=known_vendors).is_vendor_key(name)


def with_keys_of_providers(egress: EgressPolicy, specs: Iterable[ProviderSpec]) -> EgressPolicy:
    """The policy with each variable from which a provider takes its key: these are credentials, whatever their names."""
    names = set[str]()
    for spec in specs:
        # `apiKeyEnvar` names a variable. If the provider's `env` sets it, its value may show other variables.
        variable = str(spec.config.get("apiKeyEnvar") or "")
        if variable:
            names.add(variable)
        names.update(spec.drawn.get(variable, ()))
        # `apiKey` may be a template that shows variables.
        for use in spec.reads:
            if use.place == "apiKey":
                names.add(use.variable)
    return replace(egress, named=frozenset(names))
