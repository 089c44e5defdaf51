"""Whether a run on GitHub is the default branch's own: what it writes may be believed by others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

LARGEST = 32 * 1024 * 1024  # GitHub caps a webhook payload at 25 MB
# Started by somebody who may write, at what is merged. `workflow_run`, `issue_comment` and their like run at the default
# branch, too, and are started by anybody; `pull_request_target` has the base's ref and the pull request's files.
OWN = ("push", "workflow_dispatch")


def is_default_branch(environ: Mapping[str, str]) -> bool:
    """Whether the event is a push to the default branch, its schedule, or started there by hand."""
    event, ref = environ.get("GITHUB_EVENT_NAME", ""), environ.get("GITHUB_REF", "")
    if event == "schedule":  # runs at the default branch alone
        return True
    name = _default_branch(environ.get("GITHUB_EVENT_PATH", ""))
    return event in OWN and name != "" and ref == f"refs/heads/{name}"


def _default_branch(path: str) -> str:
    """The name that the event gives; an empty string where it gives none."""
    try:
        with Path(path).open("rb") as file:
            payload = json.loads(file.read(LARGEST))
        name = payload["repository"]["default_branch"]
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return ""
    return name if isinstance(name, str) else ""
