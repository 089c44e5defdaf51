"""``gradegate run``, also called ``eval``, as in promptfoo."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from gradegate.cli.output import (
    path_of_results,
    print_delivery,
    print_error,
    print_line,
    print_mistake,
    print_shard_report,
    working_folder,
)
from gradegate.cli.parser import add_options, context_from_args
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
add_arguments = partial(add_options, command="run")


def run(args: argparse.Namespace) -> int:
    from gradegate.runner.progress import progress
    from gradegate.runner.session import RunHooks, run_gate

    context = context_from_args(args, working_folder())
    settings = context.settings
    if settings.failed:
        settings_of_rerun = select_failed(context)
        if settings_of_rerun is None:
            print_line("every case passed, so there is nothing to ask again")
            return PASS
        context = replace(context, settings=settings_of_rerun)

    has_no_bar = settings.in_ci or settings.no_progress_bar
    show_progress = partial(progress, in_ci=has_no_bar, quiet=settings.quiet)
    if settings.shard:
        from gradegate.runner.shards.shard import run_shard

        return print_shard_report(run_shard(context, RunHooks(show_progress)))
    delivery = run_gate(context, RunHooks(show_progress))
    if not settings.in_ci and delivery.decision.run.rows:
        _keep_results(delivery)
    return print_delivery(delivery, settings)


def _keep_results(delivery: Delivery) -> None:
    """Write the results to a file for later commands. Does nothing in a folder that cannot be written to.

    Prints the reason if the file cannot be written.
    """
    from gradegate.files.plain_files import Place
    from gradegate.reports.delivery.deliver import render_report, write_documents
    from gradegate.reports.delivery.report import Links, data_file
    from gradegate.security.redaction import unchanged

    try:
        path_of_results(LAST_RUN)
    except ConfigError as e:
        print_mistake(e.mistakes[0])
        return
    root = working_folder().resolve()
    folder_name = LAST_RUN.partition("/")[0]
    folder = root / folder_name
    if not folder.exists():
        folder = root  # in which it will be made
    if not os.access(folder, os.W_OK):
        return

    documents = {LAST_RUN: lambda: render_report("json", delivery.decision, Links(), delivery.seal)}
    gitignore = f"{folder_name}/.gitignore"
    if not (root / gitignore).exists():
        documents[gitignore] = lambda: data_file(["*\n"])
    places = {name: Place(root, tuple(name.split("/")), private=True) for name in documents}
    failures = list(write_documents(documents, places, unchanged).values())
    if failures:
        print_error(failures[0])


def select_failed(context: Context) -> Settings | None:
    """Select the cases that did not pass in the file of ``--failed``. Returns None if every case passed.

    Anybody may have written the file, so it sets no option. It names the configs, which must be in the workspace.
    Raises ConfigError.
    """
    from gradegate.core.settings import Rerun
    from gradegate.results.results_file import load_decision
    from gradegate.results.rows import positions_not_passed

    settings = context.settings
    origin = Origin(settings.failed)
    file = path_of_results(settings.failed)
    decision, *_ = load_decision(file)
    earlier_run = decision.run
    if not earlier_run.rows:
        raise ConfigError.at("it has no case", origin, "run all of it: gradegate run")
    positions = positions_not_passed(earlier_run.rows)
    rows = [earlier_run.rows[position] for position in positions]
    if not rows:
        return None

    _check_same_options(context, earlier_run.made.options, origin)
    suites = dict.fromkeys(row.suite for row in rows)
    configs = _find_configs(suites, context, origin)
    keys = frozenset(row.key for row in rows)
    rerun = Rerun(file.resolve(), keys, of=len(earlier_run.rows))
    return replace(settings, configs=settings.configs or configs, rerun=rerun)


def _check_same_options(context: Context, options: tuple[str, ...], origin: Origin) -> None:
    """Raise ConfigError for a filter, and for other options than those of the earlier run."""
    from gradegate.planning.command import rerun_arguments
    from gradegate.planning.filters import filter_options

    filters = filter_options(context.settings)
    if context.settings.shard:
        filters.append("--shard")
    if filters:
        what = f"{' and '.join(filters)} would ask only a part of what failed"
        cure = "leave it out: --failed asks every case that did not pass, and no other"
        raise ConfigError.at(what, None, cure)
    if tuple(rerun_arguments(context)) != options:
        what = "the earlier run had other options"
        raise ConfigError.at(what, origin, "give the options of that run")


def _find_configs(suites: Iterable[str], context: Context, origin: Origin) -> tuple[str, ...]:
    """Find the configs that results name. Raises ConfigError for a config outside of the workspace."""
    from gradegate.files.workspace import Workspace

    cwd = working_folder()
    root = Workspace.around(cwd / "x", cwd, context.environment).root
    configs = []
    for suite in suites:
        path = root / suite
        if not path.resolve().is_relative_to(root):
            what = f"the config `{path}` is outside of the workspace"
            raise ConfigError.at(what, origin, "run it: gradegate run CONFIG")
        configs.append(str(path))
    return tuple(configs)
