"""A run as arguments of ``gradegate run``, so that reports can show the command that repeats it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradegate.access.hosts import hosts
from gradegate.planning.job import Plan
from gradegate.planning.load import Located
from gradegate.values.settings import RUN_OPTIONS, Settings

_NOBODYS = "nobody.invalid"  # a name that leads nowhere (RFC 2606): any host that is named has keys bound


def told(plan: Plan, settings: Settings, suites: Sequence[Located]) -> Plan:
    """The plan with the descriptions of its configs, and the arguments that ask the same in the same folder.

    The arguments hold what is asked and how it is graded; not the configs, and not what belongs to a place: reports,
    caches, budgets and the base. A config of a pull request may name other hosts and other code elsewhere than on GitHub, as it
    sees which variables are set. So keys that were bound to hosts are bound by the arguments, too, and leave to run code is none
    of them: whoever runs it gives that.
    """
    titles = {located.suite.file: located.suite.description for located in suites if located.suite.description}
    root, here = suites[0].workspace.root if suites else settings.cwd, settings.cwd.resolve()
    # The working directory, relative to the root of the repository; empty at the root, and where it is outside.
    folder = os.path.relpath(here, root) if here != root and here.is_relative_to(root) else ""
    return replace(plan, titles=titles, options=tuple(_options(settings)), folder=folder)


def _options(settings: Settings) -> Iterator[str]:
    bound = replace(settings, allowed_hosts=settings.allowed_hosts or hosts([_NOBODYS])) if settings.bound else settings
    for option in RUN_OPTIONS:
        if option.told:
            yield from option.words(getattr(bound, option.field))
