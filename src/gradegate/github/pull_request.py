"""Finds the pull request that a ``workflow_run`` was started for.

Nothing that the first stage left is trusted. GitHub writes the event, which names the branch and the commit of the first stage, and
GitHub says which open pull request has that commit as its head. ``workflow_run.pull_requests`` is empty for forks.
"""

from urllib.parse import quote

from pydantic import AliasPath, BaseModel, Field, TypeAdapter, ValidationError

from gradegate.github.client import PER_PAGE, GitHub, GitHubError, retry_requests
from gradegate.security.event import Event
from gradegate.structs import replace


class _PullRequest(BaseModel):
    number: int
    sha: str = Field(validation_alias=AliasPath("head", "sha"))


_PULL_REQUESTS = TypeAdapter(list[_PullRequest])


def with_pull_request(github: GitHub, event: Event) -> Event:
    """The event with the number of its pull request. If there is none, ``problem`` says why."""
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
    url = f"{github.api}/repos/{event.repository}/pulls?state=open&head={head}&per_page={PER_PAGE}"
    failure = "gradegate cannot look for the pull request of the first stage"
    try:
        content = retry_requests(
            github, lambda: github.read_json(url, "pull requests", "pull-requests: write")
        )
        pull_requests = _PULL_REQUESTS.validate_python(content)
    except GitHubError as e:
        return replace(event, problem=f"{failure}: {e}")
    except ValidationError:
        problem = f"{failure}: GitHub's list of pull requests cannot be read"
        return replace(event, problem=problem)
    numbers = [pull.number for pull in pull_requests if pull.sha == stage.sha]
    if len(numbers) == 1:
        return replace(event, number=numbers[0])
    subject = "several open pull requests have" if numbers else "no open pull request has"
    problem = f"{subject} the commit {stage.sha} as the head, which the first stage ran for"
    return replace(event, problem=problem)
