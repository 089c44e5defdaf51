"""Whether code of the repository may run, as which user, and with what: the workflow or the command line decides, never a config."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gradegate.access.environment import Environment
from gradegate.errors import ConfigError
from gradegate.values.settings import TIMEOUT, Settings

DOCS = "docs/exec.md"
# What starts programs and finds libraries; keys are never among it.
_PLAIN = re.compile(r"PATH|LANG|LC_\w+|TZ|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|SYSTEMROOT|VIRTUAL_ENV|PYENV_ROOT")


@dataclass(frozen=True, slots=True)
class Leave:
    """What code may have. ``env`` are the variables that it sees beside those of its provider.

    ``apart``: it runs as a user of its own, or not at all. ``runners`` are files and folders that it must not reach then.
    ``seconds`` is how long one call may take, ``calls`` how many workers one file may have at once.
    """

    granted: bool = False
    apart: bool = False
    python: str = ""
    node: str = ""
    named: frozenset[str] = frozenset()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = TIMEOUT
    calls: int = 1
    cwd: Path = Path()
    root: Path = Path()
    runners: tuple[str, ...] = ()  # files of the runner, and folders that hold such


NO_LEAVE = Leave()
# Where the runner keeps what steers a job, and what earlier steps left for later ones: keys and tokens among it.
_FILES = tuple(f"GITHUB_{name}" for name in "ENV OUTPUT PATH STATE STEP_SUMMARY EVENT_PATH".split())
_FOLDERS = ("HOME", "RUNNER_TEMP")


def may_run(settings: Settings) -> Leave:
    """What the settings allow. Raises ConfigError where the event does not."""
    if not settings.allow_exec:
        return NO_LEAVE
    if why := objection(settings.environment):
        what = f"`allow-exec` is not allowed {why}"
        raise ConfigError.at(what, None, f"leave it out there, and grade answers made elsewhere ({DOCS})")
    environ = settings.environ
    kept = {name: text for name, text in environ.items() if _PLAIN.fullmatch(name) or name in settings.exec_env}
    return Leave(
        granted=True,
        apart=settings.exec_apart,
        python=settings.python or environ.get("PROMPTFOO_PYTHON", ""),
        node=settings.node,
        named=settings.exec_env,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **kept},
        seconds=settings.timeout or TIMEOUT,
        calls=settings.max_concurrency or 1,
        cwd=settings.cwd.absolute(),
        root=Path(settings.environment.workspace or settings.cwd).absolute(),
        runners=tuple(environ[name] for name in (*_FILES, *_FOLDERS) if environ.get(name)),
    )


def objection(environment: Environment) -> str:
    """Why code of the repository may not run at this event; an empty string where it may. Off GitHub there is no event."""
    if environment.vouched_only:
        return f"at {environment.event_shown}, which strangers can start with access to your secrets"
    if environment.event.startswith("pull_request"):
        fork = environment.is_fork
        if fork is None:
            return "for a pull request of unknown origin (the event file does not name it)"
        if fork:
            return "for a pull request from a fork: its code is untrusted"
    return ""
