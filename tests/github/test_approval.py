"""Who approved of what a pull request does to its gate, against a GitHub on loopback."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gradegate.github.client import GitHub, connect
from gradegate.github.event import Event, Person
from gradegate.github.pull_request import approval
from support.each import each, table
from support.fake_github import FakeGitHub

LABEL = "gate-approved"
REPOSITORY = "octo-org/octo-repo"
BEFORE, PUSHED, AFTER, LATER = (f"2026-03-01T{hour}:00:00Z" for hour in (11, 12, 13, 14))
HEAD, HEADS = "a" * 40, ("a" * 40, "b" * 40)
EVENT = Event(
    "pull_request",
    REPOSITORY,
    7,
    "a" * 40,
    action="synchronize",
    author=Person("author", 101),
    sender=Person("pusher", 102),
    updated=datetime(2026, 3, 1, 12, tzinfo=UTC),
)


def github(fake: FakeGitHub, token: str = "ghs_actions") -> GitHub:
    return replace(connect({"GITHUB_API_URL": fake.url}, token), pause=lambda seconds: None)


def test_a_label_that_a_person_set_after_the_push_approves(fake: FakeGitHub) -> None:
    fake.committed("a" * 40, LATER)  # dated by its author
    fake.happened("labeled", AFTER, label=LABEL)
    fake.happened("commented", LATER)
    assert approval(github(fake), EVENT, LABEL, HEADS, HEAD).by == f"the label `{LABEL}` of mona"


def test_names_of_labels_have_no_case(fake: FakeGitHub) -> None:
    fake.happened("labeled", AFTER, label="Gate-Approved")
    assert approval(github(fake), EVENT, LABEL, HEADS, HEAD).by


STALE = "was set before the head was pushed"
HISTORIES = {
    "no label": ([], "nobody set the label"),
    "another label": ([("labeled", AFTER, "mona", "bug")], "nobody set the label"),
    "before the push": ([("labeled", BEFORE, "mona", LABEL)], STALE),
    "in the same second": ([("labeled", PUSHED, "mona", LABEL)], STALE),
    "taken off": ([("labeled", AFTER, "mona", LABEL), ("unlabeled", LATER, "author", LABEL)], "nobody set the label"),
    "forced on since": ([("labeled", AFTER, "mona", LABEL), ("head_ref_force_pushed", LATER, "author", "")], STALE),
    "forced on in the same second": ([("labeled", AFTER, "mona", LABEL), ("head_ref_force_pushed", AFTER, "author", "")], STALE),
    "another base since": ([("labeled", AFTER, "mona", LABEL), ("base_ref_changed", LATER, "author", "")], STALE),
    "restored since": ([("labeled", AFTER, "mona", LABEL), ("head_ref_restored", LATER, "author", "")], STALE),
    "by the author": ([("labeled", AFTER, "Author", LABEL)], "who opened the pull request"),
    "by who pushed": ([("labeled", AFTER, "Pusher", LABEL)], "who pushed the head"),
    "by who forced it on": ([("head_ref_force_pushed", BEFORE, "mona", ""), ("labeled", AFTER, "mona", LABEL)], "who pushed the head"),
    "another force on the base since": ([("labeled", AFTER, "mona", LABEL), ("base_ref_force_pushed", LATER, "author", "")], STALE),
    "again by the author": (
        [("labeled", AFTER, "mona", LABEL), ("unlabeled", AFTER, "author", LABEL), ("labeled", LATER, "author", LABEL)],
        "who opened the pull request",
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_what_does_not_approve_says_why(fake: FakeGitHub, name: str) -> None:
    history, why = HISTORIES[name]
    fake.committed("a" * 40, "1999-01-01T00:00:00Z")  # a commit that its author dated before everything
    for event, at, actor, label in history:
        fake.happened(event, at, actor, label)
    found = approval(github(fake), EVENT, LABEL, HEADS, HEAD)
    assert (found.by, why in found.why) == ("", True), found


def test_a_bot_is_no_person(fake: FakeGitHub) -> None:
    fake.happened("labeled", AFTER, "github-actions[bot]", LABEL, kind="Bot")
    assert "is not a person" in approval(github(fake), EVENT, LABEL, HEADS, HEAD).why


def test_the_event_of_the_label_itself_approves_of_the_head_that_it_names(fake: FakeGitHub) -> None:
    fake.happened("labeled", PUSHED, label=LABEL)
    labeled = replace(EVENT, action="labeled", label=LABEL)
    assert approval(github(fake), labeled, LABEL, HEADS, HEAD).by
    assert STALE in approval(github(fake), replace(labeled, label="bug"), LABEL, HEADS, HEAD).why
    fake.happened("head_ref_force_pushed", AFTER)
    assert STALE in approval(github(fake), labeled, LABEL, HEADS, HEAD).why


def test_order_in_the_timeline_does_not_matter_and_every_page_is_read(fake: FakeGitHub) -> None:
    fake.happened("unlabeled", BEFORE, label=LABEL)
    for _ in range(250):
        fake.committed("b" * 40, BEFORE)
    fake.happened("labeled", AFTER, label=LABEL)
    assert approval(github(fake), EVENT, LABEL, HEADS, HEAD).by
    fake.links = False
    assert approval(github(fake), EVENT, LABEL, HEADS, HEAD).by
    fake.timeline.reverse()
    assert approval(github(fake), EVENT, LABEL, HEADS, HEAD).by
    fake.happened("unlabeled", LATER, label=LABEL)
    assert not approval(github(fake), EVENT, LABEL, HEADS, HEAD).by


@pytest.mark.parametrize("status", [401, 403, 404, 410, 500])
def test_a_timeline_that_cannot_be_read_approves_nothing(fake: FakeGitHub, status: int) -> None:
    fake.happened("labeled", AFTER, label=LABEL)
    fake.trouble("GET", status, "no such luck", times=99)
    found = approval(github(fake), EVENT, LABEL, HEADS, HEAD)
    assert (found.by, "no such luck" in found.why, str(status) in found.why) == ("", True, True)


@each("status", [500, 502, 429])
def test_a_passing_trouble_is_waited_for(fake: FakeGitHub, status: int) -> None:
    fake.happened("labeled", AFTER, label=LABEL)
    fake.trouble("GET", status, headers={"Retry-After": "1"} if status == 429 else {})
    assert approval(github(fake), EVENT, LABEL, HEADS, HEAD).by


@pytest.mark.parametrize("written", [{"created_at": None}, {"created_at": "soon"}, {"created_at": "2026-03-01T13:00:00"}])
def test_an_item_that_cannot_be_read_approves_nothing(fake: FakeGitHub, written: dict) -> None:
    fake.happened("labeled", AFTER, label=LABEL)
    fake.timeline.append({**fake.timeline[0], "event": "unlabeled", **written})
    fake.unlike = ("created_at: None",) if written["created_at"] is None else ()
    assert not approval(github(fake), EVENT, LABEL, HEADS, HEAD).by


def test_items_of_other_kinds_may_hold_anything(fake: FakeGitHub) -> None:
    fake.timeline += [{"event": "reviewed", "created_at": 5}, {"event": None}, {}]
    fake.unlike = ("/timeline: reply 200",)
    fake.happened("labeled", AFTER, label=LABEL)
    assert approval(github(fake), EVENT, LABEL, HEADS, HEAD).by


@each(
    ("event", "token", "label", "why"),
    [
        (EVENT, "ghs_actions", "", "the workflow sets no label"),
        (replace(EVENT, number=None, name="merge_group"), "ghs_actions", LABEL, "the event merge_group does not name"),
        (replace(EVENT, updated=None), "ghs_actions", LABEL, "does not name the pull request"),
        (replace(EVENT, author=Person()), "ghs_actions", LABEL, "does not name the pull request"),
        (EVENT, "", LABEL, "`github-token` is empty"),
    ],
)
def test_without_what_it_takes_nothing_is_asked(fake: FakeGitHub, event: Event, token: str, label: str, why: str) -> None:
    assert why in approval(github(fake, token), event, label, HEADS, HEAD).why
    assert fake.seen == []


@each(
    ("head", "event", "why"),
    [
        ("c" * 40, EVENT, "a label approves only the head"),
        ("", EVENT, "an unknown commit"),
        (HEAD, replace(EVENT, name="push"), "does not name the pull request"),
    ],
)
def test_only_the_head_of_the_event_is_approved(fake: FakeGitHub, head: str, event: Event, why: str) -> None:
    fake.happened("labeled", AFTER, label=LABEL)
    decided = approval(github(fake), event, LABEL, HEADS, head)
    assert (decided.by, why in decided.why) == ("", True)


@pytest.mark.parametrize("actor", table(__file__, "an_account_is_known_by_its_id_and_a_person_says_so"))
def test_an_account_is_known_by_its_id_and_a_person_says_so(fake: FakeGitHub, actor: dict) -> None:
    fake.happened("labeled", AFTER, label=LABEL)
    fake.timeline[0]["actor"] |= actor
    assert not approval(github(fake), EVENT, LABEL, HEADS, HEAD).by
