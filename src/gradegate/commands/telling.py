"""What commands share: where they are, and what they say on which stream."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.deciding.exit import PASS, exit_code
from gradegate.errors import ConfigError, Mistake
from gradegate.options import worded

if TYPE_CHECKING:
    from gradegate.access.hiding import Hide
    from gradegate.reporting.console import View
    from gradegate.steps.preparation import Prepared
    from gradegate.steps.session import Delivered
    from gradegate.steps.shards import Written
    from gradegate.values.settings import Settings


def here() -> Path:
    """The working directory. :raises ConfigError: it is gone, or closed to this user"""
    try:
        return Path.cwd()
    except OSError as e:
        raise ConfigError.at(f"the working directory cannot be read: {e.strerror}", None, "start in a folder") from e


def complain(text: str) -> None:
    """Say what is wrong, on standard error."""
    print(bare(text), file=sys.stderr, flush=True)


def tell(mistake: Mistake) -> None:
    """Say a mistake as ``complain`` does, its place in colour at a terminal, with the line of the file below it."""
    from gradegate.reporting.console import Line, Tone, say

    hide = _seal()
    place = worded(f"{mistake.origin}: " if mistake.origin else "", inputs=False)
    say(Line(worded(str(mistake), inputs=False).removeprefix(place), Tone.BAD if place else Tone.PLAIN, place), hide, sys.stderr)
    for line in mistake.excerpt.splitlines():
        say(Line(f"    {line}"), hide, sys.stderr)
    sys.stderr.flush()


def say(text: str) -> None:
    """Print lines on standard output as ``complain`` does on the other."""
    print(bare(text), flush=True)


def bare(text: str) -> str:
    """The text without secrets of the environment, and without commands of a runner, which reads both streams; options are flags."""
    from gradegate.reporting.visible import harmless

    return harmless(_seal()(worded(text, inputs=False)))


def _seal() -> Hide:
    from gradegate.access.environment import sealing

    return sealing(os.environ)


def delivered(outcome: Delivered, view: View) -> int:
    """Print what could not be written, then the run, so that the verdict is the last line; gives its exit code."""
    from gradegate.reporting.console import fitted, lines
    from gradegate.reporting.console import say as shown

    for failure in outcome.failures.values():
        complain(failure)
    for line in lines(outcome.decision, fitted(view, sys.stdout), outcome.written):
        shown(line, outcome.seal)
    return exit_code(outcome.decision)


def written(parts: Written) -> int:
    """Print what a step of a run in shards wrote; gives its exit code."""
    for problem in parts.problems:
        complain(problem)
    print(bare(parts.said))
    return parts.code


def estimated(settings: Settings) -> int:
    """Print what a run would ask; asks nothing."""
    from gradegate.steps.preparation import prepare

    prepared = prepare(settings)
    say_estimate(prepared)
    parts = settings.shard
    print(f"planned: {planned(prepared)}{f', by all {parts[1]} shards together' if parts else ''}")
    return PASS


def say_estimate(prepared: Prepared) -> None:
    """Print what a run of the plan would take, and what its rules cannot see: the same for everybody who asks."""
    from gradegate.reporting.visible import harmless
    from gradegate.running.estimate import estimate, said

    for line in said(estimate(prepared.plan), prepared.client.budget.limits):
        print(harmless(prepared.hide(line)))
    for line in prepared.unseen():
        print(line)


def planned(prepared: Prepared) -> str:
    """``3 answers and 5 assertions``."""
    from gradegate.values.figures import many

    return f"{many(prepared.plan.answers, 'answer')} and {many(prepared.plan.assertions, 'assertion')}"
