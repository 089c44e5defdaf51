import os

import pytest

from gradegate.errors import ConfigError, Origin
from gradegate.files.workspace import Workspace

HERE = Origin("c.yaml", 3)


@pytest.fixture
def space(tmp_path):
    root = tmp_path / "repo"
    (root / "evals").mkdir(parents=True)
    (root / "shared.txt").write_text("shared\n")
    (root / "evals" / "a.txt").write_text("a\n\n")
    (tmp_path / "outside.txt").write_text("secret")
    (root / "evals" / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "evals" / "folder").symlink_to(tmp_path)
    (root / "evals" / "good.txt").symlink_to(root / "shared.txt")
    (root / "evals" / "loop.txt").symlink_to(root / "evals" / "loop.txt")
    return Workspace(root.resolve()), root / "evals"


@pytest.mark.parametrize(
    ("reference", "text"), [("file://a.txt", "a\n\n"), ("file://../shared.txt", "shared\n"), ("good.txt", "shared\n")]
)
def test_files_inside_are_read(space, reference, text):
    workspace, base = space
    assert workspace.text(reference, base, HERE) == text


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("file://../../etc/passwd", "leads out of the workspace"),
        ("file://../../outside.txt", "leads out of the workspace"),
        ("file:///etc/passwd", "leads out of the workspace"),
        ("file:///proc/self/environ", "leads out of the workspace"),
        ("link.txt", "leads out of the workspace"),
        ("folder/outside.txt", "leads out of the workspace"),
        ("a.txt\0.png", "NUL"),
        ("missing.txt", "does not exist: the folder `evals` has no file `missing.txt`"),
        ("loop.txt", "cannot be"),
        ("../evals", "cannot be read: Is a directory"),
        ("x" * 5000, "cannot be read"),
    ],
)
def test_what_leads_out_or_cannot_be_read_is_a_mistake_at_its_line(space, reference, message):
    workspace, base = space
    with pytest.raises(ConfigError) as e:
        workspace.text(reference, base, HERE)
    assert str(e.value).startswith("c.yaml:3: ")
    assert message in str(e.value)


def test_patterns_do_not_follow_links_out(space):
    workspace, base = space
    with pytest.raises(ConfigError, match="leads out"):
        workspace.glob("*.txt", base, HERE)
    assert [path.name for path in workspace.glob("file://../sh*.txt", base, HERE)] == ["shared.txt"]
    with pytest.raises(ConfigError, match="matches no file"):
        workspace.glob("nothing*.yaml", base, HERE)


def test_a_pipe_does_not_hang(space):
    workspace, base = space
    os.mkfifo(base / "pipe.txt")
    assert workspace.read("pipe.txt", base, HERE) == b""


def test_the_workspace_is_the_checkout_the_repository_or_the_working_directory(tmp_path):
    config = tmp_path / "repo" / "evals" / "c.yaml"
    config.parent.mkdir(parents=True)
    config.touch()
    assert Workspace.around(config, tmp_path / "repo", {}).root == tmp_path / "repo"
    assert Workspace.around(config, tmp_path / "elsewhere", {}).root == config.parent
    (tmp_path / "repo" / ".git").mkdir()
    assert Workspace.around(config, tmp_path, {}).root == tmp_path / "repo"
    assert Workspace.around(config, tmp_path, {"GITHUB_WORKSPACE": str(tmp_path)}).root == tmp_path
