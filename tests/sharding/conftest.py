import pytest

from support.shards import Sharded


@pytest.fixture
def sharded(tmp_path, monkeypatch):
    """Make a config that is run in shards, in a folder of its own, without keys."""
    for name in ("OPENAI_API_KEY", "GITHUB_WORKSPACE", "GITHUB_ACTIONS", "GITHUB_RUN_ATTEMPT", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return lambda config, *options, of=3: Sharded(tmp_path, config, of, options)
