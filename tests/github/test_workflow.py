"""What the runner reads back from our outputs and our summary, through ports of its own parsers."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.github.step_files import SUMMARY_LIMIT, append_summary, format_outputs, split_outputs, write_outputs
from support.each import each, table
from support.runner import FailedStep, commands, read_outputs, read_summary, shown_annotations

NASTY = ["x\nEOF\noutcome=pass", "a=b", "a<<b", "", "\r\n", "no newline", "<<", "gradegate_", "\n\n", "{{x}}"]


@each("value", NASTY)
def test_the_runner_reads_a_value_as_it_was_written(tmp_path: Path, value: str) -> None:
    path = tmp_path / "output"
    path.write_text("earlier=1\n")
    assert write_outputs({"GITHUB_OUTPUT": str(path)}, {"outcome": value, "exit-code": "0"}) == ""
    assert read_outputs(path.read_bytes().decode()) == {"earlier": "1", "outcome": value, "exit-code": "0"}


names = st.from_regex(r"\A[a-z][a-z0-9-]{0,12}\Z")
values = st.text(st.characters(codec="utf-8")) | st.sampled_from(NASTY)


@given(st.dictionaries(names, values, max_size=5))
def test_any_outputs_come_back(given_values: dict[str, str]) -> None:
    assert read_outputs(format_outputs(given_values)) == given_values


def test_a_value_that_holds_the_delimiter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds the delimiter"):
        format_outputs({"outcome": "x\ngradegate_abc\noutcome<<y\npass\ny"}, token="abc")
    first, second = format_outputs({"outcome": "x"}), format_outputs({"outcome": "x"})
    assert first != second  # a delimiter that nobody can guess
    assert len(first.split("\n")[0]) >= len("outcome<<") + 32


@each("name", ["", "a=b", "a<<b", "a\nb", "Outcome", "-a"])
def test_a_bad_name_is_refused_and_said(tmp_path: Path, name: str) -> None:
    path = tmp_path / "output"
    assert "cannot be the name" in write_outputs({"GITHUB_OUTPUT": str(path)}, {name: "x"})
    assert not path.exists()


def test_only_values_that_a_shell_takes_as_text_are_safe() -> None:
    dangerous = ["a b", "$(id)", "`id`", "a;b", "'", '"', "a\nb", "x" * 201, "ä", "a\n", "a&b", "a|b", "a>b", "*"]
    harmless = ["", "pass", "0.9500", "-1", "gradegate/results.json", "https://github.com/o/r/pull/7#issuecomment-1", "x" * 200]
    safe, unsafe = split_outputs({str(i): value for i, value in enumerate([*dangerous, *harmless])})
    assert list(safe.values()) == harmless
    assert unsafe == [str(i) for i in range(len(dangerous))]
    assert split_outputs({"reports": "a.json\nb.xml"})[1] == []
    assert split_outputs({"reports": "a.json\n$(id).xml"})[1] == ["reports"]


def test_a_summary_is_added_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_text("before\n")
    assert append_summary({"GITHUB_STEP_SUMMARY": str(path)}, "ours \ud800") == ""
    assert read_summary(path) == "before\nours ?\n"


@each(("over", "written"), [(0, True), (1, False)])
def test_a_summary_above_the_limit_is_left_out_because_the_runner_would_drop_everything(tmp_path: Path, over: int, written: bool) -> None:
    path = tmp_path / "summary"
    path.write_text("12345678\n")
    text = "ä" * ((SUMMARY_LIMIT - 10) // 2) + "x" * over
    problem = append_summary({"GITHUB_STEP_SUMMARY": str(path)}, text)
    assert (problem == "") is written
    assert problem == "" or "GitHub takes 1048576" in problem
    assert read_summary(path).startswith("12345678\n")
    assert (len(path.read_bytes()) == SUMMARY_LIMIT) is written


def test_files_that_cannot_be_written_are_said(tmp_path: Path) -> None:
    assert write_outputs({}, {"outcome": "pass"}) == "GITHUB_OUTPUT is not set"
    assert append_summary({}, "x") == "GITHUB_STEP_SUMMARY is not set"
    assert "Is a directory" in append_summary({"GITHUB_STEP_SUMMARY": str(tmp_path)}, "x")
    gone = str(tmp_path / "no" / "output")
    assert "No such file" in write_outputs({"GITHUB_OUTPUT": gone}, {"outcome": "pass"})


# --- the oracle itself: what actions/runner documents and does --------------------------------------------------


@each(("line", "name", "data", "properties"), table(__file__, "the_oracle_finds_commands"))
def test_the_oracle_finds_commands(line: str, name: str, data: str, properties: dict[str, str]) -> None:
    (found,) = commands(f"before\r{line}\nafter")
    assert (found.name, found.data, found.properties) == (name, data, properties)


@each("line", ["text ::error::x", "::unknown::x", ":: error::x", "::error", "##[error", "##[x]y", ""])
def test_the_oracle_finds_no_command(line: str) -> None:
    assert commands(line) == []


def test_the_oracle_obeys_stop_commands_fails_the_step_and_counts_to_ten() -> None:
    log = "::stop-commands::Tok\n::error::muted\n::tok::\n::error::heard"
    assert [c.name for c in commands(log)] == ["stop-commands", "tok", "error"]
    with pytest.raises(FailedStep, match="set-env"):
        commands("::set-env name=A::b")
    assert len(shown_annotations("::error::x\n" * 12 + "::notice::y\n")) == 11


@each("text", ["plain", "<<x", "a<<", "=v", "a<<EOF\nv\n", "a<<EOF\nv\nEOF \n"])
def test_the_oracle_fails_the_step_for_a_broken_output_file(text: str) -> None:
    with pytest.raises(FailedStep):
        read_outputs(text)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to("/none/x")], ids=["folder", "pipe", "link"])
def test_a_file_of_the_runner_that_cannot_be_written_is_said(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "file")
    environ = {"GITHUB_OUTPUT": str(tmp_path / "file"), "GITHUB_STEP_SUMMARY": "/none/at/all"}
    assert write_outputs(environ, {"a": "1"}).startswith(f"{tmp_path}/file: ")
    assert append_summary(environ, "text") == "/none/at/all: No such file or directory"


def test_a_full_disk_leaves_no_half_of_an_output(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before=1\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    heeded = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60, limits[1]))
    try:
        problem = write_outputs({"GITHUB_OUTPUT": str(path)}, {"a": "1" * 100})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, heeded)
    assert problem == f"{path}: File too large"
    assert read_outputs(path.read_text()) == {"before": "1"}
