import pytest

from support.kept import passing
from support.shards import Sharded


@pytest.fixture
def again(gate, llm):
    """Run a config with the cache, and say how many requests that took."""
    llm.reply = passing

    def run(written, *arguments, cache: str = "kept"):
        before = len(llm.requests)
        ran = gate(written, "--cache", cache, *arguments)
        return ran, len(llm.requests) - before

    return run


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A folder of its own, in an environment without keys and without a runner."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GITHUB_WORKSPACE", "GITHUB_ACTIONS", "GITHUB_RUN_ATTEMPT", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sharded(bare):
    """Make a config that is run in shards."""
    return lambda config, *options, of=3: Sharded(bare, config, of, options)
