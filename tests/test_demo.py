"""`make demo`: what it tells about the quickstart example comes from the run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
WRONG, RIGHT = "12 weeks, paid", "16 weeks, paid"


@pytest.fixture
def demo(tmp_path):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("out"))
    (tmp_path / "src").symlink_to(ROOT / "src")
    (tmp_path / ".git").mkdir()

    def run(old="", new=""):
        replies = tmp_path / "examples" / "quickstart" / "replies.yaml"
        replies.write_text(replies.read_text().replace(old, new))
        ended = subprocess.run([sys.executable, tmp_path / "scripts" / "demo.py"], capture_output=True, text=True)
        return ended.returncode, " ".join(ended.stdout.split()), ended.stderr

    return run


def test_it_says_which_cases_failed_and_why_and_the_files_are_there(demo, tmp_path):
    code, text, errors = demo()
    assert (code, errors) == (0, "")
    assert 'The case "says how long maternity leave is" got the answer "You get 12 weeks, paid in full."' in text
    assert 'its factuality failed: "(D) The answer says 12 weeks, the reference 16 weeks."' in text
    assert "So the outcome is blocked, and the check of a pull request fails (exit code 1)." in text
    assert {path.name for path in (tmp_path / "examples/quickstart/out").iterdir()} == {
        "report.html",
        "comment.md",
        "junit.xml",
        "results.json",
    }


def test_after_the_answer_is_corrected_it_says_that_the_check_passes(demo):
    code, text, _ = demo(WRONG, RIGHT)
    assert code == 0
    assert "3 of 3 cases passed. Every blocking rule is met. So the outcome is advisory" in text
    assert "maternity leave is" not in text
    assert 'its llm-rubric failed: "It names no other place to ask."' in text


def test_a_reply_that_no_script_has_is_told_as_what_could_not_be_judged(demo):
    code, text, _ = demo(WRONG, "13 weeks, paid")
    assert code == 0
    assert "its factuality is an error" in text


def test_without_results_it_ends_as_gradegate_does(demo):
    code, text, errors = demo("when:", "if:")
    assert code == 2
    assert "WHAT YOU SAW" not in text
    assert "replies.yaml" in errors


def make(tmp_path, old):
    """`make --dry-run demo` where `python3` is an old one, and perhaps python3.12 is there."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("sh", "sed", "touch"):
        (programs / name).symlink_to(shutil.which(name))
    for name, code in old.items():
        (programs / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (programs / name).chmod(0o755)
    command = [shutil.which("make"), "--dry-run", "demo"]
    return subprocess.run(command, cwd=tmp_path, env={"PATH": str(programs)}, capture_output=True, text=True)


def test_make_takes_the_first_python_that_is_new_enough(tmp_path):
    ended = make(tmp_path, {"python3": 1, "python3.12": 0})
    assert "python3.12 -m venv .venv" in ended.stdout, ended.stderr


def test_make_says_which_python_is_needed(tmp_path):
    ended = make(tmp_path, {"python3": 1})
    assert ended.returncode == 2
    assert "gradegate needs Python 3.11.5 or newer: install it, or name one with make PYTHON=/path/to/python3" in ended.stderr
