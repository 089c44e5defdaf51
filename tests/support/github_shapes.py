"""What GitHub's REST API answers with, whole: the shapes of github_shapes.yaml, filled in with values of our own."""

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from support.each import fill_in_item

API = "https://api.github.test"
DOCS = "https://docs.github.com/rest"


def overlaid(whole: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """``whole`` with what is given in its place, member by member."""
    both = {
        name: overlaid(whole[name], value) if isinstance(value, Mapping) and isinstance(whole.get(name), Mapping) else value
        for name, value in given.items()
    }
    return {**whole, **both}


def number_of(text: str) -> int:
    """An id for a text, the same each time."""
    return crc32(text.lower().encode("utf-8", "replace"))


def user(login: str, kind: str = "User") -> dict[str, Any]:
    """An account, as it is shown beside what it did; ``kind`` is "User" or "Bot"."""
    return fill_in_item(__file__, "user", login=login, kind=kind, id=number_of(login))


def account(login: str, kind: str) -> dict[str, Any]:
    """What GET /user answers to a token of that account, without what only its owner may read."""
    return {**user(login, kind), **fill_in_item(__file__, "account")}


def comment(api: str, repository: str, number: int, own: int, body: Any, author: dict[str, Any]) -> dict[str, Any]:
    """A comment of a pull request; ``own`` is its id."""
    return fill_in_item(__file__, "comment", api=api, repository=repository, number=number, own=own, body=body, author=author)


def file(name: str, status: str, before: str = "") -> dict[str, Any]:
    """A file that a pull request changes; ``before`` is the name that it had."""
    return {**fill_in_item(__file__, "file", name=name, status=status), **({"previous_filename": before} if before else {})}


def happening(own: int, event: str, at: str, actor: dict[str, Any], label: str = "") -> dict[str, Any]:
    """An item of a timeline, but for commits."""
    if event == "commented":
        said = comment(API, "octo-org/octo-repo", 7, own, "x", actor)
        return {**said, "event": event, "actor": actor, "created_at": at}
    named = {"label": {"name": label, "color": "ededed"}} if label else {}
    return {**fill_in_item(__file__, "happening", own=own, event=event, at=at, actor=actor), **named}


def commit(sha: str, at: str) -> dict[str, Any]:
    """A commit in a timeline: it has the dates that its author gave it, and no other."""
    return fill_in_item(__file__, "commit", sha=sha, at=at)


def _side(repository: str, branch: str, sha: str) -> dict[str, Any]:
    owner, _, name = repository.partition("/")
    whole = fill_in_item(__file__, "repository", owner=owner, name=name, id=number_of(repository), account=user(owner))
    return {"label": f"{owner}:{branch}", "ref": branch, "sha": sha, "user": user(owner), "repo": whole}


def listed_pull(repository: str, number: int, head: str = "") -> dict[str, Any]:
    """A pull request in a list; ``head`` is the `owner:branch` that it comes from."""
    owner, _, branch = head.partition(":")
    comes_from = _side(f"{owner}/{repository.partition('/')[2]}" if owner else repository, branch or "topic", "a" * 40)
    sides = {"head": comes_from, "base": _side(repository, "main", "b" * 40)}
    return fill_in_item(__file__, "listed_pull", repository=repository, number=number, author=user("mona"), **sides)


def pull(repository: str, number: int, changed_files: int) -> dict[str, Any]:
    """A pull request by itself."""
    return {**listed_pull(repository, number), **fill_in_item(__file__, "pull", changed_files=changed_files)}


def run(repository: str, own: int, source: str, **about: Any) -> dict[str, Any]:
    """A run of a workflow; ``source`` is the repository whose commit it ran for."""
    sides = {"repository": _side(repository, "main", "")["repo"], "source": _side(source, "main", "")["repo"]}
    return fill_in_item(__file__, "run", own=own, **sides, **about)


def artifact(own: int, name: str, size: int, digest: str | None, expired: bool) -> dict[str, Any]:
    """An artifact in a list."""
    return fill_in_item(__file__, "artifact", own=own, name=name, size=size, digest=digest, expired=expired)


def branch(name: str, sha: str) -> dict[str, Any]:
    """A branch with its last commit."""
    return fill_in_item(__file__, "branch", name=name, commit=fill_in_item(__file__, "of_branch", sha=sha))


def comparison(base: str, status: str) -> dict[str, Any]:
    """How a commit lies to another one."""
    return fill_in_item(__file__, "comparison", base=fill_in_item(__file__, "of_branch", sha=base), status=status)


def error(status: int, message: str, *errors: Mapping[str, str]) -> dict[str, Any]:
    """A refusal; ``errors`` are what is wrong with members of the body."""
    return {"message": message, **({"errors": list(errors)} if errors else {}), "documentation_url": DOCS, "status": str(status)}
