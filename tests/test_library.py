"""gradegate as a library: results and policies in, a decision out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gradegate
from gradegate import Policy, decide, load_results
from gradegate.errors import ConfigError
from gradegate.results.results_file import load_decision

PAGE = Path(__file__).parents[1] / "docs" / "library.md"
CONFIG = {
    "prompts": ["{{q}}"],
    "providers": ["echo"],
    "tests": [{"vars": {"q": q}, "assert": [{"type": "equals", "value": "a"}]} for q in ("a", "b")],
}


@pytest.fixture
def results(gate) -> Path:
    ran = gate(CONFIG, "-o", "results.json")
    assert ran.results["outcome"] == "blocked"
    return Path(ran.folder, "results.json")


def test_the_example_of_the_page_runs(results, monkeypatch, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(results.parent)
    exec(example, {})
    assert capsys.readouterr().out.splitlines()[-3:] == ["advisory", "answers pass", "every answer fail"]


def test_it_decides_as_the_command_did(results):
    decision, _ = load_decision(results)
    policy = Policy(tuple(result.rule for result in decision.rules))
    again = decide(load_results(str(results)), [policy])
    assert (again.outcome, again.reason, again.cases) == (decision.outcome, decision.reason, decision.cases)


def test_what_is_no_results_file_is_refused(tmp_path):
    (tmp_path / "r.json").write_text("{}")
    for name in ("r.json", "none.json"):
        with pytest.raises(ConfigError, match=re.escape(name)):
            load_results(tmp_path / name)


def test_nothing_is_imported_before_it_is_used():
    code = "import gradegate, sys; print(gradegate.__version__, [n for n in sys.modules if n.startswith('gradegate.')])"
    place = str(Path(gradegate.__file__).parents[1])
    ran = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": place}, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [gradegate.__version__, "[]"]
    assert Path(place, "gradegate", "py.typed").exists()
    stub = Path(place, "gradegate", "__init__.pyi").read_text()
    names = re.findall(r"(?m) as (\w+)$|^(\w+): str$", stub)
    assert sorted(imported or constant for imported, constant in names) == dir(gradegate)
    assert [name for name in dir(gradegate) if not hasattr(gradegate, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gradegate.nothing  # noqa: B018
