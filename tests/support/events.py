"""Events as GitHub sends them."""

import json
from typing import Any

from support.installed import Package, unpack_files

PAYLOADS = Package(
    "@octokit/webhooks-examples", "7.6.1", "sha512-De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ=="
)
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


def examples() -> dict[str, list[dict[str, Any]]]:
    """Payloads that GitHub has sent, by the name of their event. Raises NotToBeHadError."""
    (index,) = unpack_files(PAYLOADS, "api.github.com/index.json")
    return {event["name"]: event["examples"] for event in json.loads(index.read_text())}
