"""A small GitHub on loopback: the timeline and the files of a pull request, issue comments with authors, pages, permissions and limits; GET /user; GraphQL viewer."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

from support.loopback import JsonHandler, listening

BODY_LIMIT = 65_536
NO_ACCESS = "Resource not accessible by integration"
LIST = re.compile(r"/repos/([^/]+/[^/]+)/issues/(\d+)/comments")
TIMELINE = re.compile(r"/repos/([^/]+/[^/]+)/issues/(\d+)/timeline")
PULL = re.compile(r"/repos/([^/]+/[^/]+)/pulls/(\d+)(/files)?")
PULLS = re.compile(r"/repos/([^/]+/[^/]+)/pulls")
MOST_FILES = 3000  # of a pull request, however many there are
ONE = re.compile(r"/repos/([^/]+/[^/]+)/issues/comments/(\d+)")


@dataclass(frozen=True)
class Token:
    """Whose a token is and whether it may write."""

    login: str
    kind: str = "Bot"
    writes: bool = True


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
    """The state. ``before`` runs ahead of each request: the place to let another job be faster."""

    url: str = ""
    repository: str = "octo-org/octo-repo"
    tokens: dict[str, Token] = field(default_factory=lambda: {"ghs_actions": Token("github-actions[bot]")})
    comments: list[dict[str, Any]] = field(default_factory=list)
    timeline: list[dict[str, Any]] = field(default_factory=list)
    pull: dict[str, Any] = field(default_factory=dict)  # the pull request, but for how many files it changes
    files: list[dict[str, Any]] = field(default_factory=list)  # that it changes
    pulls: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # open ones, by `user:branch`
    seen: list[Seen] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    before: Callable[[Seen], None] = lambda seen: None
    next_id: int = 1
    page_cap: int = 100
    links: bool = True  # a proxy may drop the Link header
    lock: threading.RLock = field(default_factory=threading.RLock)

    def add(self, login: str, body: Any, kind: str = "User", number: int = 7) -> dict[str, Any]:
        """A comment, as the API shows it."""
        with self.lock:
            comment = {
                "id": self.next_id,
                "html_url": f"https://github.test/{self.repository}/pull/{number}#issuecomment-{self.next_id}",
                "issue_url": f"{self.url}/repos/{self.repository}/issues/{number}",
                "body": body,
                "user": {"login": login, "type": kind},
            }
            self.next_id += 1
            self.comments.append(comment)
            return comment

    def happened(self, event: str, at: str, actor: str = "mona", label: str = "", kind: str = "User") -> None:
        """Put an item into the timeline, as the API shows it; ``at`` is ISO 8601."""
        named = {"label": {"name": label, "color": "ededed"}} if label else {}
        item = {"id": len(self.timeline) + 1, "event": event, "created_at": at, "commit_id": None, **named}
        self.timeline.append({**item, "actor": {"login": actor, "id": crc32(actor.lower().encode()), "type": kind}})

    def changes(self, name: str, status: str = "modified", before: str = "") -> None:
        """Put a file into what the pull request changes, as the API shows it."""
        renamed = {"previous_filename": before} if before else {}
        self.files.append({"sha": "d" * 40, "filename": name, "status": status, "changes": 1, **renamed})

    def committed(self, sha: str, at: str) -> None:
        """Put a commit into the timeline: it has the dates that its author gave it, and no other."""
        person = {"name": "x", "email": "x@example.org", "date": at}
        self.timeline.append({"event": "committed", "sha": sha, "author": person, "committer": person})

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
            return trouble.status, trouble.headers, {"message": trouble.message}

    def _serve(self, seen: Seen) -> tuple[int, dict[str, str], Any]:
        if not seen.headers.get("user-agent"):
            return 403, {}, {"message": "Request forbidden by administrative rules. Please make sure ... User-Agent"}
        token = self.tokens.get(seen.headers.get("authorization", "").removeprefix("Bearer "))
        if token is None:
            return 401, {}, {"message": "Bad credentials"}
        if seen.path == "/graphql":
            return 200, {}, {"data": {"viewer": {"login": token.login}}}
        if seen.path == "/user":
            if token.kind == "Bot":
                return 403, {}, {"message": NO_ACCESS}
            return 200, {}, {"login": token.login, "type": token.kind}
        return self._comments(seen, token)

    def _comments(self, seen: Seen, token: Token) -> tuple[int, dict[str, str], Any]:
        timeline = TIMELINE.fullmatch(seen.path)
        if timeline and timeline[1] == self.repository and seen.method == "GET":
            return self._page(seen, self.timeline)
        listed = PULLS.fullmatch(seen.path)
        if listed and listed[1] == self.repository and seen.method == "GET":
            return self._page(seen, self.pulls.get(seen.query["head"][0], []))
        pull = PULL.fullmatch(seen.path)
        if pull and pull[1] == self.repository and seen.method == "GET":
            whole = {"number": int(pull[2]), "changed_files": len(self.files), **self.pull}
            return self._page(seen, self.files[:MOST_FILES]) if pull[3] else (200, {}, whole)
        of_issue, one = LIST.fullmatch(seen.path), ONE.fullmatch(seen.path)
        found = of_issue or one
        if found is None or found[1] != self.repository:
            return 404, {}, {"message": "Not Found"}
        if seen.method == "GET" and of_issue:
            issue = f"/issues/{of_issue[2]}"
            return self._page(seen, [c for c in self.comments if str(c.get("issue_url", "")).endswith(issue)])
        if seen.method == "GET" and one:
            named = next((c for c in self.comments if c["id"] == int(one[2])), None)
            return (200, {}, named) if named else (404, {}, {"message": "Not Found"})
        if not token.writes:
            return 403, {}, {"message": NO_ACCESS}
        if seen.method in ("POST", "PATCH") and (refused := _unacceptable(seen.body)):
            return refused
        if seen.method == "POST" and of_issue:
            return 201, {}, self.add(token.login, seen.body["body"], token.kind, int(of_issue[2]))
        comment = next((c for c in self.comments if one and c["id"] == int(one[2])), None)
        if comment is None:
            return 404, {}, {"message": "Not Found"}
        if seen.method == "DELETE":
            self.comments.remove(comment)
            return 204, {}, None
        # GitHub lets whoever may write edit anybody's comment: only the client can know better.
        comment["body"] = seen.body["body"]
        return 200, {}, comment

    def _page(self, seen: Seen, items: list[dict[str, Any]]) -> tuple[int, dict[str, str], Any]:
        size = min(int(seen.query.get("per_page", ["30"])[0]), self.page_cap)
        page = int(seen.query.get("page", ["1"])[0])
        more = {}
        if self.links and page * size < len(items):
            more["Link"] = f'<{self.url}{seen.path}?per_page={size}&page={page + 1}>; rel="next"'
        return 200, more, items[(page - 1) * size : page * size]


def _unacceptable(body: Any) -> tuple[int, dict[str, str], Any] | None:
    text = body.get("body") if isinstance(body, dict) else None
    if not isinstance(text, str) or any("\ud800" <= c <= "\udfff" for c in text):
        return 400, {}, {"message": "Problems parsing JSON"}
    if not text.strip():
        return 422, {}, {"message": "Validation Failed", "errors": [{"message": "Body can't be blank"}]}
    if len(text) > BODY_LIMIT:
        error = {"message": f"Body is too long (maximum is {BODY_LIMIT} characters)"}
        return 422, {}, {"message": "Validation Failed", "errors": [error]}
    return None


class _Handler(JsonHandler):
    fake: FakeGitHub

    def respond(self) -> None:
        raw = self.read()
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(raw) if raw else None
        seen = Seen(self.command, url.path, parse_qs(url.query), headers, body)
        status, more, value = self.fake.answer(seen)
        self.answer(status, b"" if value is None else value, more)


@contextmanager
def serve(repository: str = "octo-org/octo-repo") -> Iterator[FakeGitHub]:
    """Run a fake on a free port of 127.0.0.1."""
    fake = FakeGitHub(repository=repository)

    with listening(_Handler, fake=fake) as port:
        fake.url = f"http://127.0.0.1:{port}"
        yield fake
