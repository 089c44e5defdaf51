"""Events as GitHub sends them."""

from __future__ import annotations

from typing import Any

HEAD, BASE, MERGE = "a" * 40, "b" * 40, "c" * 40


def pull_request(source: str | None = "octo-org/octo-repo", **more: Any) -> dict[str, Any]:
    repository = {"full_name": "octo-org/octo-repo"}
    return {
        "action": "synchronize",
        "number": 7,
        "pull_request": {
            "number": 7,
            "title": "`$(id)` ::error::x",
            "user": {"login": "author", "type": "User"},
            "updated_at": "2026-03-01T12:00:00Z",
            "head": {"sha": HEAD, "repo": {"full_name": source} if source else None},
            "base": {"sha": BASE, "repo": repository},
            **more,
        },
        "repository": repository,
    }
