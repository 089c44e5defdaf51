"""The comment on the pull request, against a GitHub on loopback: whose it is, what when it fails, which run it is of, and who approved."""

import itertools
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradegate import __version__
from gradegate.github.approval import find_approval
from gradegate.github.client import GitHub, connect
from gradegate.github.comment import SETTLE, CommentThread, Left, Posted, Refused, Stamp, parse_stamp
from gradegate.security.event import Event, Person
from gradegate.structs import replace
from support.each import each, table
from support.fake_github import FakeGitHub, Seen, Token
from support.patience import PATIENCE
from support.scenes import laid

REPOSITORY = "octo-org/octo-repo"
EVENT = Event("pull_request", REPOSITORY, 7, "a" * 40, "b" * 40, REPOSITORY, REPOSITORY)
FORK = replace(EVENT, head_repository="mona/octo-repo")
BOT = "github-actions[bot]"


def mark(key: str) -> str:
    return Stamp(key).line


def upsert(github: GitHub, event: Event, body: str, key: str = "", create: bool = True) -> object:
    return CommentThread(github, event, Stamp(key), create=create).update(body)


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


# --- order ----------------------------------------------------------------------------------------------------


def run(number: int, attempt: int = 1, findings: str = "") -> Stamp:
    return Stamp("", number, attempt, f"{number:040x}", findings)


def body(own: Stamp) -> str:
    return f"report of {own.run}.{own.attempt}\n" + "a line of it\n" * 300 + f"end of {own.run}.{own.attempt}"


def post(fake: FakeGitHub, own: Stamp, only_changed: bool = False) -> object:
    return CommentThread(github(fake), EVENT, own, only_changed=only_changed).update(body(own))


def there(fake: FakeGitHub) -> list[str]:
    return [comment["body"] for comment in fake.comments]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (run(9), run(10)),  # as numbers, not as texts
        (run(999), run(1000)),
        (run(5, 1), run(5, 2)),  # of one run, the later attempt
        (run(5, 9), run(5, 10)),
        (run(5, 7), run(6, 1)),  # an old run that is started again asks again for its old commit
        (Stamp(), run(1)),  # a comment of a version without runs
    ],
)
def test_an_older_run_that_ends_later_writes_nothing(fake: FakeGitHub, older: Stamp, newer: Stamp) -> None:
    assert post(fake, newer) == Posted(fake.comments[0]["html_url"])
    fake.seen.clear()
    left = post(fake, older)
    assert isinstance(left, Left)
    assert f"a newer run ({newer.run}, of commit {newer.commit[:7]})" in left.why
    assert there(fake) == [f"{newer.line}\n{body(newer)}"]
    assert {seen.method for seen in fake.seen if "/repos/" in seen.path} == {"GET"}


@pytest.mark.parametrize(("first", "second"), [(run(9), run(10)), (run(5), run(5, 2)), (Stamp(), run(1)), (run(3), run(3))])
def test_a_newer_run_writes_over_an_older_one_and_a_job_over_one_of_its_own_attempt(fake: FakeGitHub, first: Stamp, second: Stamp) -> None:
    post(fake, first)
    post(fake, second)
    assert there(fake) == [f"{second.line}\n{body(second)}"]


def test_where_outcome_and_failing_cases_are_the_same_only_the_run_is_noted(fake: FakeGitHub) -> None:
    post(fake, run(5, findings="ab"), only_changed=True)
    left = post(fake, run(7, findings="ab"), only_changed=True)
    assert isinstance(left, Left)
    assert left.why == "outcome and failing cases are those of run 5"
    assert there(fake) == [f"{run(7, findings='ab').line}\n{body(run(5))}"]
    assert isinstance(post(fake, run(6, findings="cd"), only_changed=True), Left)  # older than the one that had nothing new to say
    assert there(fake) == [f"{run(7, findings='ab').line}\n{body(run(5))}"]
    assert isinstance(post(fake, run(8, findings="cd"), only_changed=True), Posted)
    assert there(fake) == [f"{run(8, findings='cd').line}\n{body(run(8))}"]


def test_without_findings_nothing_is_taken_for_the_same(fake: FakeGitHub) -> None:
    post(fake, run(5), only_changed=True)
    assert isinstance(post(fake, run(7), only_changed=True), Posted)


def test_a_run_that_looked_before_a_newer_one_wrote_is_written_over(fake: FakeGitHub) -> None:
    """The older run looks, the newer one writes, the older one writes: the newer one looks again."""
    post(fake, run(3))
    late = threading.Event()

    def hold(seen: Seen) -> None:
        if seen.method == "PATCH" and "report of 4." in seen.body["body"]:
            late.wait(PATIENCE)

    def pause(seconds: float) -> None:
        assert seconds == SETTLE
        late.set()
        older.result(PATIENCE)

    fake.before = hold
    with ThreadPoolExecutor() as pool:
        older = pool.submit(post, fake, run(4))
        while not [seen for seen in fake.seen if seen.method == "GET" and seen.path.endswith("/comments/1")]:
            late.wait(0.01)
        newer = CommentThread(replace(github(fake), pause=pause), EVENT, run(5), is_shared=True).update(body(run(5)))
    assert isinstance(newer, Posted)
    assert isinstance(older.result(), Posted)  # it did write over the newer one
    wrote = [parse_stamp(seen.body["body"], "") for seen in fake.asked("PATCH")]
    assert [own.run for own in wrote if own] == [5, 4, 5]
    assert there(fake) == [f"{run(5).line}\n{body(run(5))}"]


def test_a_key_that_no_other_job_has_is_written_without_a_wait(fake: FakeGitHub) -> None:
    waits: list[float] = []
    for number, is_shared, expected in [(3, False, []), (4, False, []), (5, True, [SETTLE])]:
        own = github(fake, pause=waits.append)
        assert isinstance(CommentThread(own, EVENT, run(number), is_shared=is_shared).update(body(run(number))), Posted)
        assert waits == expected
    assert there(fake) == [f"{run(5).line}\n{body(run(5))}"]


class Turns:
    """Lets two jobs send their requests in a given order, one at a time; when one has ended, the other goes on alone.

    A pause is as long as `SETTLE` promises: a job that has looked at the comment will have written it by then.
    """

    def __init__(self, order: Sequence[int]) -> None:
        self._order = list(order)
        self._ready = threading.Condition()
        self._away: set[int] = set()  # jobs that have ended, or are in a pause
        self._about_to_write: set[int] = set()

    def _whose(self) -> int | None:
        while self._order and self._order[0] in self._away:
            self._order.pop(0)
        return self._order[0] if self._order else None

    def sent(self, job: int, looked: bool) -> None:
        with self._ready:
            if not looked:
                self._about_to_write.discard(job)
            self._ready.notify_all()

    def pause(self, job: int) -> None:
        with self._ready:
            self._about_to_write.discard(job)
            self._away.add(job)
            self._ready.notify_all()
            self._ready.wait_for(lambda: not self._about_to_write, PATIENCE)
            self._away.discard(job)

    def wait(self, job: int, looks: bool) -> None:
        with self._ready:
            self._ready.wait_for(lambda: self._whose() in (job, None), PATIENCE)
            if self._order:
                self._order.pop(0)
            if looks:
                self._about_to_write.add(job)
            self._ready.notify_all()

    def end(self, job: int) -> None:
        with self._ready:
            self._about_to_write.discard(job)
            self._away.add(job)
            self._ready.notify_all()


def at_once(fake: FakeGitHub, stamps: Sequence[Stamp], order: Sequence[int]) -> None:
    """Both jobs write, their requests in that order."""
    turns = Turns(order)

    def job(number: int) -> None:
        own = replace(github(fake), pause=lambda seconds: turns.pause(number))
        send = own.client.send

        def in_turn(method: str, url: str, **more: object) -> object:
            looks = method == "GET" and "/issues/comments/" in url
            turns.wait(number, looks)
            try:
                return send(method, url, **more)  # type: ignore[arg-type]
            finally:
                turns.sent(number, looks)

        own.client.send = in_turn  # type: ignore[method-assign,assignment]
        try:
            CommentThread(own, EVENT, stamps[number], is_shared=True).update(body(stamps[number]))
        finally:
            turns.end(number)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(job, range(2)))


TROUBLES: tuple[Callable[[FakeGitHub, str], None], ...] = (
    lambda fake, method: None,
    lambda fake, method: fake.trouble(
        method, 403, "You have exceeded a secondary rate limit", headers={"Retry-After": "1"}, path="comments"
    ),
    lambda fake, method: fake.trouble(method, 502, after=True, path="comments"),  # it is done, and the reply is lost
)


@pytest.mark.slow
@each("existing", [False, True])
@each("stamps", [(run(8), run(9)), (run(9), run(8)), (run(8), run(8))])
def test_fifty_times_two_jobs_at_once_leave_one_comment_that_is_whole_and_the_newer_runs(
    fake: FakeGitHub, stamps: tuple[Stamp, Stamp], existing: bool
) -> None:
    newest = max(stamps, key=lambda own: own.run)
    fake.page_cap = 3  # ours is on another page than the first
    for seed in range(50):
        fake.comments.clear()
        for number in range(7):
            fake.add("mona", f"comment {number} of somebody")
        if existing:
            fake.add(BOT, f"{run(3).line}\n{body(run(3))}", "Bot")
        TROUBLES[seed % 3](fake, ("PATCH", "POST")[seed % 2])
        at_once(fake, stamps, random.Random(seed).choices((0, 1), k=36))
        fake.troubles.clear()
        assert [text for text in there(fake) if text.startswith("<!--")] == [f"{newest.line}\n{body(newest)}"], seed
        assert len(fake.comments) == 8, seed


def test_in_whatever_order_a_first_comment_is_created_it_is_the_newer_runs(fake: FakeGitHub) -> None:
    """Every order of the first eight requests of two jobs that find no comment."""
    for order in itertools.product((0, 1), repeat=8):
        fake.comments.clear()
        at_once(fake, (run(8), run(9)), order)
        assert there(fake) == [f"{run(9).line}\n{body(run(9))}"], order


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations([(3, 1), (3, 2), (4, 1), (10, 1), (9, 3)]), st.sets(st.integers(0, 4)))
def test_however_runs_end_the_newest_is_what_stays(fake: FakeGitHub, ends: list[tuple[int, int]], careful: set[int]) -> None:
    fake.comments.clear()
    for place, (number, attempt) in enumerate(ends):
        post(fake, run(number, attempt, f"{number:x}"), only_changed=place in careful)
    assert there(fake) == [f"{run(10, 1, 'a').line}\n{body(run(10))}"]


@given(st.text(), st.integers(0, 2**60), st.integers(0, 9), st.sampled_from(["", "a" * 40]), st.sampled_from(["", "0f"]))
def test_a_stamp_is_read_as_it_was_written(key: str, number: int, attempt: int, commit: str, findings: str) -> None:
    own = Stamp(key, number, attempt, commit, findings)
    assert parse_stamp(f"{own.line}\r\ntext", key) == own
    assert parse_stamp(own.line, f"{key}x") is None
    assert "--" not in own.line[4:-3]


@each("line", ["", "<!-- gradegate: run=x -->", "<!-- gradegate:-->", "x <!-- gradegate: -->", "<!-- gradegate: -"])
def test_another_line_is_no_stamp(line: str) -> None:
    assert parse_stamp(line, "") is None


def test_what_the_runner_does_not_say_is_not_in_the_stamp() -> None:
    assert Stamp.from_environ("k", {"GITHUB_RUN_ID": "12", "GITHUB_RUN_ATTEMPT": "2"}, "a" * 40, "0f") == Stamp("k", 12, 2, "a" * 40, "0f")
    assert Stamp.from_environ("", {"GITHUB_RUN_ID": "-->", "GITHUB_RUN_ATTEMPT": "9" * 30}, "--> @all", "") == Stamp()


# --- approval -------------------------------------------------------------------------------------------------
LABEL = "gate-approved"
BEFORE, PUSHED, AFTER, LATER = (f"2026-03-01T{hour}:00:00Z" for hour in (11, 12, 13, 14))
HEAD, HEADS = "a" * 40, ("a" * 40, "b" * 40)
APPROVAL_EVENT = Event(
    "pull_request",
    REPOSITORY,
    7,
    "a" * 40,
    action="synchronize",
    author=Person("author", 101),
    sender=Person("pusher", 102),
    updated=datetime(2026, 3, 1, 12, tzinfo=UTC),
)


@pytest.mark.parametrize("name", table(__file__, "approvals"))
def test_what_does_not_approve_says_why(fake: FakeGitHub, name: str) -> None:
    row = table(__file__, "approvals")[name]
    fake.committed("a" * 40, row.get("committed", "1999-01-01T00:00:00Z"))  # as its author dated it: after everything, or before
    fake.timeline += row.get("odd", [])
    for event, hour, *about in row["timeline"]:
        fake.happened(event, f"2026-03-01T{hour}:00:00Z", *about)
    fake.timeline[-1] = laid(fake.timeline[-1], row.get("changed", {}))
    fake.unlike = tuple(row.get("unlike", ()))
    event = replace(APPROVAL_EVENT, **{key: Person() if key == "author" else value for key, value in row.get("event", {}).items()})
    found = find_approval(github(fake, row.get("token", "ghs_actions")), event, row.get("label", LABEL), HEADS, row.get("head", HEAD))
    assert (found.by, row.get("why", "") in found.why) == (row.get("by", ""), True), found
    assert "asked" not in row or fake.seen == []


def test_order_in_the_timeline_does_not_matter_and_every_page_is_read(fake: FakeGitHub) -> None:
    fake.happened("unlabeled", BEFORE, label=LABEL)
    for _ in range(250):
        fake.committed("b" * 40, BEFORE)
    fake.happened("labeled", AFTER, label=LABEL)
    assert find_approval(github(fake), APPROVAL_EVENT, LABEL, HEADS, HEAD).by
    fake.links = False
    assert find_approval(github(fake), APPROVAL_EVENT, LABEL, HEADS, HEAD).by
    fake.timeline.reverse()
    assert find_approval(github(fake), APPROVAL_EVENT, LABEL, HEADS, HEAD).by
    fake.happened("unlabeled", LATER, label=LABEL)
    assert not find_approval(github(fake), APPROVAL_EVENT, LABEL, HEADS, HEAD).by


@pytest.mark.parametrize("status", [401, 403, 404, 410, 500])
def test_a_timeline_that_cannot_be_read_approves_nothing(fake: FakeGitHub, status: int) -> None:
    fake.happened("labeled", AFTER, label=LABEL)
    fake.trouble("GET", status, "no such luck", times=99)
    found = find_approval(github(fake), APPROVAL_EVENT, LABEL, HEADS, HEAD)
    assert (found.by, "no such luck" in found.why, str(status) in found.why) == ("", True, True)


@each("status", [500, 502, 429])
def test_a_passing_trouble_is_waited_for(fake: FakeGitHub, status: int) -> None:
    fake.happened("labeled", AFTER, label=LABEL)
    fake.trouble("GET", status, headers={"Retry-After": "1"} if status == 429 else {})
    assert find_approval(github(fake), APPROVAL_EVENT, LABEL, HEADS, HEAD).by
