"""What tells a gate from the others on its pull request: its job with the values of its matrix, and its configs.

Comments and artifacts are kept apart by it, so that no job overwrites what another one left.
"""

import hashlib
import json
import os
import re
from typing import Any

from gradegate.config.load import DEFAULT_CONFIGS
from gradegate.core.settings import ActionSettings, Settings
from gradegate.structs import NamedTexts

MATRIX = "GRADEGATE_MATRIX"  # the context `matrix` as JSON; action.yml sets it
WORKFLOW = re.compile(
    r"(?P<repository>[^/]+/[^/]+)/(?P<path>\.github/workflows/(?P<file>[^/@]+))@.+", re.DOTALL
)


def key_of_gate(settings: Settings, environ: NamedTexts) -> str:
    """``JOB.CONFIGS``, a hash each: what they are made of may be long and hold any character.

    JOB stands for the workflow, the job and the values of its matrix; CONFIGS for the configs as the step names them.
    """
    job = [workflow_file(environ), environ.get("GITHUB_JOB", ""), _matrix(environ)]
    root = environ.get("GITHUB_WORKSPACE") or settings.cwd
    configs = settings.configs or DEFAULT_CONFIGS[:1]
    return f"{_hashed(job)}.{_hashed(sorted(os.path.relpath(settings.cwd / name, root) for name in configs))}"


def shown_gate(settings: ActionSettings, environ: NamedTexts) -> str:
    """The gate as its comment names it: the input `comment-key`, else the job with its matrix, as GitHub shows it."""
    values = ", ".join(
        json.loads(text) if text.startswith('"') else text for text in _matrix(environ).values()
    )
    job = environ.get("GITHUB_JOB", "")
    return settings.comment_key or (f"{job} ({values})" if values else job)


def workflow_file(environ: NamedTexts) -> str:
    """The name of the file of the workflow; an empty string where the runner does not say it."""
    workflow = WORKFLOW.fullmatch(environ.get("GITHUB_WORKFLOW_REF", ""))
    return workflow["file"] if workflow else ""


def _matrix(environ: NamedTexts) -> NamedTexts:
    """The values of the job's matrix as JSON; empty if unreadable."""
    try:
        values = json.loads(environ.get(MATRIX, ""))
        return {
            name: json.dumps(value, ensure_ascii=False, sort_keys=True)
            for name, value in values.items()
        }
    except (ValueError, AttributeError, RecursionError):
        return {}


def _hashed(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
