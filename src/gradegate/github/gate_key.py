"""What tells a gate from the others on its pull request: its job with the values of its matrix, and its configs.

The key keeps comments and artifacts apart, so that no job overwrites those of another.
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


def gate_key(settings: Settings, environ: NamedTexts) -> str:
    """``JOB.CONFIGS``, two hashes, because names may be long and contain any character.

    JOB stands for the workflow, the job and the values of its matrix, CONFIGS for the configs as the step names them.
    """
    job = [workflow_file(environ), environ.get("GITHUB_JOB", ""), _matrix(environ)]
    root = environ.get("GITHUB_WORKSPACE") or settings.cwd
    configs = settings.configs or DEFAULT_CONFIGS[:1]
    paths = sorted(os.path.relpath(settings.cwd / name, root) for name in configs)
    return f"{_short_hash(job)}.{_short_hash(paths)}"


def gate_title(settings: ActionSettings, environ: NamedTexts) -> str:
    """The gate as its comment names it: the input `comment-key`, or the job with its matrix, as GitHub shows it."""
    if settings.comment_key:
        return settings.comment_key
    job = environ.get("GITHUB_JOB", "")
    values = []
    for text in _matrix(environ).values():
        is_string = text.startswith('"')
        values.append(json.loads(text) if is_string else text)
    return f"{job} ({', '.join(values)})" if values else job


def workflow_file(environ: NamedTexts) -> str:
    """The file name of the workflow, or an empty string if the runner does not say it."""
    workflow = WORKFLOW.fullmatch(environ.get("GITHUB_WORKFLOW_REF", ""))
    return workflow["file"] if workflow else ""


def _matrix(environ: NamedTexts) -> NamedTexts:
    """The values of the job's matrix as JSON. Empty if they cannot be read."""
    texts = {}
    try:
        values = json.loads(environ.get(MATRIX, ""))
        for name, value in values.items():
            texts[name] = json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (ValueError, AttributeError, RecursionError):
        return {}
    return texts


def _short_hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
