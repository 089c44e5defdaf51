"""Whether code of the repository may run, as which user, and with what: the workflow or the command line decides, never a config."""

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gradegate.core.settings import TIMEOUT, Settings
from gradegate.errors import ConfigError
from gradegate.files.git import repository_of
from gradegate.files.paths import holds_credentials
from gradegate.security.environment import Environment
from gradegate.security.event import Event

DOCS = "docs/exec.md"
# What starts programs and finds libraries; keys are never among it.
_PLAIN = re.compile(
    r"PATH|LANG|LC_\w+|TZ|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|SYSTEMROOT|VIRTUAL_ENV|PYENV_ROOT"
)


@dataclass(frozen=True, slots=True)
class ExecPolicy:
    """What code may have."""

    is_allowed: bool = False
    is_isolated: bool = False  # it runs as a user of its own, or not at all
    python: str = ""
    node: str = ""
    exec_env: frozenset[str] = frozenset()
    # What it sees beside the variables of its provider
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = TIMEOUT  # that one call may take
    calls: int = 1  # workers that one file may have at once
    cwd: Path = Path()
    root: Path = Path()
    # Files of the runner, and folders that hold such, which it must not reach where it runs apart
    runner_paths: tuple[str, ...] = ()


NO_EXEC = ExecPolicy()
# Where the runner keeps what steers a job, and what earlier steps left for later ones: keys and tokens among it.
_FILES = tuple(f"GITHUB_{name}" for name in "ENV OUTPUT PATH STATE STEP_SUMMARY EVENT_PATH".split())
_FOLDERS = ("HOME", "RUNNER_TEMP")


def exec_policy(settings: Settings, environment: Environment, event: Event) -> ExecPolicy:
    """What the settings allow. Raises ConfigError where the event does not."""
    if not settings.allow_exec:
        return NO_EXEC
    if why := exec_objection(environment, event):
        what = f"`allow-exec` is not allowed {why}"
        raise ConfigError.at(
            what, None, f"leave it out there, and grade answers made elsewhere ({DOCS})"
        )
    environ = environment.variables
    cwd = settings.cwd.absolute()
    kept = {
        name: text
        for name, text in environ.items()
        if _PLAIN.fullmatch(name) or name in settings.exec_env
    }
    return ExecPolicy(
        is_allowed=True,
        is_isolated=settings.exec_apart,
        python=settings.python or environ.get("PROMPTFOO_PYTHON", ""),
        node=settings.node,
        exec_env=settings.exec_env,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **kept},
        seconds=settings.timeout or TIMEOUT,
        calls=settings.max_concurrency or 1,
        cwd=cwd,
        root=Path(environment.workspace or repository_of(cwd) or cwd).absolute(),
        runner_paths=tuple(environ[name] for name in (*_FILES, *_FOLDERS) if environ.get(name)),
    )


def exec_objection(environment: Environment, event: Event) -> str:
    """Why code of the repository may not run at this event; an empty string where it may. Off GitHub there is no event."""
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


# The first of the user ids, and how many there are. No system gives them to people; a container has at least 65,536.
FIRST = 61184
USERS = 4336
MOST_ENTRIES = 1_000_000  # of the workspace
_OWN = 0o700  # nobody else reads or writes
_SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
)


def _users() -> Iterator[int]:
    """Every user once, from one that another run beside this one hardly began with: it would end our processes as its own."""
    first = secrets.randbelow(USERS)
    return (FIRST + (first + number) % USERS for number in range(USERS))


class IsolationError(ValueError):
    """Code cannot be kept apart here; the message says why."""


@dataclass
class Isolation:
    """The paths that code must not reach, with the modes that they had. ``users`` are those who have not been anybody yet.

    Code of another user can reach none of root's files; what belongs to the runner is often readable for everybody, so it is
    closed while code may run. Whether all of it is out of reach is tried by the code's own process, before the code begins.
    """

    leave: ExecPolicy
    modes: dict[Path, int] = field(default_factory=dict)
    secret: tuple[str, ...] = ()  # neither to be read nor written
    users: Iterator[int] = field(default_factory=_users)

    def begin(self) -> None:
        """Close what has to be closed. Raises Impossible."""
        if sys.platform != "linux" or os.geteuid() != 0:
            raise IsolationError(
                "code cannot run as another user here: this needs root on Linux, as in the container of the Action"
            )
        runners = [Path(path) for path in self.leave.runner_paths]
        folders = {path if path.is_dir() else path.parent for path in runners}
        inside = {folder for folder in folders if not self.leave.root.is_relative_to(folder)}
        for path in inside:
            self._close(path)
        # Files and folders in which tools keep credentials; of what else others may write, such as earlier reports, writing alone.
        seen = 0
        waiting = [self.leave.root]
        while waiting:
            try:
                entries = list(os.scandir(waiting.pop()))
            except OSError:
                continue
            seen += len(entries)
            if seen > MOST_ENTRIES:
                raise IsolationError(f"the workspace has more than {MOST_ENTRIES:,} files")
            for entry in entries:
                if holds_credentials(Path(entry.name)):
                    self._close(Path(entry.path))
                    continue
                if (
                    not entry.is_symlink()
                    and entry.stat(follow_symlinks=False).st_mode & stat.S_IWOTH
                ):
                    self._close(Path(entry.path), 0o775)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
        environ = f"/proc/{os.getpid()}/environ"
        self.secret += (environ, *map(str, runners), *_SOCKETS)

    def user(self) -> int:
        """A user who has never been. Raises Impossible."""
        user = next(self.users, 0)
        if not user:
            raise IsolationError(f"it ended {USERS:,} processes")
        return user

    def fixed(self, folder: Path) -> list[str]:
        """What may be read and never written."""
        own = Path(__file__).parents[1]
        return [
            str(path)
            for path in dict.fromkeys((self.leave.root, self.leave.cwd, folder, own, own.parent))
        ]

    def end(self) -> None:
        """Give everything back the mode that it had."""
        for path, mode in self.modes.items():
            try:
                path.chmod(mode)
            except OSError:
                continue  # it stays closed
        self.modes.clear()

    def _close(self, path: Path, leave: int = _OWN) -> None:
        try:
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                return  # what it leads to is closed in its own place
            path.chmod(stat.S_IMODE(mode) & leave)
        except FileNotFoundError:
            return
        except OSError as e:
            raise IsolationError(f"{path} cannot be closed: {e.strerror}") from e
        self.modes[path] = stat.S_IMODE(mode)
        if leave == _OWN:
            self.secret += (str(path),)
