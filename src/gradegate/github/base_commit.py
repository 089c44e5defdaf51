"""The pull request behind a ``workflow_run``: the first stage ran for it, and the second one reports to it.

Nothing that the first stage left is asked: the event, which GitHub writes, says which commit of which branch it ran for, and GitHub
says which open pull request has that commit as its head. ``workflow_run.pull_requests`` is empty for forks.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from gradegate.github.client import GitHub, Never, as_json, patiently, said
from gradegate.github.event import Event

# https://docs.github.com/rest/pulls/pulls#list-pull-requests: `head` is `user:branch`
PER_PAGE = 100


class _Head(BaseModel):
    sha: str


class _Pull(BaseModel):
    number: int
    head: _Head


def with_pull_request(github: GitHub, event: Event) -> Event:
    """The event with the number of its pull request; where there is none, ``problem`` says why."""
    if event.name != "workflow_run" or event.stage is None or not event.stage.event.startswith("pull_request"):
        return event
    if not github.token:
        return event
    try:
        numbers = patiently(github, lambda: _numbers(github, event))
    except Never as e:
        return replace(event, problem=f"gradegate cannot look for the pull request of the first stage: {e}")
    if len(numbers) != 1:
        why = "no open pull request has" if not numbers else "several open pull requests have"
        return replace(event, problem=f"{why} the commit {event.stage.sha} as the head, which the first stage ran for")
    return replace(event, number=numbers[0])


def _numbers(github: GitHub, event: Event) -> list[int]:
    assert event.stage is not None
    head = quote(f"{event.stage.owner}:{event.stage.branch}", safe="")
    answer = github.send("GET", f"{github.api}/repos/{event.repository}/pulls?state=open&head={head}&per_page={PER_PAGE}")
    if answer.status != 200:
        cure = "give the job `permissions: pull-requests: write`"
        raise Never(f"pull requests cannot be read ({answer.status}: {said(answer)}); {cure}")
    try:
        items = as_json(answer)
        pulls = [_Pull.model_validate(item) for item in (items if isinstance(items, list) else [None])]
    except ValidationError as e:
        raise Never("GitHub's list of pull requests cannot be read") from e
    return [pull.number for pull in pulls if pull.head.sha == event.stage.sha]
