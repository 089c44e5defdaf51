"""The one comment of a key on a pull request: found by its marker and its author, updated in place.

Its first line names its owner, its run and the step that wrote it. So an older run does not overwrite a newer one, and two jobs
that share a key leave a comment each.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from urllib.parse import quote

from msgspec.structs import asdict
from pydantic import BaseModel, ValidationError

from gradegate.github.client import GitHub, Later, Never, as_json, patiently, refusal, whoami
from gradegate.http.exchange import Response
from gradegate.reports.format.escape import Escaped
from gradegate.security.event import Event
from gradegate.structs import FrozenStruct, NamedTexts

ROUNDS = 4  # of writing a comment that an older run writes over
SETTLE = (
    2.0  # seconds: longer than another job takes from looking at a comment to having written it
)
LONGEST_KEY = 200  # characters
_LINE = re.compile(r"<!-- gradegate:(?P<name>\S*)(?P<about>(?: [a-z]+=[0-9a-f]+)*) -->")
_NUMBER = re.compile(r"[0-9]{1,19}")
_HEX = re.compile(r"[0-9a-f]{1,64}")


class Stamp(FrozenStruct):
    """Which job writes a comment: its key, its run and the attempt (0: not known), its commit, and what it found.

    ``findings`` are hexadecimal digits, equal where outcome and failing cases are; ``step`` are those of one start of the Action.
    """

    key: str = ""
    run: int = 0
    attempt: int = 0
    commit: str = ""
    findings: str = ""
    step: str = ""

    @property
    def marker(self) -> str:
        """How the comments of one key begin; a key cannot break out of it, nor take the room of the report."""
        return f"<!-- gradegate:{_named(self.key)}"

    @property
    def line(self) -> str:
        """The first line of a comment."""
        about = asdict(self)
        del about["key"]
        written = (f"{name}={value}" for name, value in about.items() if value)
        return " ".join([self.marker, *written, "-->"])

    def older(self, other: Stamp) -> bool:
        """Whether this is of an older run than the other: one with a lower id, or an earlier attempt of the same run.

        GitHub counts the ids of runs up in a repository, for all workflows together. Who starts an old run again asks
        again for its old commit, so that its attempts stay as old as it is. What does not say its run is older than
        what does, and two jobs of one attempt are of one age.
        """
        return (self.run, self.attempt) < (other.run, other.attempt)

    def is_beside(self, other: Stamp) -> bool:
        """Whether the other is of another step of the same run, and not of a later attempt."""
        is_same_run = self.run == other.run != 0
        return is_same_run and self.step != other.step and not self.older(other)


def read_stamp(text: str, key: str) -> Stamp | None:
    """The stamp of a comment, None for one that is not of this key. What it cannot be is left out."""
    found = _LINE.fullmatch(text.partition("\n")[0].strip())
    if found is None or found["name"] != _named(key):
        return None
    about = defaultdict(str, dict(part.split("=", 1) for part in found["about"].split()))
    run, attempt = _number(about["run"]), _number(about["attempt"])
    return Stamp(key, run, attempt, about["commit"], about["findings"], about["step"])


def stamp(key: str, environ: NamedTexts, commit: str, findings: str, step: str = "") -> Stamp:
    """The stamp of this run, as the runner names it."""
    run = _number(environ.get("GITHUB_RUN_ID", ""))
    attempt = _number(environ.get("GITHUB_RUN_ATTEMPT", ""))
    return Stamp(key, run, attempt, commit if _HEX.fullmatch(commit) else "", findings, step)


def _number(text: str) -> int:
    return int(text) if _NUMBER.fullmatch(text) else 0


def _named(key: str) -> str:
    # No "-->" and no "--" in an HTML comment.
    name = quote(key, safe="", errors="replace").replace("-", "%2D")
    return hashlib.sha256(name.encode()).hexdigest() if len(name) > LONGEST_KEY else name


class Posted(FrozenStruct):
    """The comment is on the pull request."""

    url: str


class Left(FrozenStruct):
    """The comment stays as it is; ``why`` says so in a sentence."""

    url: str
    why: str


class Refused(FrozenStruct):
    """The comment could not be written; ``reason`` says why and what to do."""

    reason: str


def upsert_comment(
    github: GitHub,
    event: Event,
    body: Escaped,
    stamp: Stamp,
    *,
    create: bool = True,
    only_changed: bool = False,
    former: str | None = None,
    is_shared: bool = False,
) -> Posted | Left | Refused | None:
    """Update our comment, or create it unless told not to (then None). Whatever goes wrong is a Refused.

    A comment of a newer run is left as it is; with ``only_changed`` also one where nothing changed that it was about.
    ``former`` is the key that an earlier release gave to the same comment. ``is_shared``: other jobs of the run may have the same key.
    """
    try:
        # Each attempt looks first: a POST that was answered by an error may have left its comment all the same.
        return patiently(
            github,
            lambda: _Thread(github, event, stamp, create, only_changed, former, is_shared).upsert(
                body
            ),
        )
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


class _Thread(FrozenStruct):
    """The comments of one pull request."""

    github: GitHub
    event: Event
    stamp: Stamp
    create: bool
    only_changed: bool
    former: str | None
    is_shared: bool

    def upsert(self, body: Escaped) -> Posted | Left | None:
        """Raises Later and Never."""
        text = f"{self.stamp.line}\n{body}".encode(
            "utf-8", "replace"
        ).decode()  # GitHub takes no lone surrogate
        me = whoami(self.github, self.event)
        if mine := self._mine(me):
            return self._settle(mine, text, self.is_shared)
        if not self.create:
            return None
        created = self._add(text)
        others = [comment for comment in self._mine(me) if comment.id != created.id]
        if all(created.id < comment.id for comment in others):
            self._clear(others)
            return Posted(created.html_url)
        # Another job of ours was faster: the oldest comment stays.
        mine = sorted([*others, created], key=lambda comment: comment.id)
        return self._settle(mine, text, is_contested=True)

    def _add(self, text: str) -> _Comment:
        return self._read(self.github.send("POST", self._comments, {"body": text}), 201)

    def _settle(self, mine: list[_Comment], text: str, is_contested: bool) -> Posted | Left | None:
        """Write our text into the oldest comment, unless a newer run has; the others go (or, if they must, stay behind).

        GitHub writes whatever it is told, without a look at what was there before. So the comment is looked at right
        before it is written. Where another job may be at it, it is looked at again a little later: a job that looked before we
        wrote has written by then.
        """
        first, *others = mine
        self._clear(others)
        posted: Posted | None = None
        for _ in range(ROUNDS):
            current = self._read(self.github.send("GET", self._address(first)))
            there = self._stamp(current)
            if there is None or (self.stamp.is_beside(there) and not there.older(self.stamp)):
                # Another job was faster. It keeps the comment, and we take one of our own.
                return Posted(self._add(text).html_url) if self.create else None
            if self.stamp.older(there):
                why = f"a newer run ({there.run}, of commit {there.commit[:7]}) has written it"
                return Left(current.html_url, why)
            if posted and not there.older(self.stamp):
                return posted
            same = self.only_changed and there.findings == self.stamp.findings != ""
            if same:  # what is read stays as it is, and an older run will know all the same that it is late
                text = f"{self.stamp.line}\n{(current.body or '').partition(chr(10))[2]}"
            written = self.github.send("PATCH", self._address(current), {"body": text})
            posted = Posted(self._read(written).html_url)
            if same:
                why = f"outcome and failing cases are those of run {there.run}"
                return Left(current.html_url, why)
            if not is_contested:
                return posted
            if self.github.patience:  # without, the job has seconds left
                self.github.pause(SETTLE)
        return posted or Posted(first.html_url)

    def _clear(self, comments: list[_Comment]) -> None:
        """Delete what jobs left behind that were at it together; what a newer run has just written, it clears itself."""
        for comment in comments:
            there = self._stamp(comment)
            if there and not self.stamp.older(there):
                self.github.send("DELETE", self._address(comment))

    def _stamp(self, comment: _Comment) -> Stamp | None:
        """The stamp of a comment under our key, or under the former one; None for a comment of another gate."""
        text = comment.body or ""
        there = read_stamp(text, self.stamp.key)
        if there is None and self.former is not None:
            there = read_stamp(text, self.former)
        return there

    def _mine(self, me: tuple[str, str]) -> list[_Comment]:
        """Our comments, oldest first: those under our key, else those that an older run left under the former key."""
        under_key, former, beside = [], [], []
        for comment in self._written_by(me):
            there = self._stamp(comment)
            if there is None:
                continue
            if there.key != self.stamp.key:
                if there.older(self.stamp):
                    former.append(comment)
            elif self.stamp.is_beside(there):
                beside.append((comment, there))
            else:
                under_key.append(comment)
        # A single one of an earlier attempt is that of this job, which runs again. Of several nobody can tell which is.
        if len(beside) == 1 and beside[0][1].older(self.stamp):
            under_key.append(beside[0][0])
        return sorted(under_key or former, key=lambda comment: comment.id)

    def _written_by(self, me: tuple[str, str]) -> Iterator[_Comment]:
        """The comments of an author. Anybody can write a marker, so the author counts as well."""
        what = f"the list of comments of pull request {self.event.number}"
        refused = partial(refusal, event=self.event)
        for item in self.github.pages(self._comments, what, "a list of comments", refused):
            try:
                comment = _Comment.model_validate(item)
            except ValidationError:
                continue  # somebody else's oddity must not stop our report
            user = comment.user
            if user and (user.login.lower(), user.type) == (me[0].lower(), me[1]):
                yield comment

    def _read(self, answer: Response, status: int = 200) -> _Comment:
        """The comment that GitHub shows or has written. Raises Later where it was deleted since we looked, and Never."""
        if answer.status == 404 and status == 200:  # or the token may not write
            raise Later(refusal(answer, self.event), exact=0.0)
        if answer.status != status:
            raise Never(refusal(answer, self.event))
        try:
            return _Comment.model_validate(as_json(answer))
        except ValidationError as e:
            raise Never(f"{answer.host} answered something that is not a comment") from e

    @property
    def _comments(self) -> str:
        return (
            f"{self.github.api}/repos/{self.event.repository}/issues/{self.event.number}/comments"
        )

    def _address(self, comment: _Comment) -> str:
        return f"{self.github.api}/repos/{self.event.repository}/issues/comments/{comment.id}"
