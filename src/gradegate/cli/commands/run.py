"""``gradegate run``, ``eval`` to those who come from promptfoo."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.cli import parser as flags
from gradegate.cli.output import delivered, here, report_shard
from gradegate.errors import ConfigError, Origin
from gradegate.structs import replace

if TYPE_CHECKING:
    from gradegate.core.settings import Settings

ABOUT = "run evals, write reports, decide"
ALIASES = ("eval",)
add = partial(flags.add, command="run")


def run(args: argparse.Namespace) -> int:
    from gradegate.reports.delivery.report import Links
    from gradegate.runner.progress import progress
    from gradegate.runner.session import deliver

    settings = flags.settings(args, here())
    if settings.failed:
        settings = only_failed(settings)
    bar = partial(progress, in_ci=settings.in_ci or settings.no_progress_bar, quiet=settings.quiet)
    if settings.shard:
        from gradegate.runner.shards.shard import run_shard

        return report_shard(run_shard(settings, bar))
    return delivered(deliver(settings, (), Links(), bar), settings)


def only_failed(settings: Settings) -> Settings:
    """The settings of a run that asks again what did not pass in the file of ``--failed``. Raises ConfigError.

    Options come from no file, since anybody may have written it. The configs may: only those of the workspace are read.
    """
    from gradegate.core.settings import Again
    from gradegate.files.workspace import Workspace
    from gradegate.planning.command import options
    from gradegate.planning.filters import filters_in
    from gradegate.results.grades import Outcome
    from gradegate.results.results_file import reread_file

    file, named = Path(settings.failed), Origin(settings.failed)
    earlier = reread_file(file)[0].run
    failed = [
        row
        for row in earlier.rows
        if {row.outcome, row.verdict or row.outcome, *(it.outcome for it in row.grades)}
        != {Outcome.PASS}
    ]
    if not failed:
        what = "every case passed, so there is nothing to ask again"
        raise ConfigError.at(what, named, "run all of it: gradegate run")
    narrowed = filters_in(settings)
    if settings.shard:
        narrowed.append("--shard")
    if narrowed:
        what = f"{' and '.join(narrowed)} would ask only a part of what failed"
        cure = "leave it out: --failed asks every case that did not pass, and no other"
        raise ConfigError.at(what, None, cure)
    if tuple(options(settings)) != earlier.made.options:
        what = "the earlier run had other options"
        raise ConfigError.at(what, named, "give the options of that run")
    root = Workspace.around(here() / "x", here(), settings.environment).root
    configs = [root / suite for suite in dict.fromkeys(row.suite for row in failed)]
    if strange := [path for path in configs if not path.resolve().is_relative_to(root)]:
        what = f"the config `{strange[0]}` is outside of the workspace"
        raise ConfigError.at(what, named, "run it: gradegate run CONFIG")
    again = Again(file.resolve(), frozenset(row.key for row in failed), len(earlier.rows))
    return replace(settings, configs=settings.configs or tuple(map(str, configs)), again=again)
