import pytest

from support.fake_github import FakeGitHub
from support.job import Job, checked_out


@pytest.fixture
def fake(github: FakeGitHub) -> FakeGitHub:
    return github


@pytest.fixture
def job(tmp_path, github: FakeGitHub, llm, monkeypatch: pytest.MonkeyPatch) -> Job:
    return checked_out(tmp_path / "workspace", github, llm, monkeypatch)
