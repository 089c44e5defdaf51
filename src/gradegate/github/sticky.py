"""The one comment on the pull request: found by marker and author, updated in place, and never worth a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from gradegate.github.client import GitHub, Identity, Later, Never, as_json, patiently, refusal, whoami
from gradegate.github.event import Event
from gradegate.github.stamp import Stamp, read_stamp
from gradegate.http.response import Response

PER_PAGE = 100
MOST_PAGES = 300
ROUNDS = 4  # of writing a comment that an older run writes over
SETTLE = 2.0  # seconds: longer than another job takes from looking at a comment to having written it


@dataclass(frozen=True, slots=True)
class Posted:
    """The comment is on the pull request."""

    url: str


@dataclass(frozen=True, slots=True)
class Left:
    """The comment stays as it is; ``why`` says so in a sentence."""

    url: str
    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The comment could not be written; ``reason`` says why and what to do."""

    reason: str


@dataclass(frozen=True, slots=True)
class When:
    """Whether a comment is created, or only updated, and whether it is left where nothing changed that it was about."""

    create: bool = True
    only_changed: bool = False


def upsert_comment(github: GitHub, event: Event, body: str, stamp: Stamp, when: When = When()) -> Posted | Left | Refused | None:
    """Update our comment, or create it unless told not to (then None). Whatever goes wrong is a Refused.

    A comment of a newer run is left as it is.
    """
    try:
        # Each attempt looks first: a POST that was answered by an error may have left its comment all the same.
        return patiently(github, lambda: _Thread(github, event, stamp, when).upsert(body))
    except Never as e:
        return Refused(str(e))


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
    stamp: Stamp
    when: When

    def upsert(self, body: str) -> Posted | Left | None:
        """Raises Later and Never."""
        text = f"{self.stamp.line}\n{body}".encode("utf-8", "replace").decode()  # GitHub takes no lone surrogate
        me = whoami(self.github, self.event)
        if mine := self._mine(me):
            return self._settle(mine, text)
        if not self.when.create:
            return None
        created = _comment(self._expect(self.github.send("POST", self._comments, {"body": text}), 201))
        mine = sorted({comment.id: comment for comment in (*self._mine(me), created)}.values(), key=lambda it: it.id)
        if mine[0].id == created.id:
            self._clear(mine[1:])
            return Posted(created.html_url)
        # Another job of ours was faster: the oldest comment stays.
        return self._settle(mine, text)

    def _settle(self, mine: list[_Comment], text: str) -> Posted | Left:
        """Write our text into the oldest comment, unless a newer run has; the others go (or, if they must, stay behind).

        GitHub writes whatever it is told, without a look at what was there before. So the comment is looked at right
        before it is written, and again a little later: an older run that looked before we wrote has written by then.
        """
        first, *others = mine
        self._clear(others)
        posted: Posted | None = None
        for _ in range(ROUNDS):
            answer = self.github.send("GET", self._address(first))
            if answer.status == 404:  # deleted since we looked
                raise Later(refusal(answer, self.event), exact=0.0)
            current = _comment(self._expect(answer, 200))
            there = self._stamp(current)
            if self.stamp.older(there):
                return Left(current.html_url, f"a newer run ({there.run}, of commit {there.commit[:7]}) has written it")
            if posted and not there.older(self.stamp):
                return posted
            same = self.when.only_changed and there.findings == self.stamp.findings != ""
            if same:  # what is read stays as it is, and an older run will know all the same that it is late
                text = f"{self.stamp.line}\n{(current.body or '').partition(chr(10))[2]}"
            posted = self._update(current, text)
            if same:
                return Left(current.html_url, f"outcome and failing cases are those of run {there.run}")
            if self.github.patience:  # without, the job has seconds left
                self.github.pause(SETTLE)
        return posted or Posted(first.html_url)

    def _clear(self, comments: list[_Comment]) -> None:
        """Delete what jobs left behind that were at it together; what a newer run has just written, it clears itself."""
        for comment in comments:
            if not self.stamp.older(self._stamp(comment)):
                self.github.send("DELETE", self._address(comment))

    def _stamp(self, comment: _Comment) -> Stamp:
        return read_stamp(comment.body or "", self.stamp.key) or Stamp(self.stamp.key)

    def _mine(self, me: Identity) -> list[_Comment]:
        """Our comments with the marker, oldest first. Anybody can write the marker, so the author counts as well."""
        mine: list[_Comment] = []
        for page in range(1, MOST_PAGES + 1):
            answer = self._expect(self.github.send("GET", f"{self._comments}?per_page={PER_PAGE}&page={page}"), 200)
            items = as_json(answer)
            if not isinstance(items, list):
                raise Never(f"{answer.host} answered something that is not a list of comments")
            mine += [comment for item in items if (comment := _own(item, me, self.stamp.key))]
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


def _own(item: Any, me: Identity, key: str) -> _Comment | None:
    try:
        comment = _Comment.model_validate(item)
    except ValidationError:
        return None  # somebody else's oddity must not stop our report
    user = comment.user
    if user is None or (user.login.lower(), user.type) != (me.login.lower(), me.kind):
        return None
    return comment if read_stamp(comment.body or "", key) else None


def _comment(answer: Response) -> _Comment:
    try:
        return _Comment.model_validate(as_json(answer))
    except ValidationError as e:
        raise Never(f"{answer.host} answered something that is not a comment") from e
