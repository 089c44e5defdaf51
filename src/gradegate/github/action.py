"""The action: reads its inputs and the event, runs, writes the reports and publishes them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from gradegate import pipeline
from gradegate.errors import ConfigError
from gradegate.github.client import connect
from gradegate.github.event import links, read_event
from gradegate.github.publish import Step, publish, publish_mistakes, warn
from gradegate.reporting.commands import command
from gradegate.result import Decision
from gradegate.running.progress import progress
from gradegate.settings import ActionSettings, from_inputs

MISTAKE = 2  # what the command exits with after a ConfigError
PUBLISHED = ("annotations", "summary", "comment")


def main(environ: Mapping[str, str], cwd: Path, exit_code: Callable[[Decision], int]) -> int:
    """Run one step of a workflow and give its exit code. Raises ConfigError after publishing its mistakes."""
    settings = _settings(environ, cwd)
    step = Step(settings, read_event(environ), connect(environ, settings.token), pipeline.say)
    try:
        return _run(step, exit_code)
    except ConfigError as e:
        publish_mistakes(step, e, MISTAKE)
        raise


def _settings(environ: Mapping[str, str], cwd: Path) -> ActionSettings:
    try:
        return from_inputs(environ, cwd)
    except ConfigError as e:
        for mistake in e.mistakes:
            pipeline.say(command("error", str(mistake)))
        raise


def _run(step: Step, exit_code: Callable[[Decision], int]) -> int:
    settings = step.settings.run
    outputs = pipeline.check_outputs(settings.outputs)
    prepared = pipeline.prepare(settings)
    hide = pipeline.build_redactor(prepared)
    with progress(len(prepared.plan.jobs), settings.in_ci) as watch:
        decision = pipeline.evaluate(prepared, settings.reask, watch)
    code = exit_code(decision)
    if decision.run.interrupted:  # a cancelled job has seconds left
        step = replace(step, github=connect(step.environ, step.settings.token, hurry=True))
    where = links(step.event, step.environ)
    failures = pipeline.write_reports(outputs, settings.cwd, decision, where, hide)
    sys.stdout.writelines(pipeline.render("console", decision, where, hide).parts)
    for failure in failures:
        warn(step, failure)
    lost = {path for path in outputs if not (settings.cwd / path).is_file()}
    documents = [pipeline.render(name, decision, where, hide) for name in PUBLISHED]
    publish(step, decision, code, documents, [path for path in outputs if path not in lost])
    return code
