"""A field is declared once: one that is added in a copy of the package is read, published, reported and compared with the base."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import gradegate

PACKAGE = Path(gradegate.__file__).parent
LIMIT = """
    max_words: Annotated[
        int | None, Limit("words that all answers may have", "at most {}", counts="word")
    ] = None
"""
MEASURE = """
    if rule.max_words is not None:
        words = sum(len(row.output.split()) for row in rows)
        result = _add_limit(result, PASS if words <= rule.max_words else FAIL, f"{words} words")
"""


def add(text: str, file: Path, after: str) -> None:
    """Add lines behind the only place where ``after`` stands."""
    content = file.read_text("utf-8")
    assert content.count(after) == 1, after
    file.write_text(content.replace(after, after + text), "utf-8")


@pytest.fixture
def package(tmp_path):
    """A copy of the package to which a field can be added."""
    copy = tmp_path / "src" / "gradegate"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def start(package: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(package.parent), "CI": "", "GITHUB_ACTIONS": ""}
    return subprocess.run(
        [sys.executable, "-m", "gradegate", *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


def write(folder: Path, gate: dict[str, object], **assertion: object) -> None:
    """A config with one answer of three words."""
    folder.mkdir(exist_ok=True)
    config = {
        "prompts": ["one two three"],
        "providers": ["echo"],
        "tests": [{"assert": [{"type": "contains", "value": "two", **assertion}]}],
        "gate": gate,
    }
    (folder / "gradegate.yaml").write_text(yaml.safe_dump(config), "utf-8")


def compare(package: Path, base: Path, head: Path) -> str:
    """What the comment says of a head beside its base."""
    done = start(package, head, "run", "gradegate.yaml", "--base-checkout", str(base), "-o", "out.agent.md")
    return done.stdout + done.stderr


def test_a_limit_of_a_rule_takes_two_files(package, tmp_path):
    add(
        LIMIT,
        package / "core" / "policy.py",
        "    is_default: bool = False  # nobody wrote it: the config has no rules, but there is a baseline\n",
    )
    add(MEASURE, package / "gate" / "regressions.py", "        result = _limit_flaky(result, rule, rows, run)\n")

    base, head = tmp_path / "base", tmp_path / "head"
    write(base, {"min-pass-rate": 1, "max-words": 2})
    write(head, {"min-pass-rate": 1, "max-words": 5})

    schema = json.loads(start(package, head, "schema").stdout)
    assert schema["$defs"]["RuleKeys"]["properties"]["max-words"]["description"] == "words that all answers may have"
    assert start(package, base, "run", "gradegate.yaml").returncode == 1
    said = compare(package, base, head)
    assert "max-words 2 became 5" in said
    assert "at most 5 words" in said
    start(package, head, "run", "gradegate.yaml", "-o", "results.json")
    (rule,) = json.loads((head / "results.json").read_text("utf-8"))["rules"]
    assert rule["rule"]["max_words"] == 5
    write(head, {"min-pass-rate": 1, "max-wrods": 5})
    assert "write `max-words: 5`" in start(package, head, "validate", "gradegate.yaml").stderr


@pytest.mark.parametrize("published", [True, False])
def test_a_field_of_an_assertion_is_compared_where_nobody_says_how(package, tmp_path, published):
    after = "    type: Annotated[str, Compared.APART]  # with its `not-`\n"
    if not published:
        after = "    threshold: Annotated[float | None, Compared.APART] = None\n"
    add('    audience: str = ""\n', package / "core" / "assertion.py", after)
    add(
        '    audience: str = ""\n',
        package / "config" / "keys.py",
        "    type: str\n    value: Any = None\n    threshold: Threshold = None\n",
    )

    base, head = tmp_path / "base", tmp_path / "head"
    write(base, {"min-pass-rate": 1}, audience="children")
    write(head, {"min-pass-rate": 1}, audience="experts")

    assert "has a different `audience`" in compare(package, base, head)
    assert "different" not in compare(package, head, head)
    grades = []
    for folder in (base, head):
        start(package, folder, "run", "gradegate.yaml", "-o", "results.json")
        (case,) = json.loads((folder / "results.json").read_text("utf-8"))["cases"]
        grades.append(case["grades"][0]["assertion"])
    assert grades[0]["definition"] != grades[1]["definition"]  # so a failure known on the base is not known here
    assert grades[1].get("audience") == ("experts" if published else None)
    assert json.loads(start(package, head, "schema").stdout)["$defs"]["AssertionKeys"]["properties"]["audience"]
