import gc
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import settings

from gradegate.cli import main as cli
from gradegate.planning import planner
from gradegate.sandbox.evaluate import reset_accounts
from gradegate.security import redaction
from support.fake_llm import FakeLlm, serve

# On GitHub keys are bound to their hosts; tests say so themselves where they mean it.
os.environ.pop("GITHUB_ACTIONS", None)
# A busy machine must not fail a property, and a change must not fail for an example that another run never draws.
settings.register_profile("short", deadline=None, max_examples=10, derandomize=bool(os.environ.get("CI")))
settings.register_profile("nightly", deadline=None, max_examples=200)
settings.load_profile("short")
MOST_THREADS = 100  # of a worker between two runs
# Files with tests that take more than five minutes at night
LONGEST = ("test_history_cells.py", "test_hostile.py", "test_named.py", "test_schema.py", "test_merged.py")


def let_connections_go() -> None:
    """A run freezes what lives to the end of its process. Here its connections live to the end of the run, and the threads that serve them."""
    gc.unfreeze()
    if threading.active_count() > MOST_THREADS:
        gc.collect()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Coverage is what the examples reach: to trace the thousands of inputs of properties would double their time."""
    for item in items:
        if item.get_closest_marker("hypothesis"):
            item.add_marker("no_cover")
    # The longest begin first, so that no worker is left alone with one at the end.
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(autouse=True)
def a_new_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another test evaluated is not on the account of this one, its tokens are no secrets here, and no call is retried."""
    reset_accounts()
    monkeypatch.setattr(planner, "RETRIES", 0)
    monkeypatch.setattr(redaction, "MINTED_TOKENS", redaction.MintedTokens())


@pytest.fixture
def llm() -> Iterator[FakeLlm]:
    with serve() as fake:
        yield fake


@pytest.fixture
def github() -> Iterator[Any]:
    """A GitHub on loopback, which few tests need and which takes long to import."""
    from support.fake_github import serve

    with serve() as fake:
        yield fake


@dataclass(frozen=True)
class Ran:
    """What a run of the command left behind."""

    code: int
    out: str
    err: str
    results: dict[str, Any]
    folder: Path

    @property
    def cases(self) -> list[dict]:
        return self.results["cases"]

    @property
    def grades(self) -> list[dict]:
        return [grade for case in self.cases for grade in case["grades"]]

    @property
    def mistakes(self) -> str:
        """What is said of mistakes, for which the command ended with 2."""
        assert self.code == 2, self.out + self.err
        return self.err


@pytest.fixture
def gate(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Write a config (a mapping, or YAML text) and files, run the command in-process, give what came of it.

    The environment holds no keys; graders are asked once, unless arguments say more. An empty
    ``reask`` leaves asking again to the config.
    """
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GITHUB_WORKSPACE", "CI", "GITHUB_ACTIONS", "CI_DEFAULT_BRANCH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(
        config: Any = None, *arguments: str, command: str = "run", name: str = "promptfooconfig.yaml", reask: str = "off", **files: str
    ) -> Ran:
        if config is not None:
            text = config if isinstance(config, str) else yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        for file, content in files.items():
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(content, encoding="utf-8")
        results = tmp_path / "results.json"
        results.unlink(missing_ok=True)
        options = ["-o", str(results), "--grader-retries", "0"] if command == "run" else []
        options += ["--reask", reask] if reask else []
        code = cli.main([command, *options, name, *arguments])
        captured = capsys.readouterr()
        found = json.loads(results.read_text()) if results.exists() else {}
        let_connections_go()
        return Ran(code, captured.out, captured.err, found, tmp_path)

    return run
