"""Reads the workflows of a repository and says what their jobs do on a pull request. Makes no call and runs no code."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradegate.cli.init.choices import needs_commit
from gradegate.config.context import build_context
from gradegate.core.numbers import format_count
from gradegate.core.options import resolve_option_names
from gradegate.core.settings import AUTO, ActionSettings, Settings
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files import documents
from gradegate.files.workspace import Workspace
from gradegate.github.action import TARGET_WARNING
from gradegate.github.inputs import settings_from_inputs
from gradegate.planning.checks.rules import notes_without_baseline
from gradegate.planning.plan import Plan
from gradegate.runner.prepare import Preparation, prepare
from gradegate.security.environment import STAND_IN
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts, replace

USES_GRADEGATE = re.compile(r"[^/@\s]+/gradegate(?:/container)?@\S+", re.IGNORECASE)
EXPRESSION = "${{"
_ALWAYS = re.compile(r"(?:\$\{\{ *)?always\(\)(?: *\}\})?")
_PROPOSED_COMMIT = re.compile(r"github\.(?:sha|ref|head_ref|event\.pull_request\.head)\b")
_DEFAULT_PERMISSIONS = {"contents": "read"}  # of a workflow that asks for none, in any repository
_MOST_WORKFLOWS = 500
YamlPath = list[str | int]  # keys and indices from the root of a file to a value


class WorkflowStep(FrozenStruct):
    """A step of a job, with its workflow and where it is in there."""

    workflow: JsonObject
    job: JsonObject
    step: JsonObject
    path: YamlPath  # ``["jobs", NAME, "steps", NUMBER]``

    @property
    def uses(self) -> str:
        """The action of the step; empty if it runs a command."""
        return str(self.step.get("uses") or "")

    @property
    def job_name(self) -> str:
        """The key of its job."""
        return str(self.path[1])


class WorkflowReport(FrozenStruct):
    """A line for each fact about the workflows, and for each problem that keeps them from running."""

    lines: list[str]
    problems: list[str]


def describe_workflows(root: Path) -> WorkflowReport:
    """Describe every step of a repository's workflows that uses gradegate."""
    lines: list[str] = []
    problems: list[str] = []
    paths = sorted(root.glob(".github/workflows/*.y*ml"))
    for path in paths[:_MOST_WORKFLOWS]:
        name = path.relative_to(root).as_posix()
        try:
            content = Workspace(root).read(str(path), root, Origin(name))
            workflow = documents.read(content, name)
        except ConfigError as e:
            problems += map(str, e.mistakes)
            continue

        for step in iterate_steps(workflow):
            if not USES_GRADEGATE.fullmatch(step.uses):
                continue
            line = documents.line_of(workflow, [*step.path, "uses"])
            description = _StepDescription()
            _describe_step(root, step, description)
            lines.append(f"{name}:{line}, job {step.job_name}:")
            lines += [f"  {title:10}{text}" for title, text in description.facts]
            problems += [f"{name}:{line}: {text}" for text in description.problems]
    if not lines and not problems:
        problems.append("no workflow uses gradegate -> `gradegate init` writes one")

    # One line each: a text of a workflow must not look like a line of gradegate.
    lines = [_join_lines(line) for line in lines]
    problems = [_join_lines(problem) for problem in problems]
    return WorkflowReport(lines, problems)


def _join_lines(text: str) -> str:
    return " ".join(text.splitlines())


def iterate_steps(workflow: Any) -> Iterator[WorkflowStep]:
    """Yield every step of a workflow. Skips what is not a mapping."""
    for name, job in mapping_at(workflow, "jobs").items():
        steps = mapping_at(job).get("steps")
        if not isinstance(steps, list):
            continue
        for number, step in enumerate(steps):
            if isinstance(step, Mapping):
                yield WorkflowStep(workflow, job, step, ["jobs", name, "steps", number])


# --- one step -----------------------------------------------------------------------------------------------------


class _StepDescription:
    """Titles with their texts, and problems of one step."""

    def __init__(self) -> None:
        self.facts: list[tuple[str, str]] = []
        self.problems: list[str] = []

    def add(self, title: str, text: str) -> None:
        self.facts.append((title, text))

    def add_mistakes(self, mistakes: Iterable[Mistake]) -> None:
        self.problems += [resolve_option_names(str(mistake), inputs=True) for mistake in mistakes]


def _describe_step(root: Path, step: WorkflowStep, description: _StepDescription) -> None:
    """Describe one step that uses gradegate: when it runs, and what it does then."""
    events = _read_events(step.workflow)
    triggers = _describe_triggers(events)
    if triggers:
        _describe_run(root, step, events, triggers, description)
    else:
        names = ", ".join(events) or "nothing"
        description.add("runs", f"not on a pull request, but on {names}")
    if needs_commit(step.uses):
        cure = "put the commit of a release in place of the zeros"
        description.problems.append(f"`{step.uses}` is a placeholder -> {cure}")


def _read_events(workflow: JsonObject) -> JsonObject:
    """Read the events that start a workflow, with their filters."""
    events = workflow.get("on")
    if isinstance(events, str):
        return {events: None}
    if isinstance(events, list):
        return dict.fromkeys(map(str, events))
    return mapping_at(events)


def _describe_triggers(events: JsonObject) -> list[str]:
    """Describe the events of pull requests that start a workflow, such as ``on pull_request (branches: main)``."""
    triggers = []
    for event in events:
        if not event.startswith("pull_request"):
            continue
        trigger = f"on {event}"
        filters = []
        for key, value in mapping_at(events, event).items():
            patterns = value if isinstance(value, list) else [value]
            filters.append(f"{key}: {', '.join(map(str, patterns))}")
        if filters:
            trigger += f" ({'; '.join(filters)})"
        triggers.append(trigger)
    return triggers


def _describe_run(
    root: Path,
    step: WorkflowStep,
    events: JsonObject,
    triggers: list[str],
    description: _StepDescription,
) -> None:
    """Describe a step that runs on a pull request: its configs, whether it blocks, and what forks get."""
    description.add("runs", " and ".join(triggers))
    if "pull_request_target" in events:
        description.add("", TARGET_WARNING)
    for item in (step.job, step.step):
        if item.get("if") is not None:
            description.add("only if", str(item["if"]))

    settings = read_step_settings(root, step)
    action = settings.action
    description.add_mistakes(action.mistakes)
    if settings.run is None:
        description.add(
            "configs", "known only when the workflow runs; see `gradegate validate CONFIG`"
        )
        return
    try:
        preparation = settings.run.prepare()
    except ConfigError as e:
        if action.run.allow_exec:  # the config's code may run on the runner, but not here
            what = e.mistakes[0].what
            description.add("configs", f"not known here, because no code runs: {what}")
        else:
            description.add_mistakes(e.mistakes)
        return

    plan = preparation.plan
    shown = preparation.shown_plan
    configs = ", ".join(shown.digests)
    answers = format_count(shown.answers, "answer")
    assertions = format_count(shown.assertions, "assertion")
    description.add("configs", f"{configs}: {answers}, {assertions}")
    if action.run.baseline:
        for note in notes_without_baseline(plan.policies):
            description.add("warning", note.text)
    for note in shown.notes:
        text = f"{note.origin}: {note.text}" if note.origin else note.text
        description.add("note", text)
    finds_baseline = action.run.baseline == AUTO
    description.add("blocks", _describe_blocking(plan, step, events, finds_baseline))
    if "pull_request" in events:
        description.add("forks", _describe_forks(action, needs_keys=bool(plan.keys)))
    else:
        description.add("forks", "see docs/github.md")
    description.problems += map(str, keys_to_pass(plan.missing_keys))


def _describe_forks(action: ActionSettings, needs_keys: bool) -> str:
    """Describe the check of a pull request from a fork, which gets no secrets."""
    if not needs_keys:
        return "run like any other, because no key is needed; no comment, because their token is read-only"
    ends = "fails with exit code 3"
    if action.on_missing_secrets == "neutral":
        ends = "passes (on-missing-secrets: neutral)"
    return f"not run, because GitHub gives them no secrets: the check {ends}; docs/forks.md shows a workflow in two stages"


def keys_to_pass(missing_keys: Iterable[str]) -> list[Mistake]:
    """List a mistake for each key that a run needs and its step does not pass on."""
    mistakes = []
    for name in sorted(missing_keys):
        what = f"the run needs {name}, and the step does not pass it"
        mistakes.append(Mistake(what, None, f"`env: {name}: ${{{{ secrets.{name} }}}}`"))
    return mistakes


# --- whether a step blocks ----------------------------------------------------------------------------------------


class _Obstacle(FrozenStruct):
    """A reason why a missed rule may not fail the check of a pull request, or certainly does not."""

    reason: str
    is_certain: bool = False


def _describe_blocking(
    plan: Plan, step: WorkflowStep, events: JsonObject, finds_baseline: bool
) -> str:
    """Say whether the step blocks a pull request, and why not."""
    blocking_rules = sum(rule.blocking for rule in plan.rules)
    if not blocking_rules or not _has_counting_assertion(plan):
        return "no: every rule or every assertion only advises"

    reasons = []
    certain_reasons = []
    for obstacle in _find_obstacles(step, events, finds_baseline):
        reasons.append(obstacle.reason)
        if obstacle.is_certain:
            certain_reasons.append(obstacle.reason)
    if certain_reasons:
        return f"no: {'; '.join(certain_reasons)}"
    if reasons:
        return f"unknown: {'; '.join(reasons)}"
    return f"yes, by {format_count(blocking_rules, 'rule')}: the check fails when one is missed"


def _has_counting_assertion(plan: Plan) -> bool:
    bindings = itertools.chain.from_iterable(job.assertions for job in plan.jobs)
    return any(binding.assertion.counts for binding in bindings)


def _find_obstacles(
    step: WorkflowStep, events: JsonObject, finds_baseline: bool
) -> Iterator[_Obstacle]:
    """Yield everything that may keep a missed rule from failing the check.

    Without an obstacle, the step runs at the pull request's own commit, finds its baseline, and nothing turns its failure
    into a success.
    """
    if "pull_request_target" in events:
        reason = "a run for `pull_request_target` tests the default branch"
        yield _Obstacle(reason, is_certain="pull_request" not in events)
    elif "pull_request" not in events:
        yield _Obstacle("the event `pull_request` starts no run")

    yield from _find_excuses("job", step.job)
    yield from _find_excuses("step", step.step)

    if not _follows_checkout(step):
        yield _Obstacle("no step before checks out the pull request")

    scopes = ["contents"]
    if finds_baseline:
        scopes.append("actions")
    missing = [f"{scope}: read" for scope in scopes if not _may_read(step, scope)]
    if missing:
        yield _Obstacle(f"`permissions` lacks `{'` and `'.join(missing)}`")
    if finds_baseline and "push" not in events and "schedule" not in events:
        yield _Obstacle("no `push` to the default branch leaves what `baseline: auto` looks for")


def _find_excuses(kind: str, item: JsonObject) -> Iterator[_Obstacle]:
    """Yield the keys of a job or a step that let the check pass after it fails, or without it. ``kind`` names it."""
    ignores_failure = str(item.get("continue-on-error", False)).lower()  # or an expression
    if ignores_failure != "false":
        reason = f"`continue-on-error` of the {kind} lets the check pass"
        yield _Obstacle(reason, is_certain=ignores_failure == "true")

    condition = item.get("if")
    may_be_skipped = condition is not None or item.get("needs")
    if may_be_skipped and not _ALWAYS.fullmatch(str(condition)):
        yield _Obstacle(f"the check passes where the {kind} is skipped; give it `if: always()`")


def _follows_checkout(step: WorkflowStep) -> bool:
    """Whether an earlier step of the job certainly checks out the pull request."""
    for earlier_step in step.job["steps"]:
        if earlier_step is step.step:
            return False
        if _checks_out_proposal(mapping_at(earlier_step)):
            return True
    return False


def _may_read(step: WorkflowStep, scope: str) -> bool:
    permissions = step.workflow.get("permissions", _DEFAULT_PERMISSIONS)
    if "permissions" in step.job:
        permissions = step.job["permissions"]
    if permissions in ("read-all", "write-all"):
        return True
    return mapping_at(permissions).get(scope) in ("read", "write")


def _checks_out_proposal(step: JsonObject) -> bool:
    """Whether a step certainly checks out the proposed commit into the folder of the configs."""
    inputs = mapping_at(step, "with")
    if "/checkout@" not in str(step.get("uses")) or step.get("if"):
        return False
    if inputs.get("path") or inputs.get("repository"):
        return False
    return bool(_PROPOSED_COMMIT.search(str(inputs.get("ref") or "github.sha")))


# --- what a step gives to the Action --------------------------------------------------------------------------------


class PlannedRun(FrozenStruct):
    """A run as a workflow starts it, planned on another machine."""

    settings: Settings
    environ: NamedTexts

    def prepare(self) -> Preparation:
        """Plan the run, with or without its keys. Raises ConfigError."""
        return prepare(replace(build_context(self.settings, self.environ), keyless=True))


class StepSettings(FrozenStruct):
    """The inputs of a step, and the run that can be planned here; None if only the run names its configs."""

    action: ActionSettings
    run: PlannedRun | None


def read_step_settings(root: Path, step: WorkflowStep) -> StepSettings:
    """Read the settings that a step passes to the Action. ``root`` is the repository.

    A variable with an expression gets a stand-in, as if its secret were set. An input with an expression is left out.
    """
    environ = {}
    for level in (step.workflow, step.job, step.step):
        for name, text in _read_texts(level.get("env")).items():
            environ[name] = STAND_IN if EXPRESSION in text else text
    inputs = _read_texts(step.step.get("with"))
    for name, text in inputs.items():
        if text:
            variable = f"INPUT_{name.replace(' ', '_').upper()}"
            environ[variable] = "" if EXPRESSION in text else text
    environ.update(runner_variables(root))

    action = settings_from_inputs(environ, root)
    if EXPRESSION in inputs.get("config", "") or EXPRESSION in inputs.get("working-directory", ""):
        return StepSettings(action, None)

    run = replace(action.run, base_checkout="", baseline="", shard=None, merge="", allow_exec=False)
    if run.answers:
        # Another job makes the answers. No target is asked, so any can stand in.
        run = replace(run, answers=(), providers=("echo",))
    return StepSettings(action, PlannedRun(run, environ))


def runner_variables(root: Path) -> dict[str, str]:
    """The variables of GitHub's runner at a pull request that decide how a config is read."""
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_WORKSPACE": str(root),
    }


def mapping_at(value: Any, *path: str | int) -> JsonObject:
    """The mapping at a path of keys and indices; an empty one if there is no mapping."""
    for key in path:
        try:
            value = value[key]
        except (LookupError, TypeError):
            return {}
    return value if isinstance(value, Mapping) else {}


def _read_texts(mapping: Any) -> dict[str, str]:
    """Read a mapping as the runner passes it on, with numbers and booleans as text."""
    texts = {}
    for key, value in mapping_at(mapping).items():
        texts[str(key)] = "" if value is None else str(value)
    return texts
