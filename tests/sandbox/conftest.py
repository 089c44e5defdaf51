from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gradegate.errors import Origin
from gradegate.files.workspace import Workspace
from gradegate.sandbox import repository_code as pool
from gradegate.sandbox.permission import NO_EXEC, ExecPolicy
from gradegate.sandbox.program import read_program

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable]:
    """Call a function of a Python source, as the user who runs the tests."""
    pool.start_code(ExecPolicy(is_allowed=True, env=ENV, cwd=tmp_path, seconds=20))

    def call(source: str, function: str, *arguments, **options):
        (tmp_path / "x.py").write_text(source)
        program = read_program(f"file://x.py:{function}", Workspace(tmp_path), tmp_path, Origin("c"))
        return pool.call_function(program, list(arguments), "gate", "", **options)

    yield call
    pool.start_code(NO_EXEC)


@pytest.fixture(scope="session", autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    pool.stop_code()
