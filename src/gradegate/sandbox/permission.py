"""Decides whether code of the repository may run, as which user and with what. Only the workflow or the command line decides."""

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gradegate.core.settings import TIMEOUT, Settings
from gradegate.errors import ConfigError
from gradegate.files.git import repository_of
from gradegate.files.paths import holds_credentials
from gradegate.security.environment import Environment
from gradegate.security.event import Event

DOCS = "docs/code.md"
# Variables that start programs and find libraries; keys are never among them.
_HARMLESS = re.compile(
    r"PATH|LANG|LC_\w+|TZ|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|SYSTEMROOT|VIRTUAL_ENV|PYENV_ROOT"
)
_DEFAULT_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
# Variables of the runner for what steers a job, and for what earlier steps left for later ones, such as keys and tokens.
_RUNNER_PATHS = (
    *(f"GITHUB_{name}" for name in "ENV OUTPUT PATH STATE STEP_SUMMARY EVENT_PATH".split()),
    "HOME",
    "RUNNER_TEMP",
)


@dataclass(frozen=True, slots=True)
class ExecPolicy:
    """What code of the repository may use."""

    is_allowed: bool = False
    is_isolated: bool = False  # it runs as another user, or not at all
    python: str = ""
    node: str = ""
    exec_env: frozenset[str] = frozenset()  # variables that the user names
    # What it sees beside the variables of its provider
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = TIMEOUT  # that one call may take
    calls: int = 1  # workers that one file may have at once
    cwd: Path = Path()
    root: Path = Path()
    # Files and folders of the runner that isolated code must not reach
    runner_paths: tuple[str, ...] = ()


NO_EXEC = ExecPolicy()


def exec_policy(settings: Settings, environment: Environment, event: Event) -> ExecPolicy:
    """What the settings allow. Raises ConfigError if the event does not."""
    if not settings.allow_exec:
        return NO_EXEC
    objection = exec_objection(environment, event)
    if objection:
        raise ConfigError.at(
            f"`allow-exec` is not allowed {objection}",
            None,
            f"leave it out there, and grade answers made elsewhere ({DOCS})",
        )
    environ = environment.variables
    cwd = settings.cwd.absolute()
    visible = {
        name: text
        for name, text in environ.items()
        if _HARMLESS.fullmatch(name) or name in settings.exec_env
    }
    return ExecPolicy(
        is_allowed=True,
        is_isolated=settings.separate_exec_user,
        python=settings.python or environ.get("PROMPTFOO_PYTHON", ""),
        node=settings.node,
        exec_env=settings.exec_env,
        env={**_DEFAULT_ENV, **visible},
        seconds=settings.timeout or TIMEOUT,
        calls=settings.max_concurrency or 1,
        cwd=cwd,
        root=Path(environment.workspace or repository_of(cwd) or cwd).absolute(),
        runner_paths=tuple(environ[name] for name in _RUNNER_PATHS if environ.get(name)),
    )


def exec_objection(environment: Environment, event: Event) -> str:
    """Why code of the repository may not run at this event; empty if it may. Outside of GitHub there is no event."""
    if environment.vouched_only:
        return (
            f"at {environment.event_shown}, which strangers can start with access to your secrets"
        )
    if environment.event.startswith("pull_request"):
        if event.number is None:
            return "for a pull request of unknown origin (the event file does not name it)"
        if event.is_fork:
            return "for a pull request from a fork: its code is untrusted"
    return ""


# The first of the user ids for code, and their number. No system gives them to people; a container has at least 65,536.
FIRST_USER = 61184
USERS = 4336
MAX_ENTRIES = 1_000_000  # of the workspace
_OWNER_ONLY = 0o700
_NO_FOREIGN_WRITES = 0o775
_SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
)


def _users() -> Iterator[int]:
    """Every user once. The first is random: a user of another run beside this one could end the processes of this run."""
    first = secrets.randbelow(USERS)
    return (FIRST_USER + (first + number) % USERS for number in range(USERS))


class IsolationError(ValueError):
    """Code cannot be isolated here; the message says why."""


@dataclass
class Isolation:
    """Closes paths while isolated code may run, and opens them again.

    Code of another user can reach no file of root. What belongs to the runner is often readable for everybody, so it is closed.
    Before the code begins, its process tries whether everything is out of reach.
    """

    policy: ExecPolicy
    modes: dict[Path, int] = field(default_factory=dict)  # that the closed paths had before
    closed_paths: tuple[str, ...] = ()  # that the code must neither read nor write
    users: Iterator[int] = field(default_factory=_users)  # that have run nothing yet

    def begin(self) -> None:
        """Close what has to be closed. Raises IsolationError."""
        if sys.platform != "linux" or os.geteuid() != 0:
            raise IsolationError(
                "code cannot run as another user here: this needs root on Linux, as in the container of the Action"
            )

        runner_paths = [Path(path) for path in self.policy.runner_paths]
        self._close_runner_folders(runner_paths)
        self._close_workspace()
        self.closed_paths += (f"/proc/{os.getpid()}/environ", *map(str, runner_paths), *_SOCKETS)

    def _close_runner_folders(self, paths: list[Path]) -> None:
        """Close the folders of the runner, except those around the workspace."""
        folders = {path if path.is_dir() else path.parent for path in paths}
        for folder in folders:
            if not self.policy.root.is_relative_to(folder):
                self._close(folder, _OWNER_ONLY)

    def _close_workspace(self) -> None:
        """Close what has credentials in the workspace.

        What others may write, such as earlier reports, is closed only for writing. Raises IsolationError.
        """
        count = 0
        folders = [self.policy.root]
        while folders:
            try:
                entries = list(os.scandir(folders.pop()))
            except OSError:
                continue
            count += len(entries)
            if count > MAX_ENTRIES:
                raise IsolationError(f"the workspace has more than {MAX_ENTRIES:,} files")
            for entry in entries:
                path = Path(entry.path)
                if holds_credentials(Path(entry.name)):
                    self._close(path, _OWNER_ONLY)
                    continue
                mode = entry.stat(follow_symlinks=False).st_mode
                if mode & stat.S_IWOTH and not entry.is_symlink():
                    self._close(path, _NO_FOREIGN_WRITES)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(path)

    def next_user(self) -> int:
        """A user that has run nothing yet. Raises IsolationError."""
        user = next(self.users, 0)
        if not user:
            raise IsolationError(f"it ended {USERS:,} processes")
        return user

    def read_only_paths(self, folder: Path) -> tuple[str, ...]:
        """Paths that the code of a folder may read and never write."""
        package = Path(__file__).parents[1]
        paths = (self.policy.root, self.policy.cwd, folder, package, package.parent)
        return tuple(map(str, dict.fromkeys(paths)))

    def end(self) -> None:
        """Give every closed path the mode that it had."""
        for path, mode in self.modes.items():
            with suppress(OSError):  # else it stays closed
                path.chmod(mode)
        self.modes.clear()

    def _close(self, path: Path, mask: int) -> None:
        """Take all rights from a path that are not in the mask, and remember its mode. Raises IsolationError."""
        try:
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                return  # the path that it leads to is closed in its own place
            path.chmod(stat.S_IMODE(mode) & mask)
        except FileNotFoundError:
            return
        except OSError as e:
            raise IsolationError(f"{path} cannot be closed: {e.strerror}") from e
        self.modes[path] = stat.S_IMODE(mode)
        if mask == _OWNER_ONLY:
            self.closed_paths += (str(path),)
