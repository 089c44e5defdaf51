"""Whether a person approved a weaker gate: by a label that was set after the head was pushed.

Authors choose the dates of their commits, and GitHub sorts the timeline by these dates, so neither decides. Only what GitHub itself
writes decides: who set a label and when, when a branch was forced to another commit, and the event of the run. The event names the
head, and the latest time at which the head can have been pushed. A push without force starts a run of its own.
"""

from collections.abc import Container, Iterable, Iterator
from datetime import datetime
from functools import partial
from operator import attrgetter

from pydantic import BaseModel, ValidationError

from gradegate.github.client import (
    READ_RIGHTS,
    GitHub,
    GitHubError,
    User,
    explain_unreadable,
    retry_requests,
)
from gradegate.results.gate_changes import Approval
from gradegate.security.event import Event, Person

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


class _Label(BaseModel):
    name: str


class _Item(BaseModel):
    """A label that was set or removed, or one of ``_MOVES``."""

    event: str = ""
    created_at: datetime | None = None
    actor: User | None = None
    label: _Label | None = None


def find_approval(
    github: GitHub, event: Event, label: str, commits: Container[str], checked_out: str
) -> Approval:
    """Find out who approved the head with the label, or why nobody did. Nothing that goes wrong approves.

    ``commits`` are those of the event, ``checked_out`` is the commit in the work tree.
    """
    if not label:
        why = "the workflow sets no label for approval (input `approve-label`)"
    elif event.name not in _EVENTS or not (event.number and event.updated and event.author.login):
        name = event.name or "of this run"
        why = f"the event {name} does not name the pull request that a label could approve"
    elif not checked_out or checked_out not in commits:
        commit = checked_out or "an unknown commit"
        why = f"the checkout is at {commit}, and a label approves only the head"
    elif not github.token:
        why = f"gradegate cannot look for the label `{label}`: the input `github-token` is empty"
    else:
        try:
            items = retry_requests(github, lambda: list(_read_timeline(github, event)))
        except GitHubError as e:
            return Approval(why=f"gradegate cannot look for the label `{label}`: {e}")
        return _judge_timeline(items, event, label)
    return Approval(why=why)


def _judge_timeline(items: Iterable[_Item], event: Event, label: str) -> Approval:
    """Decide whether the label approves the head. ``items`` have a date, and may be in any order."""
    # Who set the label that is on the pull request now, and who last moved the head elsewhere.
    set_by: User | None = None
    set_at: datetime | None = None
    moved_by: User | None = None
    moved_at: datetime | None = None
    for item in sorted(items, key=attrgetter("created_at")):
        if item.event in _MOVES:
            moved_by = item.actor
            moved_at = item.created_at
        elif item.label and item.label.name.lower() == label.lower():
            set_by = item.actor if item.event == "labeled" else None
            set_at = item.created_at

    name = f"the label `{label}`"
    if not set_by or not set_at or not event.updated:
        return Approval(why=f"nobody set {name}")
    if set_by.type != "User":
        return Approval(why=f"{name} was set by {set_by.login}, which is not a person")
    if _is_same_account(set_by, event.author):
        return Approval(why=f"{name} was set by {set_by.login}, who opened the pull request")

    # An event about the label itself names the head that the label was set on.
    is_on_head = event.action == "labeled" and event.label.lower() == label.lower()
    was_moved = moved_at is not None and set_at <= moved_at
    if was_moved or (set_at <= event.updated and not is_on_head):
        return Approval(why=f"{name} was set before the head was pushed; set it again")

    pushers = (event.sender if event.action in _PUSHES else None, moved_by)
    if any(_is_same_account(set_by, pusher) for pusher in pushers if pusher):
        return Approval(why=f"{name} was set by {set_by.login}, who pushed the head")
    return Approval(f"{name} of {set_by.login}")


def _is_same_account(user: User, person: Person | User) -> bool:
    """Whether both are one account, also under a new name."""
    same_id = user.id is not None and user.id == person.id
    return same_id or user.login.lower() == person.login.lower()


def _read_timeline(github: GitHub, event: Event) -> Iterator[_Item]:
    """Yield the labels and moves of the pull request, each with its date. Raises GitHubError, also for one that cannot be read."""
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
