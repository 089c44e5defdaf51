"""What commands print: results on standard output, problems on standard error. Secrets never appear in either."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.core.options import resolve_option_names
from gradegate.errors import ConfigError, Mistake
from gradegate.structs import replace

if TYPE_CHECKING:
    from gradegate.core.settings import Settings
    from gradegate.results.run_result import Decision
    from gradegate.runner.prepare import Preparation
    from gradegate.runner.session import Delivery
    from gradegate.runner.shards.shard import ShardReport
    from gradegate.structs import NamedTexts

_INCONSISTENT = (
    "the file contradicts itself: its verdict or its figures do not follow from its cases"
)

# --- lines ------------------------------------------------------------------------------------------------------


def print_line(text: str) -> None:
    """Print on standard output."""
    print(make_printable(text), flush=True)


def print_error(text: str) -> None:
    """Print on standard error."""
    print(make_printable(text), file=sys.stderr, flush=True)


def make_printable(text: str) -> str:
    """The text with flags for options, without secrets of the environment and without commands to GitHub's runner.

    The runner reads both streams.
    """
    from gradegate.reports.format.escape import harmless
    from gradegate.security.secrets import document_redactor

    return harmless(document_redactor(os.environ)(resolve_option_names(text, inputs=False)))


def print_mistake(mistake: Mistake) -> None:
    """Print a mistake on standard error, its place in colour at a terminal, with the line of the file below it."""
    from gradegate.reports.format.console import Line, Tone, write_line
    from gradegate.security.secrets import document_redactor

    redact = document_redactor(os.environ)
    text = resolve_option_names(str(mistake), inputs=False)
    line = Line(text)
    if mistake.origin:
        place = resolve_option_names(f"{mistake.origin}: ", inputs=False)
        line = Line(text.removeprefix(place), Tone.BAD, place)
    write_line(line, redact, sys.stderr)
    for excerpt_line in mistake.excerpt.splitlines():
        write_line(Line(f"    {excerpt_line}"), redact, sys.stderr)
    sys.stderr.flush()


# --- earlier runs -----------------------------------------------------------------------------------------------


def working_folder() -> Path:
    """The working directory. Raises ConfigError if it is gone, or closed to this user."""
    try:
        return Path.cwd()
    except OSError as e:
        raise ConfigError.at(
            f"the working directory cannot be read: {e.strerror}", None, "start in a folder"
        ) from e


def path_of_results(name: str) -> Path:
    """The path of an earlier run's results. Raises ConfigError if git tracks the last run: anybody may have written it."""
    from gradegate.core.settings import LAST_RUN
    from gradegate.files.git import files_checked_out

    if name == LAST_RUN and files_checked_out(working_folder() / name):
        what = f"git tracks `{name}`, so it is not your last run"
        raise ConfigError.at(what, None, "`git rm -r --cached .gradegate`")
    return Path(name)


def load_checked_decision(results: Path) -> tuple[Decision, NamedTexts]:
    """The decision and the links of a results file. Raises ConfigError.

    If the decision does not follow from the cases of the file, it gets a note that says so.
    """
    from gradegate.core.policy import Note
    from gradegate.gate.decision import is_consistent
    from gradegate.results.results_file import load_decision

    decision, links = load_decision(results)
    if not is_consistent(decision):
        print_error(f"{results}: {_INCONSISTENT}")
        notes = (Note(_INCONSISTENT), *decision.run.notes)
        decision = replace(decision, run=replace(decision.run, notes=notes))
    return decision, links


# --- what several commands print ----------------------------------------------------------------------------------


def print_delivery(delivery: Delivery, settings: Settings) -> int:
    """Print failures to write, then the run, so that the verdict is the last line. Returns the exit code."""
    from gradegate.reports.delivery.deliver import links_to_written
    from gradegate.reports.delivery.report import Links
    from gradegate.reports.format.console import (
        QUIET,
        WHOLE,
        View,
        console_lines,
        fit_terminal,
        write_line,
    )

    for failure in delivery.failures.values():
        print_error(failure)

    view = View()
    if settings.quiet:
        view = QUIET
    elif settings.verbose:
        view = WHOLE
    links = links_to_written(delivery.written, Links())
    for line in console_lines(
        delivery.decision, fit_terminal(view, sys.stdout), links, delivery.written
    ):
        write_line(line, delivery.seal)
    return delivery.exit_code()


def print_shard_report(shard: ShardReport) -> int:
    """Print how a shard ended. Returns the exit code."""
    if shard.problem:
        print_error(shard.problem)
    print(make_printable(shard.text))
    return shard.code


def print_estimate(preparation: Preparation) -> None:
    """Print what a run of the plan would cost, and what its rules cannot see."""
    from gradegate.reports.format.escape import harmless
    from gradegate.runner.estimate import estimate_lines, estimate_run

    plan_estimate = estimate_run(preparation.plan)
    limits = preparation.client.budget.limits
    for line in estimate_lines(plan_estimate, limits, _rate_of_last_run()):
        print(harmless(preparation.hide(line)))
    for line in preparation.power_lines():
        print(line)


def _rate_of_last_run() -> float:
    """Calls a second of the last run in this folder; 0 if there was no run."""
    from gradegate.core.settings import LAST_RUN
    from gradegate.results.results_file import load_decision

    try:
        run = load_decision(path_of_results(LAST_RUN))[0].run
    except ConfigError:
        return 0.0
    return run.usage.calls / run.seconds if run.seconds else 0.0
