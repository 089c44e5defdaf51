"""What the workflows of a repository do on a pull request: which jobs run gradegate, whether they block, what forks get."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradegate.commands.choices import NO_COMMIT
from gradegate.errors import ConfigError, Origin
from gradegate.files import document
from gradegate.files.workspace import Workspace
from gradegate.github.action import TARGET
from gradegate.github.inputs import KEYS, from_inputs
from gradegate.options import worded
from gradegate.steps.preparation import STAND_IN, prepare_without_keys
from gradegate.structs import replace
from gradegate.values.figures import many
from gradegate.values.settings import ActionSettings, Settings

USES = re.compile(r"[^/@\s]+/gradegate(?:/container)?@\S+", re.IGNORECASE)
_OPEN = "${{"
_MOST = 500  # files


def outlook(root: Path) -> tuple[list[str], list[str]]:
    """What is said of the workflows, a line each, and what keeps them from running. Makes no call and runs no code."""
    lines, problems = list[str](), list[str]()
    for path in sorted((root / ".github" / "workflows").glob("*.y*ml"))[:_MOST]:
        name = path.relative_to(root).as_posix()
        try:
            workflow = document.read(Workspace(root).read(str(path), root, Origin(name)), name)
        except ConfigError as e:
            problems += map(str, e.mistakes)
            continue
        for job_name, job in _mapping(_mapping(workflow).get("jobs")).items():
            steps = _mapping(job).get("steps")
            for number, step in enumerate(steps if isinstance(steps, list) else []):
                uses = str(_mapping(step).get("uses") or "")
                if USES.fullmatch(uses):
                    line = document.line_of(workflow, ["jobs", job_name, "steps", number, "uses"])
                    lines.append(f"{name}:{line}, job {job_name}:")
                    said, wrong = _told(root, workflow, job, step)
                    if uses.endswith(f"@{NO_COMMIT}"):
                        wrong.append(f"`{uses}` is a placeholder -> put the commit of a release in place of the zeros")
                    lines += [f"  {title:10}{text}" for title, text in said]
                    problems += [f"{name}:{line}: {text}" for text in wrong]
    if not lines and not problems:
        problems.append("no workflow uses gradegate -> `gradegate init` writes one")
    # One line each: what a workflow says may not pass for what is said of it.
    return [" ".join(line.splitlines()) for line in lines], [" ".join(problem.splitlines()) for problem in problems]


def _told(root: Path, workflow: Any, job: Any, step: Any) -> tuple[list[tuple[str, str]], list[str]]:
    """Titles and texts of one step, and its problems."""
    on = workflow.get("on")
    events: Mapping[str, Any] = {on: None} if isinstance(on, str) else dict.fromkeys(map(str, on)) if isinstance(on, list) else _mapping(on)
    asked = [event for event in events if event.startswith("pull_request")]
    if not asked:
        return [("runs", f"not on a pull request, but on {', '.join(events) or 'nothing'}")], []
    filters = {
        event: [f"{key}: {', '.join(map(str, it)) if isinstance(it, list) else it}" for key, it in _mapping(events[event]).items()]
        for event in asked
    }
    said = [("runs", " and ".join(f"on {event}" + (f" ({'; '.join(parts)})" if parts else "") for event, parts in filters.items()))]
    said += [("", TARGET)] if "pull_request_target" in events else []
    said += [("only if", str(it["if"])) for it in (job, step) if it.get("if") is not None]
    action, run = step_settings(root, workflow, job, step)
    wrong = [worded(str(mistake), inputs=True) for mistake in action.mistakes]
    if run is None:
        return [*said, ("configs", "known only when the workflow runs; see `gradegate validate CONFIG`")], wrong
    try:
        prepared, missing = prepare_without_keys(run)
    except ConfigError as e:
        if action.run.allow_exec:  # on the runner the code has leave, and here it has none
            return [*said, ("configs", f"not known here, because no code runs: {e.mistakes[0].what}")], wrong
        return said, [*wrong, *(worded(str(mistake), inputs=True) for mistake in e.mistakes)]
    plan = prepared.shown_plan
    said.append(("configs", f"{', '.join(plan.digests)}: {many(plan.answers, 'answer')}, {many(plan.assertions, 'assertion')}"))
    blocking = sum(rule.blocking for policy in prepared.plan.policies for rule in policy.rules)
    counts = any(binding.asserted.counts for job in prepared.plan.jobs for binding in job.assertions)
    # What becomes of pull requests whose workflow GitHub gives no secrets.
    ends = "passes (on-missing-secrets: neutral)" if action.on_missing_secrets == "neutral" else "fails with exit code 3"
    forks = f"not run, because GitHub gives them no secrets: the check {ends}; docs/github-forks.md shows a workflow in two stages"
    if "pull_request" not in events:
        forks = "see docs/github-events.md"
    elif not prepared.plan.keys:
        forks = "run like any other, because no key is needed; no comment, because their token is read-only"
    yes = f"yes, by {many(blocking, 'rule')}: the check fails when one is missed"
    said += [("blocks", yes if counts and blocking else "no: every rule or every assertion only advises"), ("forks", forks)]
    cure = "and the step does not pass it -> `env: {0}: ${{{{ secrets.{0} }}}}`"
    return said, [*wrong, *(f"the run needs {name}, {cure.format(name)}" for name in sorted(missing))]


def step_settings(root: Path, workflow: Any, job: Any, step: Any) -> tuple[ActionSettings, Settings | None]:
    """What a step of a workflow gives to the Action, and what of that is planned here: None where only the run names its configs."""
    env = {**_texts(workflow.get("env")), **_texts(job.get("env")), **_texts(step.get("env"))}
    inputs = _texts(step.get("with"))
    # The variables of the process on the runner. A secret is taken to be there; another expression is left out.
    environ = {name: STAND_IN if _OPEN in text else text for name, text in env.items()}
    given = {name: STAND_IN if name in KEYS else "" if _OPEN in text else text for name, text in inputs.items() if text}
    environ |= {f"INPUT_{name.replace(' ', '_').upper()}": text for name, text in given.items()}
    action = from_inputs(environ | runner(root), root)
    if any(_OPEN in inputs.get(name, "") for name in ("config", "working-directory")):
        return action, None
    run = replace(action.run, base="", baseline="", history="", compare="", shard=None, merge="", open="", allow_exec=False)
    # Answers of another job are not there yet; whoever gives them, no target is asked.
    return action, replace(run, answers=(), providers=("echo",)) if run.answers else run


def runner(root: Path) -> dict[str, str]:
    """The variables of a runner at a pull request that decide how a config is read; ``root`` is the repository."""
    return {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_WORKSPACE": str(root)}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> dict[str, str]:
    """A mapping as the runner passes it on: numbers and truth values as texts."""
    return {str(key): "" if text is None else str(text) for key, text in _mapping(value).items()}
