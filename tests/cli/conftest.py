import os

import pytest

from support.starting import Beginning


@pytest.fixture
def begun(tmp_path, monkeypatch, capsys):
    """An empty repository, with no key in the environment."""
    for name in [name for name in os.environ if name.endswith(("_KEY", "_TOKEN", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    for name in ("GITHUB_WORKSPACE", "CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(tmp_path)
    return Beginning(tmp_path, capsys)
