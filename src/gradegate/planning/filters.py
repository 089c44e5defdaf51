"""Which tests and models of a config are run, where the command line asks for some of them, or others: as promptfoo filters."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from gradegate.config.overrides import match_pattern, note_on_left_out
from gradegate.core.numbers import many
from gradegate.core.policy import Note, Rule
from gradegate.core.settings import Again, Settings
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Origin
from gradegate.planning.identity import identity
from gradegate.planning.plan import Plan
from gradegate.structs import replace
from gradegate.templating.template import show


def cases(suite: Suite, settings: Settings) -> tuple[list[Case], list[Note]]:
    """The tests that every filter keeps, with a note of how many were left out. Raises ConfigError where none is kept."""
    kept = list(suite.cases)
    for option, keep in _steps(settings):
        found = keep(kept)
        if kept and not found:
            raise ConfigError.at(f"{option} matches no test of {suite.file}", None, "correct it")
        kept = found
    return kept, note_on_left_out(
        len(kept), suite, "test", [option for option, _ in _steps(settings)]
    )


def leaving_out(settings: Settings) -> list[str]:
    """The options of the command line by which tests or providers of a config may be left out."""
    options = [option for option, _ in _steps(settings)]
    options += (
        [f"<--filter-providers> {settings.filter_providers!r}"] if settings.filter_providers else []
    )
    return options + [f"<--provider {name}>" for name in settings.providers]


def _steps(settings: Settings) -> Iterable[tuple[str, Callable[[list[Case]], list[Case]]]]:
    """In promptfoo's order; all that are given must keep a test."""
    for key, part in settings.filter_metadata:
        option = f"<--filter-metadata> {f'{key}={part}'!r}"
        yield (
            option,
            lambda kept, key=key, part=part: [  # type: ignore[misc]
                case for case in kept if _has(case, key, part)
            ],
        )
    if pattern := settings.filter_pattern:
        yield (
            f"<--filter-pattern> {pattern!r}",
            lambda kept: list(
                itertools.compress(
                    kept,
                    match_pattern(
                        "<--filter-pattern>", pattern, [case.description for case in kept]
                    ),
                )
            ),
        )
    if settings.filter_first is not None:
        yield (
            f"<--filter-first-n {settings.filter_first}>",
            lambda kept: kept[: settings.filter_first],
        )


def _has(case: Case, key: str, part: str) -> bool:
    """Whether the metadata, or one of a list, holds the text."""
    value: Any = case.metadata.get(key)
    values = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return any(part in show(it) for it in values)


def select_again(plan: Plan, again: Again) -> Plan:
    """The part of a plan that did not pass in an earlier run: its cases whole, with the talks that they are part of.

    The rules of the gate are about all cases, so that here one rule holds: each of these cases passes. Raises ConfigError.
    """
    keys = [{identity(job, repeat) for repeat in range(job.repeats)} for job in plan.jobs]
    found = [
        job
        for job, own in zip(plan.jobs, keys, strict=True)
        if not job.of_base and own & again.keys
    ]
    if not found:
        raise ConfigError.at(
            "the configs have none of its failures any more",
            Origin(again.file.name),
            "run all of it: gradegate run",
        )
    cases, talks = (
        {(job.suite, job.number) for job in found},
        {job.talk for job in found if job.talk},
    )
    kept = [
        (job, own)
        for job, own in zip(plan.jobs, keys, strict=True)
        if (job.suite, job.number) in cases or job.talk in talks
    ]
    asked = frozenset[bytes]().union(*(own for _, own in kept))
    asks = many(sum(job.repeats for job, _ in kept), "answer")
    only = f"only {asks} of {again.of:,} asked again, of cases that did not pass in {again.file.name}; the rules of the gate do not apply"
    gone = len(again.keys - asked)
    lost = (
        [
            Note(
                f"{many(gone, 'failure')} of {again.file.name} no longer in the configs, and not asked again"
            )
        ]
        if gone
        else []
    )
    suites = dict.fromkeys(job.suite for job, _ in kept)
    return replace(
        plan,
        jobs=tuple(job for job, _ in kept),
        policies=tuple(
            replace(
                policy,
                rules=(Rule("every case passes", every_case=True, suite=suite, runs=policy.runs),),
            )
            for policy in plan.policies
            if (suite := policy.rules[0].suite) in suites
        ),
        notes=(Note(only), *plan.notes, *lost),
        baseline=plan.baseline
        and replace(
            plan.baseline, answers=tuple(row for row in plan.baseline.answers if row.key in asked)
        ),
        only=only,
    )
