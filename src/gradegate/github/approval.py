"""Whether a person approved a weaker gate: by a label that was set after the head was pushed.

Authors choose the dates of their commits, and GitHub sorts the timeline by these dates, so neither decides. Only what GitHub itself
writes decides: who set a label and when, when a branch was forced to another commit, and the event of the run. The event names the
head, and the latest time at which the head can have been pushed. A push without force starts a run of its own.
"""

from collections.abc import Container, Iterable, Iterator
from datetime import datetime
from functools import partial

from pydantic import BaseModel, ValidationError

from gradegate.github.client import (
    READ_RIGHTS,
    GitHub,
    GitHubError,
    explain_unreadable,
    retry_requests,
)
from gradegate.results.gate_changes import Approval
from gradegate.security.event import Event, Person
from gradegate.structs import Struct

# After these events a pull request has other commits than a label approved.
_MOVES = (
    "head_ref_force_pushed",
    "head_ref_restored",
    "base_ref_changed",
    "base_ref_force_pushed",
    "automatic_base_change_succeeded",
)
_EVENTS = ("pull_request", "pull_request_target")
_PUSHES = ("opened", "reopened", "synchronize")  # actions of the person who pushed the head


class _User(BaseModel):
    login: str
    id: int | None = None
    type: str = ""


class _Label(BaseModel):
    name: str


class _Item(BaseModel):
    event: str = ""
    created_at: datetime | None = None
    actor: _User | None = None
    label: _Label | None = None


class _Labelling(Struct):
    """Who last set the label that is on the pull request, and who last forced the head elsewhere, with the times."""

    by: _User | None = None
    set_at: datetime | None = None
    moved_by: _User | None = None
    moved_at: datetime | None = None


def find_approval(
    github: GitHub, event: Event, label: str, commits: Container[str], checked_out: str
) -> Approval:
    """Find out who approved the head with the label, or why nobody did. Nothing that goes wrong approves.

    ``commits`` are those of the event, ``checked_out`` is the commit in the work tree.
    """
    why = _reason_not_to_look(github, event, label, commits, checked_out)
    if why:
        return Approval(why=why)
    try:
        items = retry_requests(github, lambda: list(_read_timeline(github, event)))
    except GitHubError as e:
        return Approval(why=f"gradegate cannot look for the label `{label}`: {e}")

    labelling = _last_labelling(items, label)
    by, set_at = labelling.by, labelling.set_at
    if by is None or set_at is None or event.updated is None:
        return Approval(why=f"nobody set the label `{label}`")
    if by.type != "User":
        return Approval(why=f"the label `{label}` was set by {by.login}, which is not a person")
    if _is_same_account(by, event.author):
        why = f"the label `{label}` was set by {by.login}, who opened the pull request"
        return Approval(why=why)
    # An event about the label itself names the head that the label was set on.
    is_on_head = event.action == "labeled" and event.label.lower() == label.lower()
    was_moved = labelling.moved_at is not None and set_at <= labelling.moved_at
    if was_moved or (set_at <= event.updated and not is_on_head):
        return Approval(why=f"the label `{label}` was set before the head was pushed; set it again")
    pushers = [event.sender] if event.action in _PUSHES else []
    if any(_is_same_account(by, pusher) for pusher in (*pushers, labelling.moved_by) if pusher):
        return Approval(why=f"the label `{label}` was set by {by.login}, who pushed the head")
    return Approval(f"the label `{label}` of {by.login}")


def _reason_not_to_look(
    github: GitHub, event: Event, label: str, commits: Container[str], checked_out: str
) -> str:
    """Why no label can approve the head. Empty if one can."""
    if not label:
        return "the workflow sets no label for approval (input `approve-label`)"
    if (
        event.name not in _EVENTS
        or event.number is None
        or event.updated is None
        or not event.author.login
    ):
        name = event.name or "of this run"
        return f"the event {name} does not name the pull request that a label could approve"
    if not checked_out or checked_out not in commits:
        commit = checked_out or "an unknown commit"
        return f"the checkout is at {commit}, and a label approves only the head"
    if not github.token:
        return f"gradegate cannot look for the label `{label}`: the input `github-token` is empty"
    return ""


def _last_labelling(items: Iterable[_Item], label: str) -> _Labelling:
    labelling = _Labelling()
    dated = [(item.created_at, item) for item in items if item.created_at is not None]
    for time, item in sorted(dated, key=lambda pair: pair[0]):
        if item.event in _MOVES:
            labelling.moved_by = item.actor
            labelling.moved_at = time
        elif item.label is not None and item.label.name.lower() == label.lower():
            is_set = item.event == "labeled" and item.actor is not None
            labelling.by = item.actor if is_set else None
            labelling.set_at = time
    return labelling


def _is_same_account(user: _User, person: Person | _User) -> bool:
    """Whether both are one account, also under a new name."""
    same_id = user.id is not None and user.id == person.id
    return same_id or user.login.lower() == person.login.lower()


def _read_timeline(github: GitHub, event: Event) -> Iterator[_Item]:
    """Yield the labels and moves of the pull request. Raises GitHubError, also for one that cannot be read."""
    subject = f"the timeline of pull request {event.number}"
    address = f"{github.api}/repos/{event.repository}/issues/{event.number}/timeline"
    explain = partial(explain_unreadable, subject=subject, permissions=READ_RIGHTS)
    for content in github.list_items(address, subject, "a timeline", explain):
        kind = content.get("event") if isinstance(content, dict) else None
        if kind not in ("labeled", "unlabeled", *_MOVES):
            continue
        try:
            item = _Item.model_validate(content)
        except ValidationError as e:
            raise GitHubError("the timeline has an item that cannot be read") from e
        if item.created_at is None or item.created_at.tzinfo is None:
            raise GitHubError("the timeline has an item without a date")
        yield item
