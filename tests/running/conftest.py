import pytest

from support.kept import passing


@pytest.fixture
def again(gate, llm):
    """Run a config with the cache, and say how many requests that took."""
    llm.reply = passing

    def run(written, *arguments, cache: str = "kept"):
        before = len(llm.requests)
        ran = gate(written, "--cache", cache, *arguments)
        return ran, len(llm.requests) - before

    return run
