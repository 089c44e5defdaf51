"""What commands share: where they are, and what they say on which stream."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.deciding.exit import PASS, exit_code
from gradegate.errors import ConfigError

if TYPE_CHECKING:
    from gradegate.pipeline import Delivered
    from gradegate.settings import Settings
    from gradegate.sharding.steps import Written


def here() -> Path:
    """The working directory. :raises ConfigError: it is gone, or closed to this user"""
    try:
        return Path.cwd()
    except OSError as e:
        raise ConfigError.at(f"the working directory cannot be read: {e.strerror}", None, "start in a folder") from e


def complain(text: str) -> None:
    """Say what is wrong, on standard error, which a runner reads, too."""
    print(bare(text), file=sys.stderr, flush=True)


def bare(text: str) -> str:
    """The text without secrets of the environment, and without commands of a runner."""
    from gradegate.access.environment import secrets
    from gradegate.access.hiding import redactor
    from gradegate.reporting.commands import harmless

    hide = redactor(secrets(os.environ).values(), short=False)
    return harmless(hide(text))


def delivered(outcome: Delivered) -> int:
    """Print the report of a run and what could not be written; gives the exit code of its decision."""
    for part in outcome.documents[0].parts:
        sys.stdout.write(part)
    for failure in outcome.failures.values():
        complain(failure)
    return exit_code(outcome.decision)


def written(parts: Written) -> int:
    """Print what a step of a run in shards wrote; gives its exit code."""
    for problem in parts.problems:
        complain(problem)
    print(bare(parts.said))
    return parts.code


def estimated(settings: Settings) -> int:
    """Print what a run would ask; asks nothing."""
    from gradegate.pipeline import prepare
    from gradegate.reporting.commands import harmless
    from gradegate.running.estimate import estimate, said

    prepared = prepare(settings)
    for line in said(estimate(prepared.plan)):
        print(harmless(prepared.hide(line)))
    return PASS
