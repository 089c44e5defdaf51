"""The one comment on the pull request: found by marker and author, updated in place, and never worth a verdict."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from gradegate.asking.response import Response
from gradegate.github.client import GitHub, Identity, Later, Never, as_json, patiently, refusal, whoami
from gradegate.github.event import Event

PER_PAGE = 100
MOST_PAGES = 300
LONGEST_KEY = 200  # characters


@dataclass(frozen=True, slots=True)
class Posted:
    """The comment is on the pull request."""

    url: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The comment could not be written; ``reason`` says why and what to do."""

    reason: str


def upsert_comment(
    github: GitHub, event: Event, body: str, key: str = "", create: bool = True
) -> Posted | Refused | None:
    """Update our comment, or create it unless told not to (then None). Whatever goes wrong is a Refused."""
    try:
        # Each attempt looks first: a POST that was answered by an error may have left its comment all the same.
        return patiently(github, lambda: _Thread(github, event, marker(key)).upsert(body, create))
    except Never as e:
        return Refused(str(e))


def marker(key: str) -> str:
    """Give the first line of our comment; a key cannot break out of it, nor take the room of the report."""
    name = quote(key, safe="", errors="replace").replace("-", "%2D")  # no "-->" and no "--" in an HTML comment
    if len(name) > LONGEST_KEY:
        name = hashlib.sha256(name.encode()).hexdigest()
    return f"<!-- gradegate:{name} -->"


class _User(BaseModel):
    login: str
    type: str


class _Comment(BaseModel):
    id: int
    html_url: str
    body: str | None = None
    user: _User | None = None


@dataclass(frozen=True, slots=True)
class _Thread:
    """The comments of one pull request."""

    github: GitHub
    event: Event
    marker: str

    def upsert(self, body: str, create: bool) -> Posted | None:
        """Raises Later and Never."""
        text = f"{self.marker}\n{body}".encode("utf-8", "replace").decode()  # GitHub takes no lone surrogate
        me = whoami(self.github, self.event)
        if mine := self._mine(me):
            return self._update(mine[0], text)
        if not create:
            return None
        created = _comment(self._expect(self.github.send("POST", self._comments, {"body": text}), 201))
        first = min([*self._mine(me), created], key=lambda comment: comment.id)
        if first.id == created.id:
            return Posted(created.html_url)
        # Another job of ours was faster: the oldest comment stays, ours goes (or, if it must, stays behind).
        posted = self._update(first, text)
        self.github.send("DELETE", self._address(created))
        return posted

    def _mine(self, me: Identity) -> list[_Comment]:
        """Our comments with the marker, oldest first. Anybody can write the marker, so the author counts as well."""
        mine: list[_Comment] = []
        for page in range(1, MOST_PAGES + 1):
            answer = self._expect(self.github.send("GET", f"{self._comments}?per_page={PER_PAGE}&page={page}"), 200)
            items = as_json(answer)
            if not isinstance(items, list):
                raise Never(f"{answer.host} answered something that is not a list of comments")
            mine += [comment for item in items if (comment := _own(item, me, self.marker))]
            if 'rel="next"' not in answer.headers.get("link", "") and len(items) < PER_PAGE:
                break
        return sorted(mine, key=lambda comment: comment.id)

    def _update(self, comment: _Comment, text: str) -> Posted:
        answer = self.github.send("PATCH", self._address(comment), {"body": text})
        if answer.status == 404:  # deleted since we looked, or the token may not write
            raise Later(refusal(answer, self.event), exact=0.0)
        return Posted(_comment(self._expect(answer, 200)).html_url)

    def _expect(self, answer: Response, status: int) -> Response:
        if answer.status != status:
            raise Never(refusal(answer, self.event))
        return answer

    @property
    def _comments(self) -> str:
        return f"{self.github.api}/repos/{self.event.repository}/issues/{self.event.number}/comments"

    def _address(self, comment: _Comment) -> str:
        return f"{self.github.api}/repos/{self.event.repository}/issues/comments/{comment.id}"


def _own(item: Any, me: Identity, marker: str) -> _Comment | None:
    try:
        comment = _Comment.model_validate(item)
    except ValidationError:
        return None  # somebody else's oddity must not stop our report
    user = comment.user
    if user is None or (user.login.lower(), user.type) != (me.login.lower(), me.kind):
        return None
    return comment if (comment.body or "").partition("\n")[0].strip() == marker else None


def _comment(answer: Response) -> _Comment:
    try:
        return _Comment.model_validate(as_json(answer))
    except ValidationError as e:
        raise Never(f"{answer.host} answered something that is not a comment") from e
