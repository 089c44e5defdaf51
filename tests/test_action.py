"""The action as a process of this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_github import FakeGitHub, serve
from fake_llm import FakeLlm
from scenarios import Scenarios, step
from step import Local, Step
from test_event import pull_request


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with serve() as fake:
        yield fake


@pytest.fixture
def action(tmp_path: Path, github: FakeGitHub, llm: FakeLlm) -> Step:
    return step(tmp_path, Local(), github, llm, pull_request())


class TestAction(Scenarios):
    """All of them, without a container."""


def test_a_wrong_input_is_said_before_anything_is_asked(action: Step, llm: FakeLlm) -> None:
    left = action.run(comment="sometimes", max_concurrency="0")
    assert left.code == 2
    assert llm.requests == []
    assert [c.data for c in left.shown] == [
        "the input `max-concurrency` is '0' -> give a whole number from 1",
        "the input `comment` is 'sometimes' -> give one of always, failures, off",
    ]


def test_a_report_that_cannot_be_written_is_said_and_is_no_output(action: Step, llm: FakeLlm) -> None:
    (action.workspace / "evals" / "out").write_text("a file where a folder should be")
    left = action.run()
    assert "junit-path" not in left.outputs
    assert left.outputs["results-path"] == "evals/gradegate-results.json"
    assert any("out/junit.xml could not be written" in c.data for c in left.shown if c.name == "warning")
