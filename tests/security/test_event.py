"""The event file: every event that a gate runs on, and files that are missing, broken or hostile."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.github.links import links_of_run
from gradegate.security.event import Event, Person, read_event
from support.each import each, table
from support.events import BASE, HEAD, MERGE, pull_request
from support.scenes import laid


def read(tmp_path: Path, name: str, payload: Any, **more: str) -> Event:
    path = tmp_path / "event.json"
    path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
    return read_event(
        {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path), "GITHUB_REPOSITORY": "octo-org/octo-repo", "GITHUB_SHA": MERGE, **more}
    )


@each("name", ["pull_request", "pull_request_target"])
def test_a_pull_request_tells_its_number_and_its_own_commits_and_not_the_test_merge(tmp_path: Path, name: str) -> None:
    event = read(tmp_path, name, pull_request(), GITHUB_ACTOR="mona")
    assert event == Event(
        name,
        "octo-org/octo-repo",
        number=7,
        head_sha=HEAD,
        base_sha=BASE,
        head_repository="octo-org/octo-repo",
        base_repository="octo-org/octo-repo",
        actor="mona",
        action="synchronize",
        author=Person("author"),
        updated=datetime(2026, 3, 1, 12, tzinfo=UTC),
    )
    assert not event.is_fork
    assert event.outsider == ""


@each("row", table(__file__, "what_an_event_tells"))
def test_what_an_event_tells(tmp_path: Path, row: dict[str, Any]) -> None:
    payload = laid(pull_request(), row["payload"]) if row["event"].startswith("pull_request") else row["payload"]
    event = read(tmp_path, row["event"], payload, GITHUB_ACTOR=row.get("actor", "mona"))
    assert {field: getattr(event, field) for field in row["tells"]} == row["tells"]


@each(
    ("text", "words"),
    [
        *table(__file__, "a_broken_event_is_a_problem_that_names_the_place_and_not_a_crash"),
        ("[" * 5000, "not what GitHub sends"),
        (json.dumps(pull_request(number=-1)), "pull_request.number"),
        (json.dumps(pull_request(number=None)), "pull_request.number"),
        (json.dumps(pull_request(head={"sha": "](https://evil.test)"})), "pull_request.head.sha"),
        (json.dumps(pull_request("../../user")), "pull_request.head.repo.full_name"),
    ],
)
def test_a_broken_event_is_a_problem_that_names_the_place_and_not_a_crash(tmp_path: Path, text: str, words: str) -> None:
    event = read(tmp_path, "pull_request", text)
    assert words in event.problem
    assert "event.json" in event.problem
    assert (event.number, event.head_sha) == (None, MERGE)


def test_a_missing_event_file_is_a_problem(tmp_path: Path) -> None:
    gone = read_event({"GITHUB_EVENT_PATH": str(tmp_path / "gone.json")})
    assert "cannot be read: No such file" in gone.problem
    assert "cannot be read: Is a directory" in read_event({"GITHUB_EVENT_PATH": str(tmp_path)}).problem
    assert read_event({}).problem == "GITHUB_EVENT_PATH is not set"


@given(st.binary(max_size=300) | st.text().map(str.encode))
def test_no_event_file_raises(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("event") / "event.json"
    path.write_bytes(content)
    event = read_event({"GITHUB_EVENT_PATH": str(path), "GITHUB_SHA": MERGE})
    assert event.number is None


def test_links_lead_to_the_head_commit_on_the_server_of_the_run(tmp_path: Path) -> None:
    event = read(tmp_path, "pull_request", pull_request("mona/octo-repo"))
    environ = {"GITHUB_SERVER_URL": "https://ghes.test/", "GITHUB_RUN_ID": "99", "GITHUB_RUN_ATTEMPT": "2"}
    found = links_of_run(event, environ)
    assert found.line("evals/a.yaml", 12) == f"https://ghes.test/octo-org/octo-repo/blob/{HEAD}/evals/a.yaml#L12"
    assert found.run == "https://ghes.test/octo-org/octo-repo/actions/runs/99/attempts/2"


def test_there_are_no_links_outside_github(tmp_path: Path) -> None:
    assert links_of_run(read_event({}), {}).line("a.yaml", 1) == ""
    assert links_of_run(read(tmp_path, "push", {}), {"GITHUB_SERVER_URL": "https://github.com"}).run == ""
