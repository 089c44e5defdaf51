"""A run as arguments of ``gradegate run``, so that reports can show the command that repeats it."""

import os
from collections.abc import Iterator, Sequence

from gradegate.config.context import Context
from gradegate.config.load import SuiteFile
from gradegate.core.settings import RUN_OPTIONS
from gradegate.planning.filters import select_failed_cases
from gradegate.planning.plan import Plan
from gradegate.security.hosts import NOBODY, hosts
from gradegate.structs import replace


def with_command(plan: Plan, context: Context, suites: Sequence[SuiteFile]) -> Plan:
    """The plan with the descriptions of its configs, and the arguments that ask the same in the same folder.

    The arguments hold what is asked and how it is graded; not the configs, and not what belongs to a place: reports,
    caches, budgets and the base. A config of a pull request may name other hosts and other code elsewhere than on GitHub, as it
    sees which variables are set. So keys that were bound to hosts are bound by the arguments, too, and leave to run code is none
    of them: whoever runs it gives that.
    """
    titles = {
        located.suite.file: located.suite.description
        for located in suites
        if located.suite.description
    }
    root, here = suites[0].workspace.root if suites else context.cwd, context.cwd.resolve()
    # The working directory, relative to the root of the repository; empty at the root, and where it is outside.
    folder = os.path.relpath(here, root) if here != root and here.is_relative_to(root) else ""
    plan = replace(plan, titles=titles, options=tuple(rerun_arguments(context)), folder=folder)
    again = context.settings.again
    return select_failed_cases(plan, again) if again else plan


def rerun_arguments(context: Context) -> Iterator[str]:
    """The arguments that ask the same."""
    settings = context.settings
    if context.egress.bound:
        allowed = settings.allowed_hosts or hosts([NOBODY])
        settings = replace(settings, allowed_hosts=allowed)
    for option in RUN_OPTIONS:
        if option.told:
            yield from option.words(getattr(settings, option.field))
