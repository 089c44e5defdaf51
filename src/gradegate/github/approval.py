"""Whether a person approved what a pull request does to its gate: by a label, set after its head was pushed.

The dates of commits are the author's own, and the timeline sorts commits by them, so neither is looked at. What GitHub
itself writes is: when a label was set and by whom, when a branch was forced to another commit, and the event of the run,
which knows the head that it is about and until when at the latest that had been pushed. A head that moves on without force
starts runs of its own.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ValidationError

from gradegate.github.client import GitHub, Never, as_json, patiently, said
from gradegate.github.event import Event, Person
from gradegate.values.account import Approval

PER_PAGE = 100
MOST_PAGES = 300
# After these, what a label approved of is not what is there.
_MOVES = ("head_ref_force_pushed", "head_ref_restored", "base_ref_changed", "base_ref_force_pushed", "automatic_base_change_succeeded")
_EVENTS = ("pull_request", "pull_request_target")
_PUSHES = ("opened", "reopened", "synchronize")  # what somebody does who brings a head


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


@dataclass(frozen=True, slots=True)
class _Set:
    """The label as somebody set it."""

    by: _User
    at: datetime


def approval(github: GitHub, event: Event, label: str, commits: Container[str], checked_out: str) -> Approval:
    """By whom the head was approved with that label, or why it was not. Whatever goes wrong approves nothing.

    ``commits`` are those that the event is about, ``checked_out`` is the one in the work tree.
    """
    if not label:
        return Approval(why="the workflow sets no label for approval (input `approve-label`)")
    if event.name not in _EVENTS or event.number is None or event.updated is None or not event.author.login:
        return Approval(why=f"the event {event.name or 'of this run'} does not name the pull request that a label could approve")
    if not checked_out or checked_out not in commits:
        why = f"the checkout is at {checked_out or 'an unknown commit'}, and a label approves only the head"
        return Approval(why=why)
    if not github.token:
        return Approval(why=f"gradegate cannot look for the label `{label}`: the input `github-token` is empty")
    try:
        items = patiently(github, lambda: list(_timeline(github, event)))
    except Never as e:
        return Approval(why=f"gradegate cannot look for the label `{label}`: {e}")
    # The label as it is on the pull request now, and when and by whom the head was last forced elsewhere.
    last: _Set | None = None
    moved: datetime | None = None
    pusher: _User | None = None
    dated = [(item.created_at, item) for item in items if item.created_at is not None]
    for at, item in sorted(dated, key=lambda pair: pair[0]):
        named = item.label is not None and item.label.name.lower() == label.lower()
        if item.event == "labeled" and named and item.actor is not None:
            last = _Set(item.actor, at)
        elif item.event in ("labeled", "unlabeled") and named:
            last = None
        elif item.event in _MOVES:
            moved, pusher = at, item.actor
    if last is None or event.updated is None:
        return Approval(why=f"nobody set the label `{label}`")
    if last.by.type != "User":
        return Approval(why=f"the label `{label}` was set by {last.by.login}, which is not a person")
    if _is(last.by, event.author):
        return Approval(why=f"the label `{label}` was set by {last.by.login}, who opened the pull request")
    # The event of the label itself names the head that it was set on.
    on_this_head = event.action == "labeled" and event.label.lower() == label.lower()
    if (moved is not None and last.at <= moved) or (last.at <= event.updated and not on_this_head):
        return Approval(why=f"the label `{label}` was set before the head was pushed; set it again")
    if (event.action in _PUSHES and _is(last.by, event.sender)) or (pusher is not None and _is(last.by, pusher)):
        return Approval(why=f"the label `{label}` was set by {last.by.login}, who pushed the head")
    return Approval(f"the label `{label}` of {last.by.login}")


def _is(user: _User, other: Person | _User) -> bool:
    """Whether both are one account, whatever it is called by now."""
    same_id = user.id is not None and user.id == other.id
    return same_id or user.login.lower() == other.login.lower()


def _timeline(github: GitHub, event: Event) -> Iterator[_Item]:
    """Everything that happened to the pull request. Raises Later and Never."""
    address = f"{github.api}/repos/{event.repository}/issues/{event.number}/timeline"
    for page in range(1, MOST_PAGES + 1):
        answer = github.send("GET", f"{address}?per_page={PER_PAGE}&page={page}")
        if answer.status != 200:
            cure = "give the job `permissions: pull-requests: read` or `write`"
            raise Never(f"the timeline of pull request {event.number} cannot be read ({answer.status}: {said(answer)}); {cure}")
        items = as_json(answer)
        if not isinstance(items, list):
            raise Never(f"{answer.host} answered something that is not a timeline")
        yield from map(_item, items)
        if 'rel="next"' not in answer.headers.get("link", "") and len(items) < PER_PAGE:
            return
    raise Never(f"the timeline of pull request {event.number} has more than {MOST_PAGES} pages")


def _item(written: object) -> _Item:
    """An item; one of a kind that we do not know says nothing, one of ours that cannot be read raises Never."""
    if not isinstance(written, dict) or written.get("event") not in ("labeled", "unlabeled", *_MOVES):
        return _Item()
    try:
        item = _Item.model_validate(written)
    except ValidationError as e:
        raise Never("the timeline has an item that cannot be read") from e
    if item.created_at is None or item.created_at.tzinfo is None:
        raise Never("the timeline has an item without a date")
    return item
