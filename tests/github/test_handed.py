"""What the action's script hands over: inputs and variables as a container action has them, and nothing that steers the process."""

import json
from pathlib import Path

import pytest

from gradegate import cli
from gradegate.errors import ConfigError
from gradegate.github.inputs import ENV, INPUTS, handed
from support.each import each
from support.runner import read_outputs


def test_inputs_are_spelled_as_the_runner_spells_them() -> None:
    inputs = {"max-concurrency": "3", "an odd one": "x", "Config": "a\nb"}
    assert handed({"GRADEGATE_INPUTS": json.dumps(inputs), "CI": "true"}) == {
        "CI": "true",
        "INPUT_MAX-CONCURRENCY": "3",
        "INPUT_AN_ODD_ONE": "x",
        "INPUT_CONFIG": "a\nb",
    }


def test_variables_of_the_step_steer_neither_the_process_nor_the_runner() -> None:
    closed = "PATH HOME LD_PRELOAD PYTHONPATH PYTHON_X GITHUB_SHA RUNNER_TEMP ACTIONS_X INPUT_REPEAT CI GRADEGATE_NETWORK GRADEGATE_ENV"
    given = dict.fromkeys(closed.split(), "theirs") | {"OPENAI_API_KEY": "k", "PROMPTFOO_PYTHON": "p", "path": "x"}
    found = handed({"GITHUB_SHA": "ours", "GRADEGATE_ENV": json.dumps(given)})
    assert found == {"GITHUB_SHA": "ours", "OPENAI_API_KEY": "k", "PROMPTFOO_PYTHON": "p", "path": "x"}


def test_without_the_script_everything_is_as_it_was() -> None:
    assert handed({"INPUT_REPEAT": "2", "A": "b"}) == {"INPUT_REPEAT": "2", "A": "b"}


@each("text", ["{", "[]", '{"a": 1}', "[" * 100_000, '"x"'])
@each("name", ["GRADEGATE_INPUTS", "GRADEGATE_ENV"])
def test_anything_else_is_a_mistake(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is not a JSON object"):
        handed({name: text})


def test_a_mistake_in_what_is_handed_over_leaves_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADEGATE_INPUTS", "{")
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    assert cli.main(["action"]) == 2
    assert read_outputs((tmp_path / "output").read_text()) == {"outcome": "mistake", "exit-code": "2"}


@each("variable", [INPUTS, ENV])
@each("pair", [("TITLE", "a\0b"), ("TITLE", "\ud800"), ("a=b", "x"), ("", "x"), ("a\0", "x")])
def test_what_can_be_no_variable_is_a_mistake_that_names_it(variable: str, pair: tuple[str, str]) -> None:
    name, text = pair
    with pytest.raises(ConfigError, match="cannot be a variable of the environment") as raised:
        handed({variable: json.dumps({"FINE": "x", name: text})})
    assert ("`env`" if variable == ENV else "`with`") in str(raised.value)
    assert "FINE" not in str(raised.value)
