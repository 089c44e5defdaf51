"""New files, all of them or none."""

import subprocess
import sys

import pytest

from gradegate.errors import ConfigError
from gradegate.files.new_files import create_files
from gradegate.files.plain_files import Place

FULL = """
import resource, signal, sys
from pathlib import Path
from gradegate.errors import ConfigError
from gradegate.files.new_files import create_files
from gradegate.files.plain_files import Place
root = Path(sys.argv[1])
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    create_files({Place(root, ("old", "new", "a")): "small", Place(root, ("b", "c")): "x" * 1000})
except ConfigError as e:
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))  # whoever measures coverage writes a file, too
    print(e)
"""


def test_files_and_their_folders_are_made(tmp_path):
    create_files({Place(tmp_path, ("a",)): "ä\n", Place(tmp_path, ("b", "c", "d")): ""})
    assert (tmp_path / "a").read_text(encoding="utf-8") == "ä\n"
    assert (tmp_path / "b" / "c" / "d").read_text() == ""


@pytest.mark.slow
def test_a_disk_that_is_full_leaves_nothing_behind(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "kept").write_text("")
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("`b/c` could not be written: File too large -> nothing was left behind")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["kept", "old"]


def test_everything_in_the_way_is_said_at_once(tmp_path):
    (tmp_path / "a").write_text("mine")
    (tmp_path / "b").symlink_to(tmp_path)
    with pytest.raises(ConfigError) as caught:
        create_files({Place(tmp_path, ("a",)): "", Place(tmp_path, ("b", "c")): "", Place(tmp_path, ("a", "d")): ""})
    whats = [mistake.what for mistake in caught.value.mistakes]
    assert whats == ["`a` is there already", "`b` is a symbolic link", "`a` is not a folder"]
    assert (tmp_path / "a").read_text() == "mine"


def test_a_name_that_cannot_be_is_said(tmp_path):
    with pytest.raises(ConfigError, match="cannot be looked at: File name too long"):
        create_files({Place(tmp_path, ("x" * 300,)): ""})
