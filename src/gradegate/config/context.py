"""What a run knows of its surroundings: found out once, at the door, and passed down."""

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


class Context(FrozenStruct):
    """What a run knows of its surroundings. Nobody below reads the event, the environment or the commit a second time."""

    settings: Settings
    environment: Environment = Environment()  # what configs may read of it
    event: Event = Event()
    commit: str = ""  # what is checked out, where it is known
    on_default_branch: bool = False  # whether the default branch is what is run, and not a proposal
    awaited: tuple[readiness.ReadyTarget, ...] = ()  # what has to answer before the run begins
    egress: EgressPolicy = EgressPolicy()
    exec_policy: ExecPolicy = NO_EXEC
    keyless: bool = False  # a key that is missing is data of the plan, which nobody asks without it

    @property
    def environ(self) -> NamedTexts:
        """The variables of the environment."""
        return self.environment.variables

    @property
    def cwd(self) -> Path:
        """The folder in which paths of options are looked for."""
        return self.settings.cwd

    @property
    def top(self) -> Path:
        """The folder that corresponds to the base: the workspace of the job, else the repository, else where we are."""
        cwd = self.cwd.absolute()
        workspace = self.environment.workspace
        if workspace and cwd.resolve().is_relative_to(Path(workspace).resolve()):
            return Path(workspace).absolute()
        return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)

    def base_root(self) -> Path:
        """The folder of the base checkout. Raises ConfigError where that is none to compare with."""
        written, cwd, top = self.settings.base_checkout, self.cwd, self.top
        folder = cwd / written
        steps = [folder, *folder.parents]
        inside = [
            step for step in steps if step.absolute().is_relative_to(top) and step.absolute() != top
        ]
        if any(step.is_symlink() for step in inside or steps[:1]):
            what = f"the base `{written}` is a symbolic link, which the pull request could have created"
            raise ConfigError.at(what, None, "check out the base into a separate folder")
        root = folder.resolve()
        if cwd.resolve().is_relative_to(root):
            what = f"the base `{written}` is the checkout under test"
            raise ConfigError.at(what, None, "check out the base into a separate folder")
        if files_checked_out(folder.absolute()):
            what = f"git tracks the base `{written}`, so the pull request could have written it"
            cure = "check out the base into a folder that is not in the repository"
            raise ConfigError.at(what, None, cure)
        own = repository_of(cwd.resolve())
        judged = {self.environment.commit, self.commit, head_of(own) if own else ""} - {""}
        # The pull request once more, as it is without a `ref`: that differs in nothing, whatever was changed.
        is_proposed = not self.on_default_branch
        if self.environment.on_github or self.environment.event:
            is_proposed = self.environment.event.startswith("pull_request")
        if is_proposed and head_of(root) in judged:
            what = f"the base `{written}` is at the commit of the pull request"
            cure = "give its checkout `ref: ${{ github.event.pull_request.base.sha }}`"
            raise ConfigError.at(what, None, cure)
        return root

    def for_base(self) -> Self:
        """The same in the base checkout. Raises ConfigError where that is none to compare with."""
        settings, top = self.settings, self.top
        if not (self.cwd / settings.base_checkout).is_dir():
            what = f"the base checkout `{settings.base_checkout}` is not a folder"
            raise ConfigError.at(what, None, "check out the base commit there")
        root = self.base_root()
        configs = []
        for written in settings.configs:
            is_inside = Path(written).is_absolute() and Path(written).is_relative_to(top)
            configs.append(str(root / Path(written).relative_to(top)) if is_inside else written)
        cwd = root / self.cwd.resolve().relative_to(top.resolve())
        variables = {**self.environ, "GITHUB_WORKSPACE": str(root)}
        return replace(
            self,
            settings=replace(settings, base_checkout="", configs=tuple(configs), cwd=cwd),
            environment=replace(self.environment, variables=variables),
            commit=head_of(root),
        )


def build_context(
    settings: Settings,
    environ: NamedTexts,
    process: NamedTexts | None = None,
    event: Event | None = None,
) -> Context:
    """Look around. Raises ConfigError for what the event does not allow, and for a wrong `ready`.

    ``environ`` are the variables with those of files, ``process`` those of the process, which alone say where this runs.
    """
    process = environ if process is None else process
    event = event or read_event(process)
    where = Environment(process)
    on_default_branch, commit = event.is_default_branch, event.head_sha
    if not where.on_github:
        on_default_branch = default_branch_is_checked_out(settings.cwd, process)
    if not settings.inputs:
        commit = commit_of(settings.cwd, where)
    # The workflow opens no vendor's key to texts of a config.
    opened = frozenset(name for name in settings.allowed_env if not is_vendors_key(name))
    environment = Environment(environ, opened)
    awaited = readiness.parse_targets(settings.ready, environ)
    egress = EgressPolicy(
        environ,
        settings.allowed_hosts,
        environment.on_github or bool(settings.allowed_hosts),  # keys are held to their hosts
        known_vendors,
        settings.allowed_env,
        awaited=tuple(host_at(it.url) for it in awaited),
        on_runner=environment.on_github,
    )
    return Context(
        settings,
        environment,
        event,
        commit,
        on_default_branch,
        awaited,
        egress,
        exec_policy(settings, environment, event),
    )


@cache
def known_vendors() -> tuple[Vendor, ...]:
    """The vendors of all provider plug-ins."""
    return tuple({getattr(build, "vendor", Vendor()): None for _, build in PROVIDERS})


def is_vendors_key(name: str) -> bool:
    """Whether a variable holds the key of any vendor."""
    return EgressPolicy(vendors=known_vendors).is_vendor_key(name)


def with_named_keys(egress: EgressPolicy, specs: Iterable[ProviderSpec]) -> EgressPolicy:
    """The policy with the variables that providers name as their keys."""
    named = set[str]()
    for spec in specs:
        variable = str(spec.config.get("apiKeyEnvar") or "")
        named |= {*filter(None, [variable]), *spec.drawn.get(variable, ())}
        named |= {use.variable for use in spec.reads if use.place == "apiKey"}
    return replace(egress, named=frozenset(named))
