"""Runs that end in another order than they began, and jobs that write at once: one comment, whole, of the newest run."""

import itertools
import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradegate.github import sticky
from gradegate.github.client import GitHub, connect
from gradegate.github.event import Event
from gradegate.github.sticky import Left, Posted, Stamp, read_stamp, stamp, upsert_comment
from support.each import each
from support.fake_github import FakeGitHub, Seen
from support.patience import PATIENCE

REPOSITORY = "octo-org/octo-repo"
EVENT = Event("pull_request", REPOSITORY, 7, "a" * 40, "b" * 40, REPOSITORY, REPOSITORY)
BOT = "github-actions[bot]"


def github(fake: FakeGitHub) -> GitHub:
    environ = {"GITHUB_API_URL": fake.url, "GITHUB_GRAPHQL_URL": f"{fake.url}/graphql"}
    return replace(connect(environ, "ghs_actions"), pause=lambda seconds: None)


def run(number: int, attempt: int = 1, findings: str = "") -> Stamp:
    return Stamp("", number, attempt, f"{number:040x}", findings)


def body(own: Stamp) -> str:
    return f"report of {own.run}.{own.attempt}\n" + "a line of it\n" * 300 + f"end of {own.run}.{own.attempt}"


def post(fake: FakeGitHub, own: Stamp, only_changed: bool = False) -> object:
    return upsert_comment(github(fake), EVENT, body(own), own, only_changed=only_changed)


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
        assert seconds == sticky.SETTLE
        late.set()
        older.result(PATIENCE)

    fake.before = hold
    with ThreadPoolExecutor() as pool:
        older = pool.submit(post, fake, run(4))
        while not [seen for seen in fake.seen if seen.method == "GET" and seen.path.endswith("/comments/1")]:
            late.wait(0.01)
        newer = upsert_comment(replace(github(fake), pause=pause), EVENT, body(run(5)), run(5))
    assert isinstance(newer, Posted)
    assert isinstance(older.result(), Posted)  # it did write over the newer one
    wrote = [read_stamp(seen.body["body"], "") for seen in fake.asked("PATCH")]
    assert [own.run for own in wrote if own] == [5, 4, 5]
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
            upsert_comment(own, EVENT, body(stamps[number]), stamps[number])
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
    assert read_stamp(f"{own.line}\r\ntext", key) == own
    assert read_stamp(own.line, f"{key}x") is None
    assert "--" not in own.line[4:-3]


@each("line", ["", "<!-- gradegate: run=x -->", "<!-- gradegate:-->", "x <!-- gradegate: -->", "<!-- gradegate: -"])
def test_another_line_is_no_stamp(line: str) -> None:
    assert read_stamp(line, "") is None


def test_what_the_runner_does_not_say_is_not_in_the_stamp() -> None:
    assert stamp("k", {"GITHUB_RUN_ID": "12", "GITHUB_RUN_ATTEMPT": "2"}, "a" * 40, "0f") == Stamp("k", 12, 2, "a" * 40, "0f")
    assert stamp("", {"GITHUB_RUN_ID": "-->", "GITHUB_RUN_ATTEMPT": "9" * 30}, "--> @all", "") == Stamp()
