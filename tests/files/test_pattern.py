from pathlib import Path

import pytest

from gradegate.files import patterns
from gradegate.files.patterns import TooManyFiles, find_matches, split_pattern
from support.each import each, table


@pytest.fixture
def tree(tmp_path):
    for name in ("a.yaml", "b.json", ".hidden.yaml", "d/c.yaml", "d/e/f.yaml", "d/e/g[1].yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "d" / "up").symlink_to(tmp_path)
    return tmp_path


PATTERNS = table(__file__, "PATTERNS")


@each("written", PATTERNS)
def test_files_are_those_of_the_standard_library(tree, written):
    folder, parts = split_pattern(written)
    found = {path for path in find_matches(tree / folder, parts) if path.is_file()}
    assert found == {path for path in tree.glob(written) if path.is_file() and not path.name.startswith(".")}


def test_what_is_hidden_is_matched_by_a_part_that_begins_with_a_dot(tree):
    (tree / ".base" / "evals").mkdir(parents=True)
    (tree / ".base" / "evals" / "h.yaml").write_text("x")
    assert find_matches(tree, (".*.yaml",)) == {tree / ".hidden.yaml"}
    assert find_matches(tree, (".base", "**", "*.yaml")) == {tree / ".base" / "evals" / "h.yaml"}
    assert tree / ".base" / "evals" / "h.yaml" not in find_matches(tree, ("**", "*.yaml"))


def test_two_stars_at_the_end_are_folders_in_every_python(tree):
    """The standard library gives files as well from 3.13 on."""
    found = set(find_matches(tree, ("**",)))
    assert {tree / "d", tree / "d" / "e"} <= found
    assert [path for path in found if path.is_file()] == []


def test_the_folder_before_a_pattern_is_told():
    assert split_pattern("../a/b*/c") == ("../a", ("b*", "c"))
    assert split_pattern("*.yaml") == (".", ("*.yaml",))
    assert split_pattern("/etc/*") == ("/etc", ("*",))


def test_links_round_and_round_come_to_an_end(tree, monkeypatch):
    monkeypatch.setattr(patterns, "MAX_ENTRIES", 300)
    for number in range(5):
        (tree / f"loop{number}").symlink_to(tree)
    with pytest.raises(TooManyFiles, match="looks at more than 300"):
        find_matches(tree, ("*",) * 12)


def test_too_many_matches_are_refused(tree, monkeypatch):
    monkeypatch.setattr(patterns, "MAX_MATCHES", 2)
    with pytest.raises(TooManyFiles, match="matches more than 2"):
        find_matches(tree, ("**", "*.yaml"))


def test_a_pattern_of_many_parts_is_refused():
    with pytest.raises(TooManyFiles, match="parts"):
        find_matches(Path("/"), ("*",) * 100)


@each("written", ["file:///**/*.yaml", "file://../**/*.yaml", "file:///etc/*", "file://d/../../*"])
def test_a_pattern_that_leads_out_is_refused_before_it_is_followed(gate, written):
    ran = gate({"prompts": ["p"], "providers": ["echo"], "tests": written})
    assert (ran.code, "leads out of the workspace" in ran.err) == (2, True)
