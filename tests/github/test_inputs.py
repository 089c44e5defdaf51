"""The inputs of the action as the runner passes them: what is not known or not meant is said, and nothing runs."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.cli import main as cli
from gradegate.errors import ConfigError
from gradegate.github.inputs import ENV, INPUTS, environment_of_step, settings_from_inputs
from support.each import each, table
from support.fake_llm import FakeLlm
from support.runner import read_outputs


def input_mistakes(**inputs: str) -> list[str]:
    """The mistakes of inputs, spelled with underscores here and with hyphens for the runner."""
    environ = {f"INPUT_{name.replace('_', '-').upper()}": value for name, value in inputs.items()}
    return [str(mistake) for mistake in settings_from_inputs(environ, Path()).mistakes]


@pytest.mark.parametrize(("name", "cure"), table(__file__, "an_input_that_does_not_exist_is_a_mistake_even_when_it_is_empty"))
@pytest.mark.parametrize("value", ["", "x", "true"])
def test_an_input_that_does_not_exist_is_a_mistake_even_when_it_is_empty(name: str, cure: str, value: str) -> None:
    assert input_mistakes(**{name: value}) == [f"there is no input `{name.replace('_', '-')}` -> {cure}"]


@given(st.from_regex(r"\A[a-z][a-z0-9-]{0,20}\Z"))
def test_any_name_is_known_or_a_mistake(name: str) -> None:
    settings = settings_from_inputs({f"INPUT_{name.upper()}": "true"}, Path())
    assert len(settings.mistakes) <= 1
    if not settings.mistakes:
        assert name in (Path(__file__).parents[2] / "docs" / "action.md").read_text()


@each(("variables", "read", "mistakes"), table(__file__, "what_inputs_mean"))
def test_what_inputs_mean(variables: dict[str, str], read: dict[str, Any], mistakes: list[str]) -> None:
    """Variables are spelled without `INPUT_`, except for those of others."""
    found = settings_from_inputs({name if "INPUT" in name else f"INPUT_{name}": text for name, text in variables.items()}, Path())
    assert [str(mistake) for mistake in found.mistakes] == mistakes
    assert {name: [*value] if isinstance(value := getattr(found.run, name), tuple) else value for name in read} == read


@pytest.mark.parametrize("given", [{"INPUT_WEAKENING": "block"}, {"INPUT_APPROVE-LABEL": "ok"}])
def test_a_comparison_with_no_base_is_a_mistake_at_a_pull_request(given: dict[str, str]) -> None:
    (mistake,) = settings_from_inputs({**given, "GITHUB_EVENT_NAME": "pull_request", "INPUT_BASE-CHECKOUT": " "}, Path()).mistakes
    assert "needs `base-checkout`, which is empty" in mistake.what
    assert settings_from_inputs({**given, "GITHUB_EVENT_NAME": "merge_group"}, Path()).mistakes == ()


def test_a_label_for_approval_implies_that_a_weaker_gate_blocks() -> None:
    assert settings_from_inputs({"INPUT_BASE-CHECKOUT": ".base", "INPUT_WEAKENING": "report"}, Path()).run.weakening == "report"
    labelled = {"INPUT_BASE-CHECKOUT": ".base", "INPUT_WEAKENING": "report", "INPUT_APPROVE-LABEL": "ok"}
    assert settings_from_inputs(labelled, Path()).run.weakening == "block"


@pytest.mark.parametrize("name", ["config", "github_token", "allow_exec", "output"])
def test_an_expression_that_nobody_filled_in_is_a_mistake_and_is_not_quoted(name: str) -> None:
    (mistake,) = input_mistakes(**{name: "a ${{ secrets.OPENAI_API_KEY }}"})
    assert mistake.startswith(f"the input `{name.replace('_', '-')}` contains an expression that was not evaluated -> ")
    assert "OPENAI_API_KEY" not in mistake


def test_every_mistake_is_said_at_once_and_nothing_is_asked(
    llm: FakeLlm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gradegate.yaml").write_text("providers: ['openai:chat:m']\nprompts: [x]\ntests: [{}]\n")
    monkeypatch.chdir(tmp_path)
    environ = {
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "INPUT_WEAKNING": "block",
        "INPUT_BUDGET": "three",
        "OPENAI_API_KEY": "sk-canary-0123456789",
        "OPENAI_BASE_URL": llm.base,
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert cli.main(["action"]) == 2
    assert llm.requests == []
    assert read_outputs((tmp_path / "output").read_text()) == {"decision": "mistake", "comment-url": ""}
    out = capsys.readouterr().out
    for text in (out, (tmp_path / "summary").read_text()):
        assert "there is no input `weakning`" in text
        assert "the input `budget` is 'three' -> give one to three limits, each once, such as 2000 calls, 5 usd, 900 s" in text


@pytest.mark.parametrize(("inputs", "config", "texts"), table(__file__, "messages_speak_of_inputs"))
def test_messages_speak_of_inputs_and_those_of_the_command_of_flags(
    inputs: dict[str, str],
    config: str,
    texts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a" / "evals").mkdir(parents=True)
    (tmp_path / "a" / "evals" / "x.yaml").write_text(config)
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    environ = {f"INPUT_{name.upper()}": value for name, value in inputs.items()}
    for name, value in {**environ, "GITHUB_EVENT_NAME": "push", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}.items():
        monkeypatch.setenv(name, value)
    cli.main(["action"])
    said = capsys.readouterr()
    for text in (said.out + said.err, (tmp_path / "summary").read_text()):
        assert [it for it in texts if it not in text] == []
        assert "<--" not in text
        assert "--grader" not in text


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], ["run"], ["x", "--help"], [""]])
def test_arguments_end_in_no_page_of_help_and_green(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INPUT_ARGS", raising=False)
    assert cli.main(["action", *arguments]) == 2
    monkeypatch.setenv("INPUT_ARGS", " ".join(arguments))
    assert cli.main(["action", *arguments]) == 2
    assert "there is no input `args`" in capsys.readouterr().out


# --- handed ---------------------------------------------------------------------------------------------------


def test_inputs_are_spelled_as_the_runner_spells_them() -> None:
    inputs = {"comment-key": "3", "an odd one": "x", "Config": "a\nb"}
    assert environment_of_step({"GRADEGATE_INPUTS": json.dumps(inputs), "CI": "true"}) == {
        "CI": "true",
        "INPUT_COMMENT-KEY": "3",
        "INPUT_AN_ODD_ONE": "x",
        "INPUT_CONFIG": "a\nb",
    }


def test_variables_of_the_step_steer_neither_the_process_nor_the_runner() -> None:
    closed = "PATH HOME LD_PRELOAD PYTHONPATH PYTHON_X GITHUB_SHA RUNNER_TEMP ACTIONS_X INPUT_REPEAT CI GRADEGATE_NETWORK GRADEGATE_ENV"
    given = dict.fromkeys(closed.split(), "theirs") | {"OPENAI_API_KEY": "k", "PROMPTFOO_PYTHON": "p", "path": "x"}
    found = environment_of_step({"GITHUB_SHA": "ours", "GRADEGATE_ENV": json.dumps(given)})
    assert found == {"GITHUB_SHA": "ours", "OPENAI_API_KEY": "k", "PROMPTFOO_PYTHON": "p", "path": "x"}


def test_without_the_script_everything_is_as_it_was() -> None:
    assert environment_of_step({"INPUT_REPEAT": "2", "A": "b"}) == {"INPUT_REPEAT": "2", "A": "b"}


@each("text", ["{", "[]", '{"a": 1}', "[" * 100_000, '"x"'])
@each("name", ["GRADEGATE_INPUTS", "GRADEGATE_ENV"])
def test_anything_else_is_a_mistake(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is not a JSON object"):
        environment_of_step({name: text})


def test_a_mistake_in_what_is_handed_over_leaves_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADEGATE_INPUTS", "{")
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    assert cli.main(["action"]) == 2
    assert read_outputs((tmp_path / "output").read_text()) == {"decision": "mistake"}


@each("variable", [INPUTS, ENV])
@each("pair", [("TITLE", "a\0b"), ("TITLE", "\ud800"), ("a=b", "x"), ("", "x"), ("a\0", "x")])
def test_what_can_be_no_variable_is_a_mistake_that_names_it(variable: str, pair: tuple[str, str]) -> None:
    name, text = pair
    with pytest.raises(ConfigError, match="cannot be a variable of the environment") as raised:
        environment_of_step({variable: json.dumps({"FINE": "x", name: text})})
    assert ("`env`" if variable == ENV else "`with`") in str(raised.value)
    assert "FINE" not in str(raised.value)
