"""A run as arguments of ``gradegate run``, so that reports can show the command that repeats it."""

import os
from collections.abc import Iterator, Sequence

from gradegate.config.load import Located
from gradegate.core.numbers import many
from gradegate.core.policy import Note, Rule
from gradegate.core.settings import RUN_OPTIONS, Again, Settings
from gradegate.errors import ConfigError, Origin
from gradegate.planning.identity import identity
from gradegate.planning.plan import Plan
from gradegate.security.hosts import hosts
from gradegate.structs import replace

_NOBODYS = (
    "nobody.invalid"  # a name that leads nowhere (RFC 2606): any host that is named has keys bound
)


def told(plan: Plan, settings: Settings, suites: Sequence[Located]) -> Plan:
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
    root, here = suites[0].workspace.root if suites else settings.cwd, settings.cwd.resolve()
    # The working directory, relative to the root of the repository; empty at the root, and where it is outside.
    folder = os.path.relpath(here, root) if here != root and here.is_relative_to(root) else ""
    plan = replace(plan, titles=titles, options=tuple(options(settings)), folder=folder)
    return _again(plan, settings.again) if settings.again else plan


def _again(plan: Plan, again: Again) -> Plan:
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


def options(settings: Settings) -> Iterator[str]:
    """The arguments that ask the same."""
    bound = (
        replace(settings, allowed_hosts=settings.allowed_hosts or hosts([_NOBODYS]))
        if settings.bound
        else settings
    )
    for option in RUN_OPTIONS:
        if option.told:
            yield from option.words(getattr(bound, option.field))
