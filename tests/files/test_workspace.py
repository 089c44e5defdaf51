import os

import pytest

from gradegate.errors import ConfigError, Origin
from gradegate.files.workspace import Workspace
from gradegate.security.environment import Environment
from support.each import each, table

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


@each(("reference", "text"), [("file://a.txt", "a\n\n"), ("file://../shared.txt", "shared\n"), ("good.txt", "shared\n")])
def test_files_inside_are_read(space, reference, text):
    workspace, base = space
    assert workspace.text(reference, base, HERE) == text


@each(
    ("reference", "message"),
    [*table(__file__, "what_leads_out_or_cannot_be_read_is_a_mistake_at_its_line"), ("x" * 5000, "cannot be read")],
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
    assert Workspace.around(config, tmp_path / "repo", Environment({})).root == tmp_path / "repo"
    assert Workspace.around(config, tmp_path / "elsewhere", Environment({})).root == config.parent
    (tmp_path / "repo" / ".git").mkdir()
    assert Workspace.around(config, tmp_path, Environment({})).root == tmp_path / "repo"
    assert Workspace.around(config, tmp_path, Environment({"GITHUB_WORKSPACE": str(tmp_path)})).root == tmp_path


@pytest.mark.parametrize(("reference", "message"), table(__file__, "what_tools_keep_is_not_read"))
def test_what_tools_keep_is_not_read(space, reference, message):
    workspace, base = space
    with pytest.raises(ConfigError) as e:
        workspace.text(reference, base, HERE)
    assert (str(e.value).startswith("c.yaml:3: "), message in str(e.value)) == (True, True)


def test_a_config_in_a_hidden_folder_reads_what_is_beside_it(space):
    workspace, _ = space
    hidden = workspace.root / ".evals"
    hidden.mkdir()
    (hidden / "a.txt").write_text("mine")
    assert workspace.text("file://a.txt", hidden, HERE) == "mine"


def test_a_pattern_does_not_look_into_the_base_beside_it(space):
    workspace, base = space
    for name in (".base/evals/a.yaml", "evals/a.yaml", "evals/.b.yaml"):
        (workspace.root / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.root / name).write_text("[]")
    assert workspace.glob("file://**/*.yaml", workspace.root, HERE) == [base / "a.yaml"]
    assert workspace.glob("file://evals/*.yaml", workspace.root, HERE) == [base / "a.yaml"]
    (base / "notes.conf").write_text("")
    with pytest.raises(ConfigError, match=r"`evals/notes\.conf` is not read"):
        workspace.glob("file://notes.*", base, HERE)
