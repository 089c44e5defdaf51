"""The action: reads its inputs and the event, runs, and publishes what came of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from gradegate.deciding.exit import MISTAKE, exit_code
from gradegate.errors import ConfigError
from gradegate.files.checkout import head_of, repository_of
from gradegate.github.approval import approval
from gradegate.github.client import connect
from gradegate.github.event import links, read_event
from gradegate.github.inputs import from_inputs
from gradegate.github.promptfoo_action import ANSWERS
from gradegate.github.publish import Step, publish, publish_mistakes, publish_part, say, warn
from gradegate.pipeline import deliver
from gradegate.running.progress import progress
from gradegate.sharding.steps import ask, merge, name_open

PUBLISHED = ("annotations", "summary", "comment")


def main(environ: Mapping[str, str], cwd: Path) -> int:
    """Run one step of a workflow and give its exit code. Raises ConfigError after publishing its mistakes."""
    environ = {**environ, "GITHUB_ACTIONS": "true"}  # this command is for nowhere else
    event = read_event(environ)
    settings = from_inputs(environ, cwd, ANSWERS)
    settings = replace(settings, run=replace(settings.run, commit=event.head_sha))
    if settings.run.shard or settings.run.open:  # the merge that decides is the only one that comments
        settings = replace(settings, comment="off")
    step = Step(settings, event, connect(environ, settings.token), say)
    try:
        if settings.mistakes:
            raise ConfigError(*settings.mistakes)
        return _run(step)
    except ConfigError as e:
        publish_mistakes(step, e, MISTAKE)
        raise


def _run(step: Step) -> int:
    settings = step.settings.run
    where = links(step.event, step.environ)
    commits = {step.environ.get("GITHUB_SHA", ""), step.event.head_sha}
    root = repository_of(settings.cwd)
    head = head_of(root) if root else ""
    approve = partial(approval, step.github, step.event, step.settings.approve_label, commits, head)
    shown = partial(progress, in_ci=settings.in_ci)
    if settings.shard or (settings.merge and settings.open):
        return publish_part(step, ask(settings, shown) if settings.shard else name_open(settings))
    steps = merge if settings.merge else deliver
    delivered = steps(settings, ("console", *PUBLISHED), where, shown, approve)
    console, *documents = delivered.documents
    code = exit_code(delivered.decision)
    if delivered.decision.run.interrupted:  # a cancelled job has seconds left
        step = replace(step, github=connect(step.environ, step.settings.token, hurry=True))
    sys.stdout.writelines(console.parts)
    for failure in delivered.failures.values():
        warn(step, failure)
    written = [path for path in settings.outputs if path not in delivered.failures]
    publish(step, delivered.decision, code, documents, written)
    return code
