"""Finds the pull request that a ``workflow_run`` was started for.

Nothing that the first stage left is trusted. The event, which GitHub writes, names the branch and the commit of the first stage, and
GitHub says which open pull request has that commit as its head. ``workflow_run.pull_requests`` is empty for forks.
"""

from urllib.parse import quote

from pydantic import AliasPath, BaseModel, Field, ValidationError

from gradegate.github.client import PER_PAGE, GitHub, Never, patiently
from gradegate.security.event import Event
from gradegate.structs import replace


class _Listed(BaseModel):
    number: int
    sha: str = Field(validation_alias=AliasPath("head", "sha"))


def with_pull_request(github: GitHub, event: Event) -> Event:
    """The event with the number of its pull request; where there is none, ``problem`` says why."""
    stage = event.stage
    if (
        event.name != "workflow_run"
        or stage is None
        or not stage.event.startswith("pull_request")
        or not github.token
    ):
        return event
    # https://docs.github.com/rest/pulls/pulls#list-pull-requests: `head` is `user:branch`
    head = quote(f"{stage.owner}:{stage.branch}", safe="")
    address = (
        f"{github.api}/repos/{event.repository}/pulls?state=open&head={head}&per_page={PER_PAGE}"
    )
    try:
        items = patiently(
            github, lambda: github.read_json(address, "pull requests", "pull-requests: write")
        )
        pulls = [
            _Listed.model_validate(item) for item in (items if isinstance(items, list) else [None])
        ]
    except (Never, ValidationError) as e:
        why = e if isinstance(e, Never) else "GitHub's list of pull requests cannot be read"
        return replace(
            event, problem=f"gradegate cannot look for the pull request of the first stage: {why}"
        )
    numbers = [pull.number for pull in pulls if pull.sha == stage.sha]
    if len(numbers) != 1:
        why = "no open pull request has" if not numbers else "several open pull requests have"
        return replace(
            event,
            problem=f"{why} the commit {stage.sha} as the head, which the first stage ran for",
        )
    return replace(event, number=numbers[0])
