"""``gradegate run``, ``eval`` to those who come from promptfoo."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING

from gradegate.cli import parser as flags
from gradegate.cli.output import complain, delivered, earlier, here, report_shard, say, tell
from gradegate.core.settings import LAST_RUN
from gradegate.errors import ConfigError, Origin
from gradegate.gate.exit_codes import PASS
from gradegate.structs import replace

if TYPE_CHECKING:
    from gradegate.config.context import Context
    from gradegate.core.settings import Settings
    from gradegate.runner.session import Delivery

ABOUT = "run evals, write reports, decide"
ALIASES = ("eval",)
add = partial(flags.add, command="run")


def run(args: argparse.Namespace) -> int:
    from gradegate.runner.progress import progress
    from gradegate.runner.session import RunHooks, run_gate

    context = flags.context_of(args, here())
    settings = context.settings
    if settings.failed:
        again = only_failed(context)
        if again is None:
            say("every case passed, so there is nothing to ask again")
            return PASS
        context = replace(context, settings=again)
    bar = partial(progress, in_ci=settings.in_ci or settings.no_progress_bar, quiet=settings.quiet)
    if settings.shard:
        from gradegate.runner.shards.shard import run_shard

        return report_shard(run_shard(context, RunHooks(bar)))
    outcome = run_gate(context, RunHooks(bar))
    if not settings.in_ci and outcome.decision.run.rows:
        _keep(outcome)
    return delivered(outcome, settings)


def _keep(outcome: Delivery) -> None:
    """Keep the results where commands look that name none. A folder that cannot be written to keeps none, without a word."""
    from gradegate.files.plain_files import Place
    from gradegate.reports.delivery.deliver import render_report, write_documents
    from gradegate.reports.delivery.report import Links, data_file
    from gradegate.security.redaction import unchanged

    root, folder = here().resolve(), LAST_RUN.partition("/")[0]
    ignored = f"{folder}/.gitignore"
    try:
        earlier(LAST_RUN)
    except ConfigError as e:
        tell(e.mistakes[0])
        return
    if not os.access(next(it for it in (root / folder, root) if it.exists()), os.W_OK):
        return
    documents = {LAST_RUN: lambda: render_report("json", outcome.decision, Links(), outcome.seal)}
    if not (root / ignored).exists():
        documents[ignored] = lambda: data_file(["*\n"])
    places = {file: Place(root, tuple(file.split("/")), private=True) for file in documents}
    for failure in [*write_documents(documents, places, unchanged).values()][:1]:
        complain(failure)


def only_failed(context: Context) -> Settings | None:
    """The settings of a run that asks again what did not pass in the file of ``--failed``; None where all did. Raises ConfigError.

    Options come from no file, since anybody may have written it. The configs may: only those of the workspace are read.
    """
    from gradegate.core.settings import Rerun
    from gradegate.files.workspace import Workspace
    from gradegate.planning.command import rerun_arguments
    from gradegate.planning.filters import filter_options
    from gradegate.results.results_file import load_decision
    from gradegate.results.rows import positions_not_passed

    settings = context.settings
    file, named = earlier(settings.failed), Origin(settings.failed)
    before = load_decision(file)[0].run
    failed = [before.rows[place] for place in positions_not_passed(before.rows)]
    if not before.rows:
        raise ConfigError.at("it has no case", named, "run all of it: gradegate run")
    if not failed:
        return None
    narrowed = filter_options(settings)
    if settings.shard:
        narrowed.append("--shard")
    if narrowed:
        what = f"{' and '.join(narrowed)} would ask only a part of what failed"
        cure = "leave it out: --failed asks every case that did not pass, and no other"
        raise ConfigError.at(what, None, cure)
    if tuple(rerun_arguments(context)) != before.made.options:
        what = "the earlier run had other options"
        raise ConfigError.at(what, named, "give the options of that run")
    root = Workspace.around(here() / "x", here(), context.environment).root
    configs = [root / suite for suite in dict.fromkeys(row.suite for row in failed)]
    if strange := [path for path in configs if not path.resolve().is_relative_to(root)]:
        what = f"the config `{strange[0]}` is outside of the workspace"
        raise ConfigError.at(what, named, "run it: gradegate run CONFIG")
    rerun = Rerun(file.resolve(), frozenset(row.key for row in failed), len(before.rows))
    return replace(settings, configs=settings.configs or tuple(map(str, configs)), rerun=rerun)
