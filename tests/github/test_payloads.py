"""Payloads as GitHub has sent them, of all its events: what we read of them is what they say."""

import json
from pathlib import Path
from typing import Any

import pytest

from gradegate.security.event import Event, Person, PrecedingRun, read_event
from support import contract
from support.each import each
from support.events import MERGE, examples

pytestmark = pytest.mark.skipif(bool(contract.missing()), reason=contract.missing() or "they are there")


def read(tmp_path: Path, name: str, payload: dict[str, Any]) -> Event:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(payload))
    repository = payload.get("repository", {}).get("full_name", "o/r")
    return read_event({"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path), "GITHUB_REPOSITORY": repository, "GITHUB_SHA": MERGE})


def test_no_event_has_a_payload_that_cannot_be_read(tmp_path: Path) -> None:
    sent = examples()
    assert len(sent) > 50
    told = {name: [read(tmp_path, name, payload).problem for payload in sent[name]] for name in sent}
    assert {name: problems for name, problems in told.items() if any(problems)} == {}


@each("name", ["pull_request", "pull_request_target", "pull_request_review"])
def test_a_pull_request(tmp_path: Path, name: str) -> None:
    for payload in examples()[name.replace("_target", "")]:
        event, pull = read(tmp_path, name, payload), payload["pull_request"]
        assert (event.number, event.head_sha, event.base_sha) == (pull["number"], pull["head"]["sha"], pull["base"]["sha"])
        assert event.author == Person(pull["user"]["login"], pull["user"]["id"])
        assert event.sender == Person(payload["sender"]["login"], payload["sender"]["id"])
        assert event.action == payload["action"]
        assert event.label == payload.get("label", {}).get("name", "")
        assert event.updated is not None
        assert not event.is_fork
        fork = {**pull["head"], "repo": {**pull["head"]["repo"], "full_name": "stranger/Hello-World"}}
        for head in (fork, {**fork, "repo": None}):
            assert read(tmp_path, name, {**payload, "pull_request": {**pull, "head": head}}).is_fork


def test_a_merge_group(tmp_path: Path) -> None:
    for payload in examples()["merge_group"]:
        event, group = read(tmp_path, "merge_group", payload), payload["merge_group"]
        assert (event.number, event.head_sha, event.base_sha) == (None, group["head_sha"], group["base_sha"])


def test_a_push(tmp_path: Path) -> None:
    for payload in examples()["push"]:
        event = read(tmp_path, "push", payload)
        assert (event.number, event.head_sha) == (None, payload["after"])
        assert event.base_sha == ("" if payload["created"] else payload["before"])


def test_a_second_stage(tmp_path: Path) -> None:
    for payload in examples()["workflow_run"]:
        event, run = read(tmp_path, "workflow_run", payload), payload["workflow_run"]
        owner = run["head_repository"]["owner"]["login"]
        assert event.stage == PrecedingRun(run["event"], run["head_sha"], run["head_branch"], owner)
        assert (event.number, event.head_sha) == (None, MERGE)  # it runs at a commit of the base


@each("name", ["issue_comment", "workflow_dispatch"])
def test_an_event_that_is_about_no_commit(tmp_path: Path, name: str) -> None:
    for payload in examples()[name]:
        event = read(tmp_path, name, payload)
        assert (event.number, event.head_sha, event.base_sha) == (None, MERGE, "")
