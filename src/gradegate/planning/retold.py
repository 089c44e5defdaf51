"""A run told as arguments of ``gradegate run``, so that reports can say how to ask the same again elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gradegate.planning.job import Plan
from gradegate.planning.load import Located
from gradegate.settings import REASK, Settings

_NOBODYS = "nobody.invalid"  # a name that leads nowhere (RFC 2606): any host that is named has keys bound


def told(plan: Plan, settings: Settings, suites: Sequence[Located]) -> Plan:
    """The plan with the descriptions of its configs, and the arguments that ask the same in the same folder.

    The arguments hold what is asked and how it is graded; not the configs, and not what belongs to a place: reports,
    caches, budgets and the base. A config of a pull request may name other hosts and other code elsewhere than on GitHub, as it
    sees which variables are set. So keys that were bound to hosts are bound by the arguments, too, and leave to run code is none
    of them: whoever runs it gives that.
    """
    titles = {located.suite.file: located.suite.description for located in suites if located.suite.description}
    return replace(plan, titles=titles, options=tuple(_options(settings)), folder=_folder(settings, suites))


def _options(settings: Settings) -> Iterator[str]:
    for kind, name in settings.graders.items():
        yield from ("--grader", name if kind == "*" else f"{kind}={name}")
    yield from _each("--provider", settings.providers)
    yield from _each("--answers", settings.answers)
    yield from _each("--assert", settings.assertions)
    yield from _each("--var", (f"{name}={value}" for name, value in settings.variables.items()))
    yield from _each("--filter-metadata", (f"{key}={text}" for key, text in settings.filters.metadata))
    if settings.filters.providers:
        yield from ("--filter-providers", settings.filters.providers)
    if settings.repeat is not None:
        yield from ("--repeat", str(settings.repeat))
    if settings.confirm:
        yield from ("--confirm", settings.confirm)
    if settings.reask != REASK:
        yield from ("--reask", str(settings.reask))
    yield from _each("--allowed-env", sorted(settings.allowed_env))
    if settings.bound:
        yield from _each("--allowed-hosts", map(str, settings.allowed_hosts) if settings.allowed_hosts else [_NOBODYS])


def _each(option: str, values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield from (option, value)


def _folder(settings: Settings, suites: Sequence[Located]) -> str:
    """The working directory, relative to the root of the repository; empty at the root, and where it is outside."""
    root = suites[0].workspace.root if suites else settings.cwd
    here = settings.cwd.resolve()
    return os.path.relpath(here, root) if here != root and here.is_relative_to(root) else ""
