"""Which code a config names, and what tells it from other code."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import ConfigError, Origin
from gradegate.files.workspace import Workspace
from gradegate.sandbox import imports, program
from gradegate.sandbox.program import command_digest, is_python, read_program, split_command, split_reference
from support.each import each, table


@pytest.mark.parametrize(("reference", "parts"), table(__file__, "a_reference_has_a_path_and_a_function"))
def test_a_reference_has_a_path_and_a_function(reference: str, parts: tuple[str, str]):
    assert split_reference(reference) == tuple(parts)
    assert is_python(reference)


@each("reference", ["file://x.js", "file://x.pyc", "exec: python x.py --a", 3, None, ""])
def test_what_is_not_python(reference: object):
    assert not is_python(reference)


@each(("command", "words"), table(__file__, "a_command_is_taken_apart_without_a_shell"))
def test_a_command_is_taken_apart_without_a_shell(command: str, words: list[str]):
    assert split_command(command) == words


@given(st.text())
def test_any_text_is_taken_apart(command: str):
    assert all(isinstance(word, str) for word in split_command(command))


FILES = table(__file__, "FILES")


def program_digest(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return read_program("file://x.py", Workspace(root), root / "evals", Origin("c")).digest


@each("name", [name for name in FILES if name != "evals/stranger.py"])
def test_code_that_it_imports_is_part_of_it(tmp_path: Path, name: str):
    before = program_digest(tmp_path, FILES)
    assert program_digest(tmp_path, {name: FILES[name] + "# changed\n"}) != before


def test_other_code_and_another_checkout_change_nothing(tmp_path: Path):
    before = program_digest(tmp_path / "a", FILES)
    assert program_digest(tmp_path / "b", FILES) == before
    assert program_digest(tmp_path / "a", {"evals/stranger.py": "changed"}) == before


def test_modules_that_import_one_another_end(tmp_path: Path):
    assert program_digest(tmp_path, {"evals/x.py": "import y\n", "evals/y.py": "import x\nimport y\n"})


def test_a_module_outside_the_workspace_is_not_followed(tmp_path: Path):
    (tmp_path / "out.py").write_text("")
    root = tmp_path / "in"
    before = program_digest(root, {"evals/x.py": "import out\n"})
    (root / "evals" / "out.py").symlink_to(tmp_path / "out.py")
    assert program_digest(root, {}) == before


def test_too_many_modules_are_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(program, "MAX_FILES", 3)
    with pytest.raises(ConfigError, match="imports more than 3 files"):
        program_digest(tmp_path, FILES)


@given(st.text(alphabet="fromimport .,*()\n\tas_ab", max_size=300))
def test_any_source_is_looked_at(source: str):
    assert list(imports.python_modules(source, Path("/nowhere"), (Path("/nowhere"),))) == []


def test_the_files_of_a_command_are_part_of_it(tmp_path: Path):
    (tmp_path / "x.js").write_text("1")
    before = command_digest(["node", "x.js"], Workspace(tmp_path), tmp_path, Origin("c"))
    (tmp_path / "x.js").write_text("2")
    assert command_digest(["node", "x.js"], Workspace(tmp_path), tmp_path, Origin("c")) != before
    assert command_digest(["\0"], Workspace(tmp_path), tmp_path, Origin("c"))
