"""The event that started the workflow: its pull request, its commits and its repositories, read from the runner's files."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from gradegate.security.environment import TRUSTED_EVENTS
from gradegate.structs import replace

LARGEST = 32 * 1024 * 1024  # bytes of an event file; GitHub's limit is 25 MB
# Events for which a run of Dependabot gets no secrets but its own:
# https://docs.github.com/code-security/dependabot/working-with-dependabot/dependabot-on-actions
_WITHHELD = frozenset(
    "create deployment deployment_status pull_request pull_request_review pull_request_review_comment push".split()
)
_Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")]


@dataclass(frozen=True, slots=True)
class Person:
    """An account. Its id stays the same if its name changes."""

    login: str = ""
    id: int | None = None


@dataclass(frozen=True, slots=True)
class PrecedingRun:
    """The run before a ``workflow_run``: its event, and the commit, branch and account that it ran for."""

    event: str
    sha: str
    branch: str
    owner: str


@dataclass(frozen=True, slots=True)
class Event:
    """An event. Fields that it does not have are empty."""

    name: str = ""
    repository: str = ""  # where the workflow runs: owner/name
    number: int | None = None  # of the pull request
    head_sha: str = ""
    base_sha: str = ""
    head_repository: str = ""  # owner/name; empty if the fork was deleted
    base_repository: str = ""
    actor: str = ""  # the login of who started the run
    action: str = ""  # what happened to the pull request: "opened", "synchronize", "labeled"
    label: str = ""  # the label that was set, if the action is "labeled"
    author: Person = Person()  # who opened the pull request
    sender: Person = Person()  # who caused the event
    # When GitHub last changed the pull request before the event: never before its head
    updated: datetime | None = None
    stage: PrecedingRun | None = None
    ref: str = ""  # of the workflow run: "refs/heads/main"
    default_branch: str = ""  # of the repository
    problem: str = ""  # why the event file could not be read; empty if it could

    @property
    def is_fork(self) -> bool:
        """Whether the pull request comes from another repository."""
        return (
            self.number is not None and self.head_repository.lower() != self.base_repository.lower()
        )

    @property
    def is_default_branch(self) -> bool:
        """Whether the event is a push to the default branch, its schedule, or a start by hand there."""
        if not self.default_branch or self.name not in TRUSTED_EVENTS:
            return False
        return self.ref == f"refs/heads/{self.default_branch}"

    @property
    def outsider(self) -> str:
        """An author to whom GitHub gives no secrets and only a read token. An empty string for others, and if the base runs."""
        if self.name == "pull_request_target":
            return ""
        if self.is_fork:
            return "a fork"
        if self.actor == "dependabot[bot]" and self.name in _WITHHELD:
            return "Dependabot"
        return ""


def read_event(environ: Mapping[str, str]) -> Event:
    """The event that the runner describes. A file that cannot be read becomes its ``problem``, never an exception."""
    payload, problem = _read_payload(environ.get("GITHUB_EVENT_PATH", ""))
    ref = environ.get("GITHUB_REF", "")

    # What the runner says about every event
    event = Event(
        name=environ.get("GITHUB_EVENT_NAME", ""),
        repository=environ.get("GITHUB_REPOSITORY", ""),
        head_sha=environ.get("GITHUB_SHA", ""),
        actor=environ.get("GITHUB_ACTOR", ""),
        ref=ref,
        default_branch=payload.repository.default_branch,
    )
    if event.name == "schedule":  # runs at the default branch, and its payload names no repository
        event = replace(event, default_branch=ref.removeprefix("refs/heads/"))

    # What only some events have
    pull = payload.pull_request
    if pull is not None:
        return _with_pull_request(event, payload, pull)
    group = payload.merge_group
    if group is not None:
        return replace(event, head_sha=group.head_sha, base_sha=group.base_sha)
    run = payload.workflow_run
    if run is not None:
        return replace(event, stage=_preceding_run(run))
    before = payload.before or ""
    return replace(
        event,
        head_sha=payload.after or event.head_sha,
        base_sha=before if before.strip("0") else "",  # all zeros: the branch is new
        problem=problem,
    )


# --- the file of the event --------------------------------------------------------------------------------------


class _Repository(BaseModel):
    full_name: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]


class _WorkflowRepository(BaseModel):
    """The repository that the workflow runs in."""

    default_branch: str = ""


class _PullRequestSide(BaseModel):
    """The head or the base of a pull request."""

    sha: _Sha
    repo: _Repository | None = None  # None: the fork was deleted


class _Label(BaseModel):
    name: str = ""


class _PullRequest(BaseModel):
    number: Annotated[int, Field(gt=0)]
    head: _PullRequestSide
    base: _PullRequestSide
    user: Person | None = None
    updated_at: AwareDatetime | None = None


class _MergeGroup(BaseModel):
    """Several pull requests in a merge queue, as one commit."""

    head_sha: _Sha
    base_sha: _Sha


class _Owner(BaseModel):
    login: Annotated[str, Field(pattern=r"^[\w.-]+$")]


class _ForkRepository(BaseModel):
    """The repository that a preceding run ran for."""

    owner: _Owner


class _WorkflowRun(BaseModel):
    """The run before a ``workflow_run``."""

    event: str
    head_sha: _Sha
    head_branch: str | None = None
    head_repository: _ForkRepository | None = None  # that of a fork may be gone


class _Payload(BaseModel):
    """The parts of an event file that are read. Most events have only some of them."""

    repository: _WorkflowRepository = _WorkflowRepository()
    workflow_run: _WorkflowRun | None = None
    action: str | None = None
    label: _Label | None = None
    sender: Person | None = None
    pull_request: _PullRequest | None = None
    merge_group: _MergeGroup | None = None
    before: _Sha | None = None
    after: _Sha | None = None


def _with_pull_request(event: Event, payload: _Payload, pull: _PullRequest) -> Event:
    """The event with its pull request, and what happened to that."""
    head_repository = ""  # the fork was deleted
    if pull.head.repo is not None:
        head_repository = pull.head.repo.full_name
    base_repository = event.repository
    if pull.base.repo is not None:
        base_repository = pull.base.repo.full_name
    label = payload.label or _Label()
    return replace(
        event,
        number=pull.number,
        head_sha=pull.head.sha,
        base_sha=pull.base.sha,
        head_repository=head_repository,
        base_repository=base_repository,
        action=payload.action or "",
        label=label.name,
        author=pull.user or Person(),
        sender=payload.sender or Person(),
        updated=pull.updated_at,
    )


def _preceding_run(run: _WorkflowRun) -> PrecedingRun | None:
    """The run before this one; None if its branch or its repository is gone."""
    if not run.head_branch or not run.head_repository:
        return None
    owner = run.head_repository.owner.login
    return PrecedingRun(run.event, run.head_sha, run.head_branch, owner)


def _read_payload(path: str) -> tuple[_Payload, str]:
    """The content of an event file, and why it cannot be read. The reason is empty if it can."""
    if not path:
        return _Payload(), "GITHUB_EVENT_PATH is not set"
    try:
        with Path(path).open("rb") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            return _Payload(), f"the event file {path} is larger than {LARGEST >> 20} MiB"
        return _Payload.model_validate_json(text), ""
    except OSError as e:
        return _Payload(), f"the event file {path} cannot be read: {e.strerror or e}"
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the top"
        return (
            _Payload(),
            f"the event file {path} is not what GitHub sends: {first['msg']} at {place}",
        )
