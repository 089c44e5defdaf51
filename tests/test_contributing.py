"""The examples of docs/contributing: put where the page says, each plug-in runs and its test passes, with no edit elsewhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
# Of what a plug-in takes; making a release takes none.
PAGES = [page for page in sorted((ROOT / "docs" / "contributing").glob("*.md")) if page.stem != "release"]
FILE = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
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


def test_there_is_a_page_for_each_kind_of_plug_in():
    assert [page.stem for page in PAGES] == ["answers", "assertion", "dialect", "provider", "report"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_example_of_the_page_works_as_it_is(page, checkout):
    files = dict(FILE.findall(page.read_text()))
    for name, content in files.items():
        assert not (checkout / name).exists(), name
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(content)
    (test,) = [name for name in files if name.startswith("tests/")]
    assert len(files) >= 2
    code, said = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", test)
    assert code == 0, said
    python = [name for name in files if name.endswith(".py")]
    for arguments in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        code, said = run(checkout, "ruff", *arguments, *python)
        assert code == 0, said
