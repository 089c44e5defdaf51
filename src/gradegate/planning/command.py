"""The command that repeats a run: reports show it as arguments of ``gradegate run``."""

import os
from collections.abc import Iterator, Sequence

from gradegate.config.context import Context
from gradegate.config.load import SuiteFile
from gradegate.core.settings import RUN_OPTIONS
from gradegate.planning.filters import select_failed_cases
from gradegate.planning.plan import Plan
from gradegate.security.hosts import NOBODY, parse_hosts
from gradegate.structs import replace


def with_command(plan: Plan, context: Context, suite_files: Sequence[SuiteFile]) -> Plan:
    """The plan with the titles of its configs, the arguments that repeat it, and the folder to start them in."""
    titles = {}
    for file in suite_files:
        if file.suite.description:
            titles[file.suite.file] = file.suite.description

    # The working directory, relative to the root of the repository; empty at the root, and outside of it.
    root = suite_files[0].workspace.root if suite_files else context.cwd
    cwd = context.cwd.resolve()
    folder = ""
    if cwd != root and cwd.is_relative_to(root):
        folder = os.path.relpath(cwd, root)

    arguments = tuple(rerun_arguments(context))
    plan = replace(plan, titles=titles, options=arguments, folder=folder)
    rerun = context.settings.rerun
    return select_failed_cases(plan, rerun) if rerun else plan


def rerun_arguments(context: Context) -> Iterator[str]:
    """The arguments that ask and grade the same.

    They name neither configs nor what belongs to a place: reports, caches, budgets and the base. Off GitHub, a config of a
    pull request may name other hosts and other code, because it sees which variables are set. So keys that are bound to
    hosts stay bound, and no argument allows code: whoever runs the command decides that.
    """
    settings = context.settings
    if context.egress.bound:
        allowed = settings.allowed_hosts or parse_hosts([NOBODY])
        settings = replace(settings, allowed_hosts=allowed)
    for option in RUN_OPTIONS:
        if option.in_rerun:
            yield from option.arguments(getattr(settings, option.field))
