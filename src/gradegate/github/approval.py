"""Whether a person approved a weaker gate: by a label that was set after the head was pushed.

Authors choose the dates of their commits, and GitHub sorts the timeline by these dates, so neither decides. What GitHub itself
writes decides: who set a label and when, when a branch was forced to another commit, and the event of the run, which names the
head and the latest time at which it can have been pushed. A push without force starts a run of its own.
"""

from collections.abc import Container, Iterator
from datetime import datetime
from functools import partial

from pydantic import BaseModel, ValidationError

from gradegate.github.client import READ_RIGHTS, GitHub, Never, patiently, unreadable
from gradegate.results.gate_changes import Approval
from gradegate.security.event import Event, Person

# After these, what a label approved of is not what is there.
_MOVES = (
    "head_ref_force_pushed",
    "head_ref_restored",
    "base_ref_changed",
    "base_ref_force_pushed",
    "automatic_base_change_succeeded",
)
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


def approval(
    github: GitHub, event: Event, label: str, commits: Container[str], checked_out: str
) -> Approval:
    """By whom the head was approved with that label, or why it was not. Whatever goes wrong approves nothing.

    ``commits`` are those that the event is about, ``checked_out`` is the one in the work tree.
    """
    if not label:
        return Approval(why="the workflow sets no label for approval (input `approve-label`)")
    if (
        event.name not in _EVENTS
        or event.number is None
        or event.updated is None
        or not event.author.login
    ):
        return Approval(
            why=f"the event {event.name or 'of this run'} does not name the pull request that a label could approve"
        )
    if not checked_out or checked_out not in commits:
        why = f"the checkout is at {checked_out or 'an unknown commit'}, and a label approves only the head"
        return Approval(why=why)
    if not github.token:
        return Approval(
            why=f"gradegate cannot look for the label `{label}`: the input `github-token` is empty"
        )
    try:
        items = patiently(github, lambda: list(_timeline(github, event)))
    except Never as e:
        return Approval(why=f"gradegate cannot look for the label `{label}`: {e}")
    # The label as it is on the pull request now, and when and by whom the head was last forced elsewhere.
    last: tuple[_User, datetime] | None = None
    moved: datetime | None = None
    pusher: _User | None = None
    dated = [(item.created_at, item) for item in items if item.created_at is not None]
    for at, item in sorted(dated, key=lambda pair: pair[0]):
        named = item.label is not None and item.label.name.lower() == label.lower()
        if item.event == "labeled" and named and item.actor is not None:
            last = (item.actor, at)
        elif item.event in ("labeled", "unlabeled") and named:
            last = None
        elif item.event in _MOVES:
            moved, pusher = at, item.actor
    if last is None or event.updated is None:
        return Approval(why=f"nobody set the label `{label}`")
    by, since = last
    if by.type != "User":
        return Approval(why=f"the label `{label}` was set by {by.login}, which is not a person")
    if _is(by, event.author):
        return Approval(
            why=f"the label `{label}` was set by {by.login}, who opened the pull request"
        )
    # The event of the label itself names the head that it was set on.
    on_this_head = event.action == "labeled" and event.label.lower() == label.lower()
    if (moved is not None and since <= moved) or (since <= event.updated and not on_this_head):
        return Approval(why=f"the label `{label}` was set before the head was pushed; set it again")
    if (event.action in _PUSHES and _is(by, event.sender)) or (
        pusher is not None and _is(by, pusher)
    ):
        return Approval(why=f"the label `{label}` was set by {by.login}, who pushed the head")
    return Approval(f"the label `{label}` of {by.login}")


def _is(user: _User, other: Person | _User) -> bool:
    """Whether both are one account, whatever it is called by now."""
    same_id = user.id is not None and user.id == other.id
    return same_id or user.login.lower() == other.login.lower()


def _timeline(github: GitHub, event: Event) -> Iterator[_Item]:
    """What happened to the pull request that approves or moves; an item of it that cannot be read raises Never, as GitHub may."""
    what = f"the timeline of pull request {event.number}"
    address = f"{github.api}/repos/{event.repository}/issues/{event.number}/timeline"
    for written in github.pages(
        address, what, "a timeline", partial(unreadable, what=what, needs=READ_RIGHTS)
    ):
        if not isinstance(written, dict) or written.get("event") not in (
            "labeled",
            "unlabeled",
            *_MOVES,
        ):
            continue
        try:
            item = _Item.model_validate(written)
        except ValidationError as e:
            raise Never("the timeline has an item that cannot be read") from e
        if item.created_at is None or item.created_at.tzinfo is None:
            raise Never("the timeline has an item without a date")
        yield item
