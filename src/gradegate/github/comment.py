"""The one comment of a gate on a pull request: found by its marker and its author, updated in place.

Its first line names the gate, the run and the step that wrote it. So an older run does not overwrite a newer one, and two jobs that
share a key leave a comment each.
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

from gradegate.github.client import (
    GitHub,
    GitHubError,
    RetryableError,
    User,
    explain_refusal,
    parse_json,
    retry_requests,
    token_owner,
)
from gradegate.http.exchange import Response
from gradegate.reports.format.escape import Escaped
from gradegate.security.event import Event
from gradegate.structs import FrozenStruct, NamedTexts

ROUNDS = 4  # of writing a comment that an older run overwrites
SETTLE = 2.0  # seconds; another job takes less from reading a comment to writing it
LONGEST_KEY = 200  # characters
_LINE = re.compile(r"<!-- gradegate:(?P<key>\S*)(?P<fields>(?: [a-z]+=[0-9a-f]+)*) -->")
_NUMBER = re.compile(r"[0-9]{1,19}")
_HEX = re.compile(r"[0-9a-f]{1,64}")


class Stamp(FrozenStruct):
    """What the first line of a comment says about the job that wrote it."""

    key: str = ""  # of the gate
    run: int = 0  # 0: not known
    attempt: int = 0
    commit: str = ""
    findings: str = ""  # hexadecimal digits, equal for equal outcomes and failing cases
    step: str = ""  # hexadecimal digits of one start of the Action

    @classmethod
    def from_environ(
        cls, key: str, environ: NamedTexts, commit: str, findings: str, step: str = ""
    ) -> Stamp:
        """The stamp of this run, as the runner names it."""
        return cls(
            key,
            _parse_number(environ.get("GITHUB_RUN_ID", "")),
            _parse_number(environ.get("GITHUB_RUN_ATTEMPT", "")),
            commit if _HEX.fullmatch(commit) else "",
            findings,
            step,
        )

    @property
    def marker(self) -> str:
        """The start of all comments of one key. A key cannot break out of it, nor take the room of the report."""
        return f"<!-- gradegate:{_encode_key(self.key)}"

    @property
    def line(self) -> str:
        """The first line of a comment."""
        fields = asdict(self)
        del fields["key"]
        words = [f"{name}={value}" for name, value in fields.items() if value]
        return " ".join([self.marker, *words, "-->"])

    def is_older_than(self, other: Stamp) -> bool:
        """Whether this run has a lower id, or is an earlier attempt of the same run.

        GitHub numbers the runs of a repository, those of all workflows together. An old run that is started again checks out its
        old commit, so its attempts stay as old as the run. A run that is not known is older than any other. Two jobs of one attempt
        are of the same age.
        """
        return (self.run, self.attempt) < (other.run, other.attempt)

    def is_of_other_step(self, other: Stamp) -> bool:
        """Whether the other stamp is of another step of the same run, and not of a later attempt."""
        is_same_run = self.run == other.run != 0
        return is_same_run and self.step != other.step and not self.is_older_than(other)


def parse_stamp(text: str, key: str) -> Stamp | None:
    """The stamp of a comment. None if the comment is not of this key."""
    line = _LINE.fullmatch(text.partition("\n")[0].strip())
    if line is None or line["key"] != _encode_key(key):
        return None
    fields = defaultdict(str, dict(field.split("=", 1) for field in line["fields"].split()))
    return Stamp(
        key,
        _parse_number(fields["run"]),
        _parse_number(fields["attempt"]),
        fields["commit"],
        fields["findings"],
        fields["step"],
    )


def _parse_number(text: str) -> int:
    return int(text) if _NUMBER.fullmatch(text) else 0


def _encode_key(key: str) -> str:
    """A key for an HTML comment, which must not contain ``--``."""
    encoded = quote(key, safe="", errors="replace").replace("-", "%2D")
    return hashlib.sha256(encoded.encode()).hexdigest() if len(encoded) > LONGEST_KEY else encoded


class Posted(FrozenStruct):
    """The comment is on the pull request."""

    url: str


class Left(FrozenStruct):
    """The comment stays as it is. ``why`` is a sentence."""

    url: str
    why: str


class Refused(FrozenStruct):
    """The comment could not be written. ``reason`` says why and what to do."""

    reason: str


class _Comment(BaseModel):
    id: int
    html_url: str
    body: str | None = None
    user: User | None = None


class CommentThread(FrozenStruct):
    """The comments of one pull request, and how a gate writes its own. Private methods raise RetryableError and GitHubError."""

    github: GitHub
    event: Event
    stamp: Stamp
    create: bool = True  # whether a comment may be created
    only_changed: bool = False  # write only if outcome or failing cases are others
    former: str | None = None  # the key that an earlier release gave to the same comment
    is_shared: bool = False  # whether other jobs of the run may have the same key

    def update(self, body: Escaped) -> Posted | Left | Refused | None:
        """Write the comment: update ours, or create one. None if there is none and none may be created.

        A comment of a newer run stays as it is.
        """
        try:
            # Each attempt looks first: a POST with an error as its answer may have left its comment all the same.
            return retry_requests(self.github, lambda: self._update(body))
        except GitHubError as e:
            return Refused(str(e))

    def _update(self, body: Escaped) -> Posted | Left | None:
        """Write the comment in one attempt. Raises RetryableError and GitHubError."""
        text = f"{self.stamp.line}\n{body}"
        text = text.encode("utf-8", "replace").decode()  # GitHub takes no lone surrogate
        author = token_owner(self.github, self.event)
        comments = self._find_ours(author)
        if comments:
            return self._overwrite(comments, text, self.is_shared)
        if not self.create:
            return None

        created = self._add(text)
        others = [comment for comment in self._find_ours(author) if comment.id != created.id]
        if all(created.id < comment.id for comment in others):
            self._delete(others)
            return Posted(created.html_url)
        # Another job of ours was faster: the oldest comment stays.
        comments = sorted([*others, created], key=lambda comment: comment.id)
        return self._overwrite(comments, text, is_contested=True)

    def _add(self, text: str) -> _Comment:
        answer = self.github.send("POST", self._list_url, {"body": text})
        return self._parse(answer, expected_status=201)

    def _overwrite(
        self, comments: list[_Comment], text: str, is_contested: bool
    ) -> Posted | Left | None:
        """Write our text into the oldest comment, unless a newer run has written it, and delete the others.

        GitHub overwrites a comment without a look at what was there. So we read the comment right before we write it. If another
        job may write it (``is_contested``), we read it again a little later: a job that read before us has written by then.
        """
        first, *others = comments
        self._delete(others)
        posted: Posted | None = None
        for _ in range(ROUNDS):
            current = self._parse(self.github.send("GET", self._url(first)))
            stamp = self._stamp_of(current)
            if stamp is None or self._is_of_other_job(stamp):
                # Another job was faster. It keeps the comment, and we take one of our own.
                return Posted(self._add(text).html_url) if self.create else None
            if self.stamp.is_older_than(stamp):
                why = f"a newer run ({stamp.run}, of commit {stamp.commit[:7]}) has written it"
                return Left(current.html_url, why)
            if posted and not stamp.is_older_than(self.stamp):
                return posted  # what we wrote is still there

            is_same = self.only_changed and stamp.findings == self.stamp.findings != ""
            if is_same:  # only the stamp is renewed, so that an older run knows that it is late
                _, _, old_report = (current.body or "").partition("\n")
                text = f"{self.stamp.line}\n{old_report}"
            answer = self.github.send("PATCH", self._url(current), {"body": text})
            posted = Posted(self._parse(answer).html_url)
            if is_same:
                why = f"outcome and failing cases are those of run {stamp.run}"
                return Left(current.html_url, why)

            if not is_contested:
                return posted
            if self.github.patience:  # without patience, the job has seconds left
                self.github.pause(SETTLE)
        return posted or Posted(first.html_url)

    def _is_of_other_job(self, stamp: Stamp) -> bool:
        """Whether a job of the same attempt wrote a comment that is not ours."""
        return self.stamp.is_of_other_step(stamp) and not stamp.is_older_than(self.stamp)

    def _delete(self, comments: list[_Comment]) -> None:
        """Delete what other jobs wrote at the same time. A newer run deletes its comment itself."""
        for comment in comments:
            stamp = self._stamp_of(comment)
            if stamp and not self.stamp.is_older_than(stamp):
                self.github.send("DELETE", self._url(comment))

    def _stamp_of(self, comment: _Comment) -> Stamp | None:
        """The stamp of a comment under our key, or under the former one. None for a comment of another gate."""
        text = comment.body or ""
        stamp = parse_stamp(text, self.stamp.key)
        if stamp is None and self.former is not None:
            return parse_stamp(text, self.former)
        return stamp

    def _find_ours(self, author: User) -> list[_Comment]:
        """Our comments, oldest first: those under our key, or those that an older run left under the former key."""
        under_key = []
        under_former = []
        of_other_steps = []
        for comment in self._written_by(author):
            stamp = self._stamp_of(comment)
            if stamp is None:
                continue
            if stamp.key != self.stamp.key:
                if stamp.is_older_than(self.stamp):
                    under_former.append(comment)
            elif self.stamp.is_of_other_step(stamp):
                of_other_steps.append((comment, stamp))
            else:
                under_key.append(comment)
        # One comment of an earlier attempt is of this job, which runs again. Of several nobody can tell which is.
        match of_other_steps:
            case [(comment, stamp)] if stamp.is_older_than(self.stamp):
                under_key.append(comment)
        return sorted(under_key or under_former, key=lambda comment: comment.id)

    def _written_by(self, author: User) -> Iterator[_Comment]:
        """Yield the comments of an author. Anybody can write a marker, so the author counts as well."""
        subject = f"the list of comments of pull request {self.event.number}"
        explain = partial(explain_refusal, event=self.event)
        for item in self.github.list_items(self._list_url, subject, "a list of comments", explain):
            try:
                comment = _Comment.model_validate(item)
            except ValidationError:
                continue  # another comment's oddity must not stop our report
            user = comment.user
            if user and user.login.lower() == author.login.lower() and user.type == author.type:
                yield comment

    def _parse(self, answer: Response, expected_status: int = 200) -> _Comment:
        """The comment in an answer. Raises RetryableError if it was deleted in the meantime, else GitHubError."""
        if answer.status != expected_status:
            refusal = explain_refusal(answer, self.event)
            # A comment that was listed is gone, or the token may not write. The next attempt finds out which.
            if answer.status == 404 and expected_status == 200:
                raise RetryableError(refusal, exact=0.0)
            raise GitHubError(refusal)
        try:
            return _Comment.model_validate(parse_json(answer))
        except ValidationError as e:
            raise GitHubError(f"{answer.host} answered something that is not a comment") from e

    @property
    def _list_url(self) -> str:
        return (
            f"{self.github.api}/repos/{self.event.repository}/issues/{self.event.number}/comments"
        )

    def _url(self, comment: _Comment) -> str:
        return f"{self.github.api}/repos/{self.event.repository}/issues/comments/{comment.id}"
