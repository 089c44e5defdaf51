"""A small GitHub on loopback: the timeline and the files of a pull request, issue comments with authors, pages, permissions and limits; GET /user; GraphQL viewer.

What it is asked and what it answers is held to what GitHub publishes when its test ends (`contract.py`).
"""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support import contract
from support import github_shapes as shapes
from support.loopback import JsonHandler, listening

BODY_LIMIT = 65_536
NO_ACCESS = "Resource not accessible by integration"
LIST = re.compile(r"/repos/([^/]+/[^/]+)/issues/(\d+)/comments")
TIMELINE = re.compile(r"/repos/([^/]+/[^/]+)/issues/(\d+)/timeline")
PULL = re.compile(r"/repos/([^/]+/[^/]+)/pulls/(\d+)(/files)?")
PULLS = re.compile(r"/repos/([^/]+/[^/]+)/pulls")
ACTIONS = re.compile(r"/repos/([^/]+/[^/]+)/(actions/(?:workflows|runs|artifacts)|branches|compare)/([^/]+)(?:/[a-z]+)?")
MOST_FILES = 3000  # of a pull request, however many there are
ONE = re.compile(r"/repos/([^/]+/[^/]+)/issues/comments/(\d+)")


@dataclass(frozen=True)
class Token:
    """Whose a token is and whether it may write."""

    login: str
    kind: str = "Bot"
    writes: bool = True
    actions: bool = True  # whether it may read runs and artifacts


@dataclass(frozen=True)
class Seen:
    """One request as it came; ``headers`` in lower case."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


@dataclass
class Trouble:
    """An answer out of turn to the next requests of a method; ``after`` does the work first, as a cut-off proxy does."""

    method: str
    status: int
    message: str = "trouble"
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    after: bool = False
    path: str = ""  # only where the path holds this


@dataclass
class FakeGitHub:
    """The state. ``before`` runs ahead of each request: the place to let another job be faster.

    ``unlike`` are words for what a test has the client or this fake do that the real ones never would: what is wrong is
    looked for in them, and each of them must be needed.
    """

    url: str = ""
    graphql: str = ""
    repository: str = "octo-org/octo-repo"
    tokens: dict[str, Token] = field(default_factory=lambda: {"ghs_actions": Token("github-actions[bot]")})
    comments: list[dict[str, Any]] = field(default_factory=list)
    timeline: list[dict[str, Any]] = field(default_factory=list)
    pull: dict[str, Any] = field(default_factory=dict)  # the pull request, but for how many files it changes
    files: list[dict[str, Any]] = field(default_factory=list)  # that it changes
    pulls: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # open ones, by `user:branch`
    runs: list[dict[str, Any]] = field(default_factory=list)  # of workflows
    artifacts: list[tuple[int, dict[str, Any], bytes]] = field(default_factory=list)  # with the run that left them, and what is handed out
    commits: list[str] = field(default_factory=list)  # of the branch main, oldest first
    filters: bool = True  # of lists of runs; without, whatever there is is listed
    storage: str = ""  # where artifacts lie, on another host
    handed: list[dict[str, str]] = field(default_factory=list)  # headers of the requests for them
    seen: list[Seen] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    before: Callable[[Seen], None] = lambda seen: None
    next_id: int = 1
    page_cap: int = 100
    links: bool = True  # a proxy may drop the Link header
    unlike: tuple[str, ...] = ()
    exchanges: list[tuple[Seen, int, bytes]] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def add(self, login: str, body: Any, kind: str = "User", number: int = 7) -> dict[str, Any]:
        """A comment, as the API shows it."""
        with self.lock:
            author = shapes.user(login, kind)
            comment = shapes.comment(self.url, self.repository, number, self.next_id, body, author)
            self.next_id += 1
            self.comments.append(comment)
            return comment

    def happened(self, event: str, at: str, actor: str = "mona", label: str = "", kind: str = "User") -> None:
        """Put an item into the timeline, as the API shows it; ``at`` is ISO 8601."""
        self.timeline.append(shapes.happening(len(self.timeline) + 1, event, at, shapes.user(actor, kind), label))

    def changes(self, name: str, status: str = "modified", before: str = "") -> None:
        """Put a file into what the pull request changes, as the API shows it."""
        self.files.append(shapes.file(name, status, before))

    def committed(self, sha: str, at: str) -> None:
        """Put a commit into the timeline: it has the dates that its author gave it, and no other."""
        self.timeline.append(shapes.commit(sha, at))

    def ran(self, own: int, sha: str, source: str = "", **about: str) -> None:
        """Put a run of a workflow there, as the API shows it: a push to main, where nothing else is said."""
        given = {"event": "push", "branch": "main", "path": ".github/workflows/evals.yml", **about}
        self.runs.append(shapes.run(self.repository, own, source or self.repository, sha=sha, **given))

    def left(self, run: int, name: str, packed: bytes, **about: Any) -> None:
        """Put the artifact of a run there."""
        given = {"size": len(packed), "digest": f"sha256:{hashlib.sha256(packed).hexdigest()}", "expired": False, **about}
        self.artifacts.append((run, shapes.artifact(self.next_id, name, **given), packed))
        self.next_id += 1

    def trouble(self, method: str, status: int, message: str = "trouble", **more: Any) -> None:
        """Script an answer out of turn."""
        self.troubles.append(Trouble(method, status, message, **more))

    def asked(self, method: str) -> list[Seen]:
        """The requests of one method."""
        return [seen for seen in self.seen if seen.method == method]

    def answer(self, seen: Seen) -> tuple[int, dict[str, str], Any]:
        """Status, headers and JSON for one request."""
        self.before(seen)
        with self.lock:
            self.seen.append(seen)
            trouble = next((t for t in self.troubles if t.method == seen.method and t.path in seen.path), None)
            if trouble is None:
                return self._serve(seen)
            trouble.times -= 1
            if trouble.times <= 0:
                self.troubles.remove(trouble)
            if trouble.after:
                self._serve(seen)
            return trouble.status, trouble.headers, shapes.error(trouble.status, trouble.message)

    def _serve(self, seen: Seen) -> tuple[int, dict[str, str], Any]:
        if not seen.headers.get("user-agent"):
            return _refused(403, "Request forbidden by administrative rules. Please make sure ... User-Agent")
        token = self.tokens.get(seen.headers.get("authorization", "").removeprefix("Bearer "))
        if token is None:
            return _refused(401, "Bad credentials")
        if seen.path == "/graphql":
            return 200, {}, {"data": {"viewer": {"login": token.login}}}
        if seen.path == "/user":
            if token.kind == "Bot":
                return _refused(403, NO_ACCESS)
            return 200, {}, shapes.account(token.login, token.kind)
        actions = ACTIONS.fullmatch(seen.path)
        if actions and actions[1] == self.repository and seen.method == "GET":
            return self._actions(seen, actions[2], actions[3]) if token.actions else _refused(403, NO_ACCESS)
        return self._comments(seen, token)

    def _actions(self, seen: Seen, kind: str, which: str) -> tuple[int, dict[str, str], Any]:
        """Runs of a workflow, artifacts of a run, an artifact, a branch, or how a commit lies to another."""
        asked = {name: values[-1] for name, values in seen.query.items()}
        if kind == "actions/workflows":
            own = [it for it in self.runs if not self.filters or (it["event"], it["head_branch"]) == (asked["event"], asked["branch"])]
            listed = sorted(own, key=lambda it: -it["id"])[: int(asked["per_page"])]
            return 200, {}, {"total_count": len(own), "workflow_runs": listed}
        if kind == "actions/runs":
            shown = [it for run, it, _ in self.artifacts if str(run) == which]
            size, page = int(asked["per_page"]), int(asked["page"])
            return 200, {}, {"total_count": len(shown), "artifacts": shown[(page - 1) * size : page * size]}
        if kind == "actions/artifacts":
            expired = any(it["expired"] for _, it, _ in self.artifacts if str(it["id"]) == which)
            return _refused(410, "Gone") if expired else (302, {"Location": f"{self.storage}/{which}?sig=secret"}, None)
        if kind == "branches":
            return (200, {}, shapes.branch(which, self.commits[-1])) if which == "main" else _refused(404, "Branch not found")
        base, _, head = which.partition("...")
        return 200, {}, shapes.comparison(base, "identical" if base == head else "behind" if head in self.commits else "diverged")

    def _comments(self, seen: Seen, token: Token) -> tuple[int, dict[str, str], Any]:
        timeline = TIMELINE.fullmatch(seen.path)
        if timeline and timeline[1] == self.repository and seen.method == "GET":
            return self._page(seen, self.timeline)
        listed = PULLS.fullmatch(seen.path)
        if listed and listed[1] == self.repository and seen.method == "GET":
            head = seen.query.get("head", [""])[0]
            whole = [shapes.listed_pull(self.repository, 7, head) for _ in self.pulls.get(head, [])]
            return self._page(seen, [*map(shapes.overlaid, whole, self.pulls.get(head, []))])
        pull = PULL.fullmatch(seen.path)
        if pull and pull[1] == self.repository and seen.method == "GET":
            if pull[3]:
                return self._page(seen, self.files[:MOST_FILES])
            whole = shapes.pull(self.repository, int(pull[2]), len(self.files))
            return 200, {}, shapes.overlaid(whole, self.pull)
        of_issue, one = LIST.fullmatch(seen.path), ONE.fullmatch(seen.path)
        found = of_issue or one
        if found is None or found[1] != self.repository:
            return _refused(404, "Not Found")
        if seen.method == "GET" and of_issue:
            issue = f"/issues/{of_issue[2]}"
            return self._page(seen, [c for c in self.comments if str(c.get("issue_url", "")).endswith(issue)])
        if seen.method == "GET" and one:
            named = next((c for c in self.comments if c["id"] == int(one[2])), None)
            return (200, {}, named) if named else _refused(404, "Not Found")
        if not token.writes:
            return _refused(403, NO_ACCESS)
        if seen.method in ("POST", "PATCH") and (refused := _unacceptable(seen.body)):
            return refused
        if seen.method == "POST" and of_issue:
            return 201, {}, self.add(token.login, seen.body["body"], token.kind, int(of_issue[2]))
        comment = next((c for c in self.comments if one and c["id"] == int(one[2])), None)
        if comment is None:
            return _refused(404, "Not Found")
        if seen.method == "DELETE":
            self.comments.remove(comment)
            return 204, {}, None
        # GitHub lets whoever may write edit anybody's comment: only the client can know better.
        comment["body"] = seen.body["body"]
        return 200, {}, comment

    def _page(self, seen: Seen, items: list[dict[str, Any]]) -> tuple[int, dict[str, str], Any]:
        asked = seen.query.get("per_page", ["30"])[0]
        size = min(int(asked) if asked.isdecimal() else 30, self.page_cap)
        page = int(seen.query.get("page", ["1"])[0])
        more = {}
        if self.links and page * size < len(items):
            more["Link"] = f'<{self.url}{seen.path}?per_page={size}&page={page + 1}>; rel="next"'
        return 200, more, items[(page - 1) * size : page * size]


def _refused(status: int, message: str, *wrong: str) -> tuple[int, dict[str, str], Any]:
    about = {"resource": "IssueComment", "code": "unprocessable", "field": "data"}
    return status, {}, shapes.error(status, message, *({**about, "message": words} for words in wrong))


def _unacceptable(body: Any) -> tuple[int, dict[str, str], Any] | None:
    text = body.get("body") if isinstance(body, dict) else None
    if not isinstance(text, str) or any("\ud800" <= c <= "\udfff" for c in text):
        return _refused(400, "Problems parsing JSON")
    if not text.strip():
        return _refused(422, "Validation Failed", "Body can't be blank")
    if len(text) > BODY_LIMIT:
        return _refused(422, "Validation Failed", f"Body is too long (maximum is {BODY_LIMIT} characters)")
    return None


class _Handler(JsonHandler):
    fake: FakeGitHub
    root: str

    def respond(self) -> None:
        raw = self.read()
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(raw) if raw else None
        seen = Seen(self.command, self._below(url.path), parse_qs(url.query), headers, body)
        try:
            status, more, value = self.fake.answer(seen)
        except Exception:
            self.fake.exchanges.append((seen, 500, b'{"message": "the fake is at its wits\' end"}'))
            raise
        sent = b"" if value is None else json.dumps(value).encode()
        self.fake.exchanges.append((seen, status, sent))
        self.answer(status, sent, more)

    def _below(self, path: str) -> str:
        """The path below the address of the API; one that is elsewhere stays whole, and is no operation."""
        if self.root and path.startswith("/api/"):
            return "/graphql" if path == "/api/graphql" else path.removeprefix(self.root)
        return path if not self.root else f"/not-the-api{path}"


class _Storage(JsonHandler):
    """Hands out artifacts to whoever has the address, and to nobody who shows a token."""

    fake: FakeGitHub

    def respond(self) -> None:
        self.fake.handed.append({name.lower(): value for name, value in self.headers.items()})
        packed = next(it for _, about, it in self.fake.artifacts if about["id"] == int(urlsplit(self.path).path[1:]))
        self.answer(400 if "Authorization" in self.headers else 200, packed, {"Content-Type": "application/zip"})


@contextmanager
def serve(repository: str = "octo-org/octo-repo", enterprise: bool = False) -> Iterator[FakeGitHub]:
    """Run a fake on a free port of 127.0.0.1, with the addresses of github.com or of an Enterprise Server.

    When the test is done, what was asked and answered is held to what GitHub publishes. Raises AssertionError.
    """
    fake = FakeGitHub(repository=repository)
    root = "/api/v3" if enterprise else ""
    with listening(_Handler, fake=fake, root=root) as port, listening(_Storage, fake=fake) as storage:
        fake.storage = f"http://127.0.0.1:{storage}"
        fake.url = f"http://127.0.0.1:{port}{root}"
        fake.graphql = f"http://127.0.0.1:{port}{'/api' if enterprise else ''}/graphql"
        yield fake
    _hold(fake)


HELD = contract.Held()


def _hold(fake: FakeGitHub) -> None:
    if not fake.exchanges or contract.missing():
        return
    found: dict[str, None] = {}
    for seen, status, sent in fake.exchanges:
        exchange = contract.Exchange(
            seen.method, seen.path, seen.query, seen.headers, seen.body, status, json.loads(sent) if sent else None
        )
        found |= dict.fromkeys(HELD.problems(exchange))
    unsaid = [problem for problem in found if not any(word in problem for word in fake.unlike)]
    idle = [f"nothing is {word!r}" for word in fake.unlike if not any(word in problem for problem in found)]
    assert not unsaid + idle, "GitHub is not like this:\n" + "\n".join([*unsaid, *idle][:40])
