"""The action: reads its inputs and the event, runs, and publishes what came of it."""

import sys
from functools import partial
from pathlib import Path

from gradegate import signals
from gradegate.config.context import Context, build_context
from gradegate.errors import ConfigError, Mistake
from gradegate.files.git import head_of, repository_of
from gradegate.gate.exit_codes import INCONCLUSIVE, PASS
from gradegate.github.approval import approval
from gradegate.github.artifact import fetched, keep
from gradegate.github.changed_files import Filter
from gradegate.github.client import connect
from gradegate.github.gate_key import shown_gate
from gradegate.github.inputs import from_inputs
from gradegate.github.links import links
from gradegate.github.publish import Step, holds, publish, publish_mistakes, warn
from gradegate.github.pull_request import with_pull_request
from gradegate.github.step_files import Ending
from gradegate.reports.delivery.deliver import remove_earlier_outputs
from gradegate.reports.delivery.redact import with_option_names
from gradegate.reports.format.escape import harmless, join_nonempty, workflow_command
from gradegate.results.gate_changes import Approval
from gradegate.results.run_result import GateOutcome
from gradegate.runner.prepare import Preparation
from gradegate.runner.progress import progress
from gradegate.runner.session import RunHooks, reason_without_keys, run_gate
from gradegate.runner.shards.shard import ShardReport, run_shard
from gradegate.security.environment import Environment
from gradegate.security.event import read_event
from gradegate.security.secrets import belongs_to_runner
from gradegate.structs import NamedTexts, replace

PUBLISHED = ("annotations", "summary", "comment")
TARGET = (
    "A run for pull_request_target has the secrets and checks out the default branch, so gradegate tests that branch and not the "
    "pull request. Use the event pull_request, and for forks the two stages of docs/github-forks.md."
)
# What to do about keys that are not there.
TWO_STAGES = (
    "Somebody with write access can review the commits and push them to a branch of this repository. docs/github-forks.md shows a "
    "workflow in two stages, and what `on-missing-secrets` does."
)


def main(environ: NamedTexts, cwd: Path) -> int:
    """Run one step of a workflow and give its exit code. Raises ConfigError after publishing its mistakes."""
    environ = {**environ, "GITHUB_ACTIONS": "true"}  # this command is for nowhere else
    with Ending(environ) as ending:
        settings = from_inputs(environ, cwd)
        mistakes = (*settings.mistakes, *remove_earlier_outputs(settings.run, Environment(environ)))
        event = read_event(environ)
        if settings.run.shard:  # only the merge comments
            settings = replace(settings, comment="off")
        github = connect(environ, settings.token)
        event = with_pull_request(github, event)
        step = Step(settings, event, environ, github, partial(print, flush=True))
        if event.name == "pull_request_target":
            warn(step, TARGET)
        try:
            if mistakes:
                raise ConfigError(*mistakes)
            code = _run_shard(step) if settings.run.shard else _run(step)
        except ConfigError as e:
            said = ConfigError(*map(_with_key_line, with_option_names(e.mistakes, inputs=True)))
            publish_mistakes(step, said)
            ending.settled = True
            raise said from e
        ending.settled = True
        return code


def _with_key_line(mistake: Mistake) -> Mistake:
    """The mistake of a missing key with the line to write in the workflow."""
    name = mistake.missing
    if not name or belongs_to_runner(name):
        return mistake
    line = f"in the workflow, under `env:` of the step: `{name}: ${{{{ secrets.{name} }}}}`"
    return replace(mistake, cure=join_nonempty("; ", mistake.cure, line))


def _run_shard(step: Step) -> int:
    """Run a shard, which decides nothing, and say what it asked. Raises ConfigError."""
    context = build_context(step.settings.run, step.environ, event=step.event)
    try:
        shard = run_shard(context, _hooks(step, context))
    except ConfigError as e:
        if not (step.event.outsider and e.missing):
            raise
        reason = reason_without_keys(step.event, e.missing)
        is_neutral = step.settings.on_missing_secrets == "neutral"
        shard = ShardReport(f"NOT RUN: {reason}", PASS if is_neutral else INCONCLUSIVE)
    if shard.problem:
        warn(step, shard.problem)
    step.tell(harmless(shard.text))
    return shard.code


def _run(step: Step) -> int:
    with fetched(step) as own:
        context = build_context(own.settings.run, step.environ, event=step.event)
        # A plan that lacks keys says what else is wrong, and what the pull request does to its gate.
        context = replace(context, keyless=bool(step.event.outsider))
        delivered = run_gate(context, _hooks(step, context))
    decision = delivered.decision
    code = delivered.exit_code(neutral=step.settings.on_missing_secrets == "neutral")
    if decision.run.interrupted or signals.received():  # a cancelled job has seconds left
        step = replace(step, github=connect(step.environ, step.settings.token, hurry=True))
    console, *documents = delivered.documents
    # The log folded under a title, but for the last two lines: how many, and the verdict.
    *folded, counts, verdict = console.parts
    sys.stdout.writelines(
        [
            workflow_command("group", "Report"),
            "\n",
            *folded,
            workflow_command("endgroup", ""),
            "\n",
            counts,
            verdict,
        ]
    )
    for failure in delivered.failures.values():
        warn(step, failure)
    if decision.outcome is GateOutcome.NOT_RUN:
        warn(step, f"NOT RUN: {decision.reason}.")
    publish(step, decision, documents, delivered.written)
    keep(own, delivered)
    return code


def _hooks(step: Step, context: Context) -> RunHooks:
    where = links(step.event, step.environ)
    # A step that uploads the HTML report puts it there. The page of a run has the artifacts of its last attempt.
    page = f"{where.run.partition('/attempts/')[0]}#artifacts" if where.run else ""
    gate = shown_gate(step.settings, step.environ)
    return RunHooks(
        partial(progress, in_ci=context.settings.in_ci),
        ("console", *PUBLISHED),
        replace(where, has_file=holds(step), key=gate, page=page),
        partial(_spared, step, context),
        partial(_approval, step),
        TWO_STAGES,
    )


def _spared(step: Step, context: Context, prepared: Preparation) -> str:
    """Why nothing needs to be run, where the workflow asks for that; an empty string where something does."""
    if step.settings.when != "changed":
        return ""
    reason, otherwise = Filter(step.github, context, step.settings.paths).look(prepared)
    if otherwise:
        step.tell(harmless(f"{otherwise}."))
    return reason


def _approval(step: Step) -> Approval:
    """Whether a person approved of what the pull request does to its gate."""
    commits = {step.environ.get("GITHUB_SHA", ""), step.event.head_sha}
    root = repository_of(step.settings.run.cwd)
    head = head_of(root) if root else ""
    return approval(step.github, step.event, step.settings.approve_label, commits, head)
