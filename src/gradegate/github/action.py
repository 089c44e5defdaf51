"""The Action: reads its inputs and the event, runs the gate, and publishes the decision."""

import sys
from functools import partial
from pathlib import Path

from gradegate import signals
from gradegate.config.context import Context, build_context
from gradegate.errors import ConfigError, Mistake
from gradegate.files.git import head_of, repository_of
from gradegate.gate.exit_codes import INCONCLUSIVE, PASS
from gradegate.github.approval import find_approval
from gradegate.github.artifact import name_artifact, with_fetched_baseline
from gradegate.github.changed_files import ChangeFilter
from gradegate.github.client import connect
from gradegate.github.inputs import settings_from_inputs
from gradegate.github.publish import Step, publish_decision, publish_mistakes
from gradegate.github.pull_request import with_pull_request
from gradegate.github.step_files import LastOutputs
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
TARGET_WARNING = (
    "A run for pull_request_target has the secrets and checks out the default branch, so gradegate tests that branch and not the "
    "pull request. Use the event pull_request, and for forks the two stages of docs/forks.md."
)
# What to do about keys that are not there.
TWO_STAGES = (
    "Somebody with write access can review the commits and push them to a branch of this repository. docs/forks.md shows a "
    "workflow in two stages, and what `on-missing-secrets` does."
)


def run_action(environ: NamedTexts, cwd: Path) -> int:
    """Run one step of a workflow and give its exit code. Raises ConfigError after publishing its mistakes."""
    environ = {**environ, "GITHUB_ACTIONS": "true"}  # this command is for nowhere else
    with LastOutputs(environ) as outputs:
        settings = settings_from_inputs(environ, cwd)
        mistakes = list(settings.mistakes)
        mistakes += remove_earlier_outputs(settings.run, Environment(environ))
        if settings.run.shard:  # only the merge comments
            settings = replace(settings, comment="off")
        event = read_event(environ)
        github = connect(environ, settings.token)
        event = with_pull_request(github, event)
        step = Step(settings, event, environ, github, partial(print, flush=True))
        if event.name == "pull_request_target":
            step.warn(TARGET_WARNING)
        try:
            if mistakes:
                raise ConfigError(*mistakes)
            code = _run_shard(step) if settings.run.shard else _run_gate(step)
        except ConfigError as e:
            named = with_option_names(e.mistakes, inputs=True)
            error = ConfigError(*map(_with_key_line, named))
            publish_mistakes(step, error)
            outputs.is_published = True
            raise error from e
        outputs.is_published = True
        return code


def _with_key_line(mistake: Mistake) -> Mistake:
    """Add the line of the workflow that gives a missing key."""
    name = mistake.missing
    if not name or belongs_to_runner(name):
        return mistake
    line = f"in the workflow, under `env:` of the step: `{name}: ${{{{ secrets.{name} }}}}`"
    return replace(mistake, cure=join_nonempty("; ", mistake.cure, line))


def _run_shard(step: Step) -> int:
    """Run a shard, which decides nothing, and write its report to the log. Raises ConfigError."""
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
        step.warn(shard.problem)
    step.tell(harmless(shard.text))
    return shard.code


def _run_gate(step: Step) -> int:
    """Run the gate and publish the decision. Raises ConfigError."""
    with with_fetched_baseline(step) as fetched:
        context = build_context(fetched.settings.run, step.environ, event=step.event)
        # A plan without keys says what else is wrong, and what the pull request does to its gate.
        context = replace(context, keyless=bool(step.event.outsider))
        delivered = run_gate(context, _hooks(step, context))
    code = delivered.exit_code(neutral=step.settings.on_missing_secrets == "neutral")
    decision = delivered.decision
    if decision.run.interrupted or signals.ending_signal():  # a cancelled job has seconds left
        step = replace(step, github=connect(step.environ, step.settings.token, hurry=True))

    console, *documents = delivered.documents
    # Fold the log under a title, but for the last two lines: the counts and the verdict.
    *folded, counts, verdict = console.parts
    start = workflow_command("group", "Report")
    end = workflow_command("endgroup", "")
    sys.stdout.writelines([start, "\n", *folded, end, "\n", counts, verdict])
    for failure in delivered.failures.values():
        step.warn(failure)
    if decision.outcome is GateOutcome.NOT_RUN:
        step.warn(f"NOT RUN: {decision.reason}.")
    publish_decision(step, decision, documents, delivered.written)
    name_artifact(fetched, delivered)
    return code


def _hooks(step: Step, context: Context) -> RunHooks:
    """What the Action does in a run beside the command line."""
    links = step.links
    # A step that uploads the HTML report puts it there. The page of a run has the artifacts of its last attempt.
    page = f"{links.run.partition('/attempts/')[0]}#artifacts" if links.run else ""
    return RunHooks(
        progress=partial(progress, in_ci=context.settings.in_ci),
        reports=("console", *PUBLISHED),
        links=replace(links, has_file=step.has_file, page=page),
        reason_not_to_ask=partial(_reason_to_skip, step, context),
        find_approval=partial(_find_approval, step),
        advice=TWO_STAGES,
    )


def _reason_to_skip(step: Step, context: Context, prepared: Preparation) -> str:
    """Why nothing needs to run, if the workflow asks for that, or an empty string."""
    if step.settings.when != "changed":
        return ""
    change_filter = ChangeFilter(step.github, context, step.settings.paths)
    decision = change_filter.decide_skip(prepared)
    if decision.may_skip:
        return decision.reason
    step.tell(harmless(f"{decision.reason}."))
    return ""


def _find_approval(step: Step) -> Approval:
    """Whether a person approved what the pull request does to its gate."""
    commits = {step.environ.get("GITHUB_SHA", ""), step.event.head_sha}
    root = repository_of(step.settings.run.cwd)
    head = head_of(root) if root else ""
    return find_approval(step.github, step.event, step.settings.approve_label, commits, head)
