"""The files that a pull request changes, as GitHub lists them: all of them, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from gradegate.github.client import GitHub, Never, as_json, patiently, said
from gradegate.github.event import Event

PER_PAGE = 100
MOST = 3000  # files that GitHub lists of one pull request
# https://docs.github.com/rest/pulls/pulls#list-pull-requests-files


@dataclass(frozen=True, slots=True)
class Changed:
    """Paths from the root of the repository. ``gone`` are those under which there is no longer what there was."""

    paths: frozenset[str]
    gone: frozenset[str] = frozenset()


class _Side(BaseModel):
    sha: str
    ref: str


class _Pull(BaseModel):
    changed_files: int
    head: _Side
    base: _Side


class _File(BaseModel):
    filename: str
    status: str
    previous_filename: str | None = None


def changed_files(github: GitHub, event: Event, base: str) -> Changed:
    """What the pull request of an event changes, renames under both names. ``base`` is the branch that it is for.

    Raises Never where that cannot be told: GitHub does not answer, lists less than there is, or the pull request has moved on.
    """
    return patiently(github, lambda: _changed(github, event, base))


def _changed(github: GitHub, event: Event, base: str) -> Changed:
    address = f"{github.api}/repos/{event.repository}/pulls/{event.number}"
    files = list(_files(github, f"{address}/files"))
    try:
        # After the list, so that a push in between shows.
        pull = _Pull.model_validate(_read(github, address))
    except ValidationError as e:
        raise Never("GitHub's answer about the pull request cannot be read") from e
    if pull.head.sha != event.head_sha or (base and pull.base.ref != base):
        raise Never("the pull request has new commits since this run started")
    if pull.changed_files != len(files):
        raise Never(f"GitHub lists {len(files):,} of the {pull.changed_files:,} changed files, and never more than {MOST:,}")
    before = frozenset(file.previous_filename for file in files if file.previous_filename)
    gone = before | frozenset(file.filename for file in files if file.status == "removed")
    return Changed(frozenset(file.filename for file in files) | before, gone)


def _files(github: GitHub, address: str) -> Iterator[_File]:
    for page in range(1, MOST // PER_PAGE + 2):
        items = _read(github, f"{address}?per_page={PER_PAGE}&page={page}")
        try:
            yield from map(_File.model_validate, items if isinstance(items, list) else [None])
        except ValidationError as e:
            raise Never("GitHub's list of changed files cannot be read") from e
        if not items:  # a page that is not full may still not be the last
            return


def _read(github: GitHub, address: str) -> object:
    answer = github.send("GET", address)
    if answer.status != 200:
        cure = "give the job `permissions: pull-requests: read` or `write`"
        raise Never(f"the changed files cannot be read ({answer.status}: {said(answer)}); {cure}")
    return as_json(answer)
