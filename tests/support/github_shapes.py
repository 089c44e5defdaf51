"""What GitHub's REST API answers with, whole: every member that its OpenAPI says is always there, in values of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

SITE = "https://github.test"
API = "https://api.github.test"
AT = "2026-03-01T12:00:00Z"
DOCS = "https://docs.github.com/rest"
SHA = "d" * 40

# Links of a repository, `{name}_url` each.
_LINKS = (
    "archive assignees blobs branches collaborators comments commits compare contents contributors deployments downloads events "
    "forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels languages merges milestones "
    "notifications pulls releases stargazers statuses subscribers subscription tags teams trees"
).split()
_OF_USER = "events followers following gists organizations received_events repos starred subscriptions".split()
# Events of a timeline that have more than every event has, and nothing of it in common.
_PLAIN = ("node_id", "url", "commit_id", "commit_url", "performed_via_github_app")


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
    url = f"{API}/users/{login}"
    return {
        "login": login,
        "id": number_of(login),
        "node_id": f"U_{number_of(login)}",
        "avatar_url": f"{SITE}/avatars/{number_of(login)}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{SITE}/{login}",
        **{f"{name}_url": f"{url}/{name}" for name in _OF_USER},
        "type": kind,
        "site_admin": False,
    }


def account(login: str, kind: str) -> dict[str, Any]:
    """What GET /user answers to a token of that account, without what only its owner may read."""
    none = ("name", "company", "location", "email", "hireable", "bio")
    counts = ("public_repos", "public_gists", "followers", "following")
    return {
        **user(login, kind),
        "user_view_type": "public",
        "blog": "",
        **dict.fromkeys(none),
        **dict.fromkeys(counts, 0),
        "created_at": AT,
        "updated_at": AT,
    }


def comment(api: str, repository: str, number: int, own: int, body: Any, author: dict[str, Any]) -> dict[str, Any]:
    """A comment of a pull request; ``own`` is its id."""
    return {
        "id": own,
        "node_id": f"IC_{own}",
        "url": f"{api}/repos/{repository}/issues/comments/{own}",
        "html_url": f"{SITE}/{repository}/pull/{number}#issuecomment-{own}",
        "issue_url": f"{api}/repos/{repository}/issues/{number}",
        "body": body,
        "user": author,
        "created_at": AT,
        "updated_at": AT,
        "author_association": "NONE",
        "performed_via_github_app": None,
    }


def file(name: str, status: str, before: str = "") -> dict[str, Any]:
    """A file that a pull request changes; ``before`` is the name that it had."""
    return {
        "sha": SHA,
        "filename": name,
        "status": status,
        "additions": 1,
        "deletions": 0,
        "changes": 1,
        "blob_url": f"{SITE}/blob",
        "raw_url": f"{SITE}/raw",
        "contents_url": f"{API}/contents",
        "patch": "@@ -0,0 +1 @@\n+x",
        **({"previous_filename": before} if before else {}),
    }


def happening(own: int, event: str, at: str, actor: dict[str, Any], label: str = "") -> dict[str, Any]:
    """An item of a timeline, but for commits."""
    if event == "commented":
        said = comment(API, "octo-org/octo-repo", 7, own, "x", actor)
        return {**said, "event": event, "actor": actor, "created_at": at}
    return {
        **dict.fromkeys(_PLAIN),
        "id": own,
        "node_id": f"E_{own}",
        "url": f"{API}/events/{own}",
        "event": event,
        "created_at": at,
        "actor": actor,
        **({"label": {"name": label, "color": "ededed"}} if label else {}),
    }


def commit(sha: str, at: str) -> dict[str, Any]:
    """A commit in a timeline: it has the dates that its author gave it, and no other."""
    person = {"name": "x", "email": "x@example.org", "date": at}
    unsigned = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
    place = {"sha": sha, "url": f"{API}/commits/{sha}", "html_url": f"{SITE}/commit/{sha}"}
    return {
        **place,
        "node_id": f"C_{sha}",
        "event": "committed",
        "author": person,
        "committer": person,
        "message": "x",
        "tree": {"sha": SHA, "url": f"{API}/trees/{SHA}"},
        "parents": [],
        "verification": unsigned,
    }


def _repository(name: str) -> dict[str, Any]:
    url, owner = f"{API}/repos/{name}", name.partition("/")[0]
    counts = "forks forks_count stargazers_count watchers_count watchers size open_issues open_issues_count".split()
    yes, no = "has_issues has_projects has_wiki has_downloads", "private fork has_pages archived disabled"
    return {
        "id": number_of(name),
        "node_id": f"R_{number_of(name)}",
        "name": name.partition("/")[2],
        "full_name": name,
        "owner": user(owner),
        "url": url,
        "html_url": f"{SITE}/{name}",
        **{f"{link}_url": f"{url}/{link}" for link in _LINKS},
        **{f"{kind}_url": f"{SITE}/{name}" for kind in ("clone", "git", "ssh", "svn")},
        **dict.fromkeys(("description", "homepage", "language", "mirror_url", "license")),
        **dict.fromkeys(counts, 0),
        **dict.fromkeys(yes.split(), True),
        **dict.fromkeys(no.split(), False),
        "default_branch": "main",
        **dict.fromkeys(("pushed_at", "created_at", "updated_at"), AT),
    }


def _side(repository: str, branch: str, sha: str) -> dict[str, Any]:
    owner = repository.partition("/")[0]
    return {"label": f"{owner}:{branch}", "ref": branch, "sha": sha, "user": user(owner), "repo": _repository(repository)}


def listed_pull(repository: str, number: int, head: str = "") -> dict[str, Any]:
    """A pull request in a list; ``head`` is the `owner:branch` that it comes from."""
    owner, _, branch = head.partition(":")
    url, page = f"{API}/repos/{repository}/pulls/{number}", f"{SITE}/{repository}/pull/{number}"
    comes_from = f"{owner}/{repository.partition('/')[2]}" if owner else repository
    links = "self html issue comments review_comments review_comment commits statuses".split()
    return {
        "id": number,
        "node_id": f"PR_{number}",
        "number": number,
        "url": url,
        "html_url": page,
        **{f"{name}_url": f"{page}.{name}" for name in ("diff", "patch")},
        **{f"{name}_url": f"{url}/{name}" for name in links[2:]},
        "_links": {name: {"href": f"{url}/{name}"} for name in links},
        "state": "open",
        "locked": False,
        "title": "x",
        "body": None,
        "user": user("mona"),
        "labels": [],
        "head": _side(comes_from, branch or "topic", "a" * 40),
        "base": _side(repository, "main", "b" * 40),
        "author_association": "NONE",
        **dict.fromkeys(("assignee", "milestone", "auto_merge", "closed_at", "merged_at", "merge_commit_sha")),
        "created_at": AT,
        "updated_at": AT,
    }


def pull(repository: str, number: int, changed_files: int) -> dict[str, Any]:
    """A pull request by itself."""
    return {
        **listed_pull(repository, number),
        "changed_files": changed_files,
        **dict.fromkeys(("additions", "deletions", "comments", "commits", "review_comments"), 0),
        "mergeable": None,
        "mergeable_state": "unknown",
        "merged": False,
        "merged_by": None,
        "maintainer_can_modify": False,
    }


def error(status: int, message: str, *errors: Mapping[str, str]) -> dict[str, Any]:
    """A refusal; ``errors`` are what is wrong with members of the body."""
    return {"message": message, **({"errors": list(errors)} if errors else {}), "documentation_url": DOCS, "status": str(status)}
