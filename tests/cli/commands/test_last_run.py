"""``.gradegate/last.json``: a run outside of CI keeps its results for the commands that name none."""

import json
import os
import shlex
import stat
import subprocess

import pytest

from gradegate.cli import main as cli
from gradegate.cli.help import FIRST_STEPS
from gradegate.core.settings import LAST_RUN

TESTS = [
    {"description": name, "vars": {"q": name}, "assert": [{"type": "equals", "value": value}]}
    for name, value in (("one", "one"), ("two", "else"), ("three", "else"))
]
CONFIG = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": TESTS}
GOOD = {**CONFIG, "tests": TESTS[:1]}


def load_last_run(folder):
    return json.loads((folder / LAST_RUN).read_text())


def test_a_run_is_kept_for_its_owner_alone_and_git_ignores_it(gate, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnop")
    ran = gate({**CONFIG, "tests": [{"vars": {"q": "sk-abcdefghijklmnop"}, "assert": [{"type": "equals", "value": "x"}]}]})
    assert load_last_run(ran.folder) == ran.results
    assert "sk-abcdefghijklmnop" not in (ran.folder / LAST_RUN).read_text()
    made = (ran.folder / LAST_RUN, (ran.folder / LAST_RUN).parent)
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o600, 0o700]
    subprocess.run(["git", "init", "-q"], cwd=ran.folder, check=True)
    assert ".gradegate" not in subprocess.run(["git", "status", "--porcelain"], cwd=ran.folder, capture_output=True, text=True).stdout


def test_the_next_run_takes_its_place_and_a_gitignore_of_the_user_stays(gate):
    first = gate(CONFIG).folder / ".gradegate"
    (first / ".gitignore").write_text("last.*\n")
    ran = gate(GOOD)
    assert [case["description"] for case in load_last_run(ran.folder)["cases"]] == ["one"]
    assert (first / ".gitignore").read_text() == "last.*\n"
    assert sorted(path.name for path in first.iterdir()) == [".gitignore", "last.json"]


def test_in_ci_and_in_a_folder_that_is_read_only_none_is_kept(gate, monkeypatch):
    monkeypatch.setenv("CI", "true")
    assert not (gate(CONFIG).folder / ".gradegate").exists()
    monkeypatch.delenv("CI")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # whoever runs the tests may be root
    ran = gate(CONFIG)
    assert (ran.code, ran.err, (ran.folder / ".gradegate").exists()) == (1, "", False)


@pytest.mark.parametrize("link", [".gradegate", LAST_RUN])
def test_no_link_is_followed(gate, tmp_path, link):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "last.json").write_text("precious")
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(elsewhere if link == ".gradegate" else elsewhere / "last.json")
    ran = gate(CONFIG)
    assert (ran.code, ran.err) == (1, f"{LAST_RUN} could not be written: `{link}` is a symbolic link, and reports follow none\n")
    assert (elsewhere / "last.json").read_text() == "precious"
    assert [path.name for path in elsewhere.iterdir()] == ["last.json"]


@pytest.mark.parametrize("command", [["explain"], ["view", "--no-open"], ["run", "--failed"]])
def test_a_file_that_git_tracks_is_not_written_and_not_read(gate, capsys, command):
    folder = gate(CONFIG).folder
    for words in (["init", "-q"], ["add", "-f", LAST_RUN]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    said = f"git tracks `{LAST_RUN}`, so it is not your last run -> `git rm -r --cached .gradegate`"
    ran = gate(GOOD)
    assert (ran.code, said in ran.err, len(load_last_run(folder)["cases"])) == (0, True, 3)
    assert cli.main(command) == 2
    assert said in capsys.readouterr().err


def test_without_a_case_explain_lists_what_failed(gate, capsys):
    gate(CONFIG)
    assert cli.main(["explain"]) == 0
    heading, *listed = capsys.readouterr().out.splitlines()
    assert heading == "2 of 3 cases did not pass; name one by its number: gradegate explain 2"
    assert [line.split("  ")[:3] for line in listed] == [["#2", "failed", "two"], ["#3", "failed", "three"]]
    assert cli.main(["explain", "2"]) == 0
    assert capsys.readouterr().out.startswith("#2 two: failed")


def test_view_makes_the_page_of_the_last_run_beside_it(gate, capsys):
    folder = gate(CONFIG).folder
    assert cli.main(["view", "--no-open"]) == 0
    assert capsys.readouterr().out == f"{folder / '.gradegate' / 'last.html'}\n"
    assert "2 of 3 cases failed" in (folder / ".gradegate" / "last.html").read_text()


def test_failed_asks_the_last_run_again(gate, capsys):
    folder = gate(CONFIG).folder
    assert cli.main(["run", "--failed", "--reask", "off", "--grader-retries", "0"]) == 1
    assert [case["description"] for case in load_last_run(folder)["cases"]] == ["two", "three"]


def test_where_nothing_failed_nothing_is_asked_again(gate, capsys):
    gate(GOOD)
    assert cli.main(["explain"]) == 0
    assert capsys.readouterr().out == "0 of 1 case did not pass\n"
    assert cli.main(["run", "--failed", "--reask", "off", "--grader-retries", "0"]) == 0
    assert capsys.readouterr().out == "every case passed, so there is nothing to ask again\n"


def test_without_a_last_run_the_message_says_what_to_do(gate, capsys):
    gate(None, command="validate", name="missing.yaml")
    capsys.readouterr()
    assert cli.main(["explain"]) == 2
    assert f"`{LAST_RUN}` cannot be read: No such file or directory -> start `gradegate run` here first" in capsys.readouterr().err


@pytest.mark.parametrize("spoilt", [False, True])
def test_the_commands_of_the_greeting_work_in_their_order(begun, spoilt):
    lines = [line for line in FIRST_STEPS.splitlines() if line.startswith("  gradegate ")]
    commands = [shlex.split(line.split("   ")[0]) for line in lines]
    assert [words[1] for words in commands] == ["init", "validate", "run", "run", "explain"]
    said = []
    for _, *words in commands:
        code, out, err = begun.do(*words)
        assert (code, err) == (int(spoilt and words[0] == "run"), ""), words
        said.append(out)
        if spoilt and words == ["init"]:
            begun.spoil()
    assert ("did not pass; name one by its number: gradegate explain " in said[-1]) == spoilt
