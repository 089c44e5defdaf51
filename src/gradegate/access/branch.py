"""Whose a run on GitHub is: the default branch's own, whose writing others may believe, or that of a fork."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LARGEST = 32 * 1024 * 1024  # GitHub caps a webhook payload at 25 MB
# Started by somebody who may write, at what is merged. `workflow_run`, `issue_comment` and their like run at the default
# branch, too, and are started by anybody; `pull_request_target` has the base's ref and the pull request's files.
OWN = ("push", "workflow_dispatch")


def is_default_branch(environ: Mapping[str, str]) -> bool:
    """Whether the event is a push to the default branch, its schedule, or started there by hand."""
    event, ref = environ.get("GITHUB_EVENT_NAME", ""), environ.get("GITHUB_REF", "")
    if event == "schedule":  # runs at the default branch alone
        return True
    name = _default_branch(environ)
    return event in OWN and name != "" and ref == f"refs/heads/{name}"


def is_fork(environ: Mapping[str, str]) -> bool | None:
    """Whether the event's pull request comes from another repository; None where the event does not say."""
    try:
        pull = _payload(environ)["pull_request"]
        base, head = pull["base"]["repo"]["full_name"], (pull["head"]["repo"] or {}).get("full_name")
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    if not isinstance(base, str) or not isinstance(head, str | None):
        return None
    return head is None or head.lower() != base.lower()  # a fork that was deleted has none


def _default_branch(environ: Mapping[str, str]) -> str:
    """The name that the event gives; an empty string where it gives none."""
    try:
        name = _payload(environ)["repository"]["default_branch"]
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return ""
    return name if isinstance(name, str) else ""


def _payload(environ: Mapping[str, str]) -> Any:
    with Path(environ.get("GITHUB_EVENT_PATH", "")).open("rb") as file:
        return json.loads(file.read(LARGEST))
