"""The comment on the pull request, against a GitHub on loopback: whose it is, which one it is, and what when it fails."""

import json
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradegate import __version__
from gradegate.github.client import GitHub, connect
from gradegate.github.event import Event
from gradegate.github.sticky import Posted, Refused, Stamp, upsert_comment
from support.each import each, table
from support.fake_github import FakeGitHub, Seen, Token

REPOSITORY = "octo-org/octo-repo"
EVENT = Event("pull_request", REPOSITORY, 7, "a" * 40, "b" * 40, REPOSITORY, REPOSITORY)
FORK = replace(EVENT, head_repository="mona/octo-repo")
BOT = "github-actions[bot]"


def mark(key: str) -> str:
    return Stamp(key).line


def upsert(github: GitHub, event: Event, body: str, key: str = "", create: bool = True) -> object:
    return upsert_comment(github, event, body, Stamp(key), create=create)


def github(fake: FakeGitHub, token: str = "ghs_actions", **more: Any) -> GitHub:
    environ = {"GITHUB_API_URL": fake.url, "GITHUB_GRAPHQL_URL": f"{fake.url}/graphql"}
    return replace(connect(environ, token), **{"pause": lambda seconds: None, **more})


def refused(outcome: object) -> str:
    assert isinstance(outcome, Refused)
    return outcome.reason


def test_the_first_run_creates_and_the_second_updates_in_place(fake: FakeGitHub) -> None:
    first = upsert(github(fake), EVENT, "blocked")
    second = upsert(github(fake), EVENT, "passed")
    assert first == second == Posted(fake.comments[0]["html_url"])
    assert [c["body"] for c in fake.comments] == [f"{mark('')}\npassed"]
    assert len(fake.asked("POST")) == 1 + 2  # one comment, and asking twice whose token it is
    assert [seen.path for seen in fake.asked("PATCH")] == [f"/repos/{REPOSITORY}/issues/comments/1"]


def test_every_request_says_who_asks_and_which_api_it_means(fake: FakeGitHub) -> None:
    upsert(github(fake), EVENT, "x")
    assert len(fake.seen) == 4
    for seen in fake.seen:
        assert seen.headers["user-agent"] == f"gradegate/{__version__}"
        assert seen.headers["accept"] == "application/vnd.github+json"
        assert seen.headers["x-github-api-version"] == "2022-11-28"
        assert seen.headers["authorization"] == "Bearer ghs_actions"


def test_our_comment_is_found_behind_hundreds_of_others(fake: FakeGitHub) -> None:
    for number in range(250):
        fake.add("mona", f"comment {number}")
    fake.add(BOT, f"{mark('')}\nold", "Bot")
    assert upsert(github(fake), EVENT, "new") == Posted(fake.comments[250]["html_url"])
    assert len(fake.comments) == 251
    assert [seen.query["page"] for seen in fake.asked("GET") if seen.query] == [["1"], ["2"], ["3"]]
    assert {seen.query["per_page"][0] for seen in fake.asked("GET") if seen.query} == {"100"}


@pytest.mark.parametrize(("cap", "links"), [(100, False), (50, True)])
def test_pages_are_followed_without_links_and_when_they_are_smaller_than_asked(fake: FakeGitHub, cap: int, links: bool) -> None:
    fake.page_cap, fake.links = cap, links
    for number in range(130):
        fake.add("mona", f"comment {number}")
    fake.add(BOT, f"{mark('')}\nold", "Bot")
    assert upsert(github(fake), EVENT, "new") == Posted(fake.comments[130]["html_url"])
    assert len(fake.comments) == 131


@pytest.mark.parametrize(("login", "kind", "body"), table(__file__, "a_comment_that_is_not_ours_is_never_edited"))
def test_a_comment_that_is_not_ours_is_never_edited(fake: FakeGitHub, login: str, kind: str, body: str | None) -> None:
    fake.add(login, body, kind)
    fake.unlike = ("0.body: None",) if body is None else ()
    assert upsert(github(fake), EVENT, "report") == Posted(fake.comments[1]["html_url"])
    assert fake.comments[0]["body"] == body
    assert fake.asked("PATCH") == []


def test_a_comment_without_an_author_or_in_an_odd_shape_stops_nothing(fake: FakeGitHub) -> None:
    for odd in (None, 5, "x", {}, {"id": "x"}, {"id": 1, "html_url": "u", "body": mark(""), "user": None}):
        fake.add("ghost", "x")
        if isinstance(odd, dict):
            fake.comments[-1] = {"issue_url": "/issues/7", **odd}
    fake.unlike = ("/comments: reply 200",)
    assert isinstance(upsert(github(fake), EVENT, "report"), Posted)


@pytest.mark.parametrize(
    ("token", "owner", "asked"),
    [
        ("ghs_app", Token("my-gate[bot]"), ["/graphql"]),
        ("v1.old-app", Token("my-gate[bot]"), ["/user", "/graphql"]),
        ("ghp_person", Token("Mona", "User"), ["/user"]),
        ("github_pat_person", Token("Mona", "User"), ["/user"]),
    ],
)
def test_the_owner_of_the_token_is_the_author_that_counts(fake: FakeGitHub, token: str, owner: Token, asked: list[str]) -> None:
    fake.tokens[token] = owner
    fake.add(BOT, f"{mark('')}\nof the other token", "Bot")
    fake.add(owner.login, f"{mark('')}\nold", owner.kind)
    assert upsert(github(fake, token), EVENT, "new") == Posted(fake.comments[1]["html_url"])
    assert [c["body"] for c in fake.comments] == [f"{mark('')}\nof the other token", f"{mark('')}\nnew"]
    assert [seen.path for seen in fake.seen if "/repos/" not in seen.path] == asked


def test_an_app_that_graphql_names_without_its_suffix_is_a_bot_all_the_same(fake: FakeGitHub) -> None:
    fake.tokens["ghs_app"] = Token("my-gate")
    fake.add("my-gate", f"{mark('')}\nof a person with that name")
    fake.add("my-gate[bot]", f"{mark('')}\nold", "Bot")
    upsert(github(fake, "ghs_app"), EVENT, "new")
    assert [c["body"].partition("\n")[2] for c in fake.comments] == ["of a person with that name", "new"]


def test_jobs_with_different_keys_keep_a_comment_each(fake: FakeGitHub) -> None:
    for key in ("", "nightly", "night", "-->", "--> @all", "a\nb", "ä", "\ud800", "x" * 900, "x" * 901):
        upsert(github(fake), EVENT, "first", key)
        upsert(github(fake), EVENT, f"report of {key!r}", key)
    assert len(fake.comments) == 10
    for comment in fake.comments:
        line = comment["body"].splitlines()[0]
        assert line.startswith("<!-- gradegate:")
        assert line.endswith(" -->")
        assert "--" not in line[4:-3]
        assert len(line) < 250


def test_a_racing_job_leaves_one_comment_the_oldest(fake: FakeGitHub) -> None:
    def faster(seen: Seen) -> None:
        if seen.method == "POST" and seen.path.endswith("/comments") and not fake.comments:
            fake.add(BOT, f"{mark('')}\nof the faster job", "Bot")

    fake.before = faster
    assert upsert(github(fake), EVENT, "of the slower job") == Posted(fake.comments[0]["html_url"])
    assert [(c["id"], c["body"]) for c in fake.comments] == [(1, f"{mark('')}\nof the slower job")]


def test_of_two_comments_of_ours_the_oldest_is_kept_current_and_the_other_goes(fake: FakeGitHub) -> None:
    fake.add(BOT, f"{mark('')}\r\nfirst", "Bot")
    fake.add(BOT, f"{mark('')}\nsecond", "Bot")
    upsert(github(fake), EVENT, "new")
    assert [c["body"] for c in fake.comments] == [f"{mark('')}\nnew"]


def test_nothing_is_created_when_only_an_update_is_wanted(fake: FakeGitHub) -> None:
    assert upsert(github(fake), EVENT, "x", create=False) is None
    fake.add(BOT, f"{mark('')}\nold", "Bot")
    assert isinstance(upsert(github(fake), EVENT, "new", create=False), Posted)
    assert [c["body"] for c in fake.comments] == [f"{mark('')}\nnew"]


@each(
    ("event", "words", "never"),
    [
        (EVENT, "`permissions: pull-requests: write`", "fork"),
        (FORK, "comes from a fork", "permissions:"),
        (replace(FORK, name="pull_request_target"), "`permissions: pull-requests: write`", "comes from"),
        (replace(EVENT, actor="dependabot[bot]"), "comes from Dependabot", "permissions:"),
    ],
)
@each("status", [403, 404])
def test_a_token_that_cannot_write_is_told_apart_from_a_fork(fake: FakeGitHub, event: Event, words: str, never: str, status: int) -> None:
    fake.tokens["ghs_actions"] = Token(BOT, writes=False)
    if status == 404:
        fake.trouble("POST", 404, "Not Found", path="/comments")
    reason = refused(upsert(github(fake), event, "x"))
    assert words in reason
    assert never not in reason
    assert f"({status}: {'Not Found' if status == 404 else 'Resource not accessible by integration'})" in reason


@each("token", ["ghs_wrong", "ghp_wrong"])
def test_a_token_that_github_does_not_know_is_said_as_such(fake: FakeGitHub, token: str) -> None:
    reason = refused(upsert(github(fake, token), EVENT, "x"))
    assert reason == "GitHub does not accept the token (401: Bad credentials); check the input `github-token`"


def test_a_body_that_github_finds_too_long_is_refused_in_its_words(fake: FakeGitHub) -> None:
    room = 65_536 - len(mark("")) - 1
    assert isinstance(upsert(github(fake), EVENT, "x" * room), Posted)
    fake.unlike = ("a body of more than 65,536 characters",)
    reason = refused(upsert(github(fake), EVENT, "x" * (room + 1)))
    assert "422: Validation Failed: Body is too long (maximum is 65536 characters)" in reason


def test_a_lone_surrogate_of_a_model_does_not_cost_the_comment(fake: FakeGitHub) -> None:
    assert isinstance(upsert(github(fake), EVENT, "a\ud800b"), Posted)
    assert fake.comments[0]["body"] == f"{mark('')}\na?b"


@pytest.mark.parametrize("status", [500, 502, 503])
def test_an_outage_is_waited_out(fake: FakeGitHub, status: int) -> None:
    waits: list[float] = []
    fake.trouble("GET", status, times=2)
    assert isinstance(upsert(github(fake, pause=waits.append), EVENT, "x"), Posted)
    assert waits == [1.0, 2.0]


def test_an_outage_that_lasts_is_a_refusal(fake: FakeGitHub) -> None:
    fake.trouble("GET", 503, "Service Unavailable", times=99)
    reason = refused(upsert(github(fake), EVENT, "x"))
    assert "is unavailable (503: Service Unavailable)" in reason
    assert len(fake.asked("GET")) == 4


def test_a_comment_that_was_written_before_the_connection_broke_is_not_written_twice(fake: FakeGitHub) -> None:
    fake.trouble("POST", 502, after=True, path="/comments")
    assert isinstance(upsert(github(fake), EVENT, "x"), Posted)
    assert [c["body"] for c in fake.comments] == [f"{mark('')}\nx"]


def test_nobody_listening_is_a_refusal(fake: FakeGitHub) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        api = f"http://127.0.0.1:{free.getsockname()[1]}"
    reason = refused(upsert(github(fake, api=api, graphql=api), EVENT, "x"))
    assert "cannot be reached" in reason


LIMITED: dict[str, tuple[int, str, Callable[[], dict[str, str]], float, float]] = {
    "retry-after": (403, "slow down", lambda: {"Retry-After": "7"}, 7, 7),
    "spent": (
        403,
        "API rate limit exceeded",
        lambda: {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 170)},
        50,  # a busy machine may be two minutes late
        170,
    ),
    "no time named": (403, "You have exceeded a secondary rate limit", dict, 60, 60),
    "too many": (429, "slow down", dict, 60, 60),
    "a date that is none": (429, "slow down", lambda: {"Retry-After": "soon"}, 60, 60),
}


@pytest.mark.parametrize("kind", LIMITED)
def test_a_rate_limit_is_waited_for_as_long_as_github_says_and_a_minute_where_it_does_not(fake: FakeGitHub, kind: str) -> None:
    status, message, headers, least, most = LIMITED[kind]
    waits: list[float] = []
    fake.trouble("POST", status, message, headers=headers(), path="/comments")
    assert isinstance(upsert(github(fake, pause=waits.append), EVENT, "x"), Posted)
    assert len(waits) == 1
    assert least <= waits[0] <= most


def test_the_verdict_does_not_wait_an_hour_for_its_comment(fake: FakeGitHub) -> None:
    waits: list[float] = []
    fake.trouble("GET", 403, "API rate limit exceeded", headers={"Retry-After": "3600"}, times=9)
    reason = refused(upsert(github(fake, pause=waits.append), FORK, "x"))
    assert reason == "GitHub's rate limit is used up (API rate limit exceeded)"
    assert waits == []


def test_waits_add_up_to_what_the_caller_has_patience_for(fake: FakeGitHub) -> None:
    waits: list[float] = []
    fake.trouble("GET", 429, headers={"Retry-After": "100"}, times=3)
    assert "rate limit" in refused(upsert(github(fake, pause=waits.append, patience=180), EVENT, "x"))
    assert waits == [100]


def test_in_a_hurry_nothing_is_waited_for(fake: FakeGitHub) -> None:
    environ = {"GITHUB_API_URL": fake.url, "GITHUB_GRAPHQL_URL": f"{fake.url}/graphql"}
    hurried = connect(environ, "ghs_actions", hurry=True)
    fake.trouble("GET", 503)
    assert "unavailable" in refused(upsert(hurried, EVENT, "x"))
    assert len(fake.asked("GET")) == 1  # a second would follow a pause


def test_a_comment_that_vanishes_before_it_is_updated_is_written_anew(fake: FakeGitHub) -> None:
    fake.add(BOT, f"{mark('')}\nold", "Bot")

    def vanish(seen: Seen) -> None:
        if seen.method == "PATCH":
            fake.comments.clear()

    fake.before = vanish
    assert isinstance(upsert(github(fake), EVENT, "new"), Posted)
    assert [c["body"] for c in fake.comments] == [f"{mark('')}\nnew"]


def test_an_enterprise_server_is_asked_at_its_own_addresses() -> None:
    environ = {"GITHUB_API_URL": "https://ghes.test/api/v3/"}
    assert connect(environ, "t").graphql == "https://ghes.test/api/graphql"
    assert connect(environ, "t").api == "https://ghes.test/api/v3"
    assert connect({}, "t").api == "https://api.github.com"
    assert connect({}, "t").graphql == "https://api.github.com/graphql"


def test_the_token_does_not_show(fake: FakeGitHub) -> None:
    assert "ghs_actions" not in repr(github(fake))


bodies = st.none() | st.text(max_size=40) | st.text(max_size=20).map(lambda text: f"{mark('')}\n{text}")
others = st.sampled_from(["mona", "github-actions", "github-actions[bot] ", "hubot[bot]", "GitHub-Actions"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(others, st.sampled_from(["User", "Bot"]), bodies | st.integers()), max_size=6), st.text())
def test_whatever_others_write_stays_and_ours_is_one(fake: FakeGitHub, comments: list[tuple[str, str, Any]], text: str) -> None:
    fake.comments.clear()
    for login, kind, body in comments:
        fake.add(login, body, kind)
        if not isinstance(body, str):
            fake.unlike = (".body: ",)
    before = json.dumps(fake.comments)
    for body in (text, "report"):
        assert isinstance(upsert(github(fake), EVENT, body), Posted)
    assert json.dumps(fake.comments[:-1]) == before
    assert fake.comments[-1]["body"] == f"{mark('')}\nreport"
