"""The steps of a repository's workflows that run the Action, as the files have them. Nothing of them is evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files import document
from gradegate.files.workspace import Workspace

FOLDER = Path(".github") / "workflows"
_USES = re.compile(r"[^/@\s]+/gradegate(?:/container)?@\S+", re.IGNORECASE)
MOST = 500  # files


@dataclass(frozen=True, slots=True)
class ActionStep:
    """One step with ``uses: .../gradegate@...``.

    ``events`` are those of its workflow with their filters. ``env`` is that of workflow, job and step, the nearest last.
    ``rights`` is the text or mapping that applies to the job, None where nobody wrote any. ``checkouts`` are the paths that steps
    before it check out to.
    """

    origin: Origin
    job: str
    uses: str
    events: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    rights: Any = None
    condition: str = ""
    checkouts: tuple[str, ...] = ()


def action_steps(root: Path) -> tuple[list[ActionStep], list[Mistake]]:
    """The steps of all workflows of a repository, in the order of their files, and what could not be read."""
    workspace = Workspace(root)
    steps: list[ActionStep] = []
    mistakes: list[Mistake] = []
    folder = root / FOLDER
    paths = sorted(path for path in folder.glob("*") if path.suffix in (".yml", ".yaml")) if folder.is_dir() else []
    for path in paths[:MOST]:
        name = path.relative_to(root).as_posix()
        try:
            content = document.read(workspace.read(str(path), root, Origin(name)), name)
            steps += _steps(content, name)
        except ConfigError as e:
            mistakes += e.mistakes
    return steps, mistakes


def _steps(workflow: Any, name: str) -> Iterator[ActionStep]:
    """What is not of the form of a workflow is passed over: GitHub says so better."""
    jobs = _mapping(_mapping(workflow).get("jobs"))
    for job_name, job in jobs.items():
        steps = _mapping(job).get("steps")
        checkouts: list[str] = []
        for number, step in enumerate(steps if isinstance(steps, list) else []):
            uses = str(_mapping(step).get("uses") or "")
            given = _texts(_mapping(step).get("with"))
            if uses.startswith("actions/checkout@"):
                checkouts.append(given.get("path", "."))
            if _USES.fullmatch(uses):
                env = {**_texts(workflow.get("env")), **_texts(job.get("env")), **_texts(step.get("env"))}
                yield ActionStep(
                    Origin(name, document.line_of(workflow, ["jobs", job_name, "steps", number, "uses"])),
                    str(job_name),
                    uses,
                    _events(workflow.get("on")),
                    given,
                    env,
                    job.get("permissions", workflow.get("permissions")),
                    " and ".join(str(it["if"]) for it in (job, step) if it.get("if") is not None),
                    tuple(checkouts),
                )


def _events(on: Any) -> Mapping[str, Any]:
    if isinstance(on, str):
        return {on: None}
    if isinstance(on, list):
        return {str(event): None for event in on}
    return _mapping(on)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> dict[str, str]:
    """A mapping as the runner passes it on: numbers and truth values as texts."""
    return {str(key): "" if text is None else str(text) for key, text in _mapping(value).items()}
