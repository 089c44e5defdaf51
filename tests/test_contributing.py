"""The plug-ins of examples/plug-ins: copied into the package, each runs and its test passes, with no edit elsewhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "contributing" / "plug-ins.md"
EXAMPLES = sorted((ROOT / "examples" / "plug-ins").iterdir())
COPIED = ("pyproject.toml", "src", "tests/conftest.py", "tests/support", "tests/plugins", "scripts")


@pytest.fixture
def checkout(tmp_path):
    """A copy of the sources and of what tests need, whatever else the repository holds."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(checkout, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=checkout, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_there_is_an_example_of_each_kind_of_plug_in_and_the_page_links_its_files():
    assert [example.name for example in EXAMPLES] == ["answers", "assertion", "dialect", "provider", "report"]
    linked = {(PAGE.parent / link).resolve() for link in re.findall(r"\]\((\.\./[^)#]+)\)", PAGE.read_text())}
    assert {path for example in EXAMPLES for path in files_of(example)} <= linked


def files_of(example):
    return sorted(path for path in example.rglob("*") if path.is_file())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_works_as_it_is(example, checkout):
    names = [path.relative_to(example).as_posix() for path in files_of(example)]
    for name in names:
        assert not (checkout / name).exists(), name
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(example / name, checkout / name)
    (test,) = [name for name in names if name.startswith("tests/")]
    assert len(names) >= 2
    code, said = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", test)
    assert code == 0, said
    python = [name for name in names if name.endswith(".py")]
    for arguments in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        code, said = run(checkout, "ruff", *arguments, *python)
        assert code == 0, said
