"""The questions on a terminal: what is typed, what an empty line takes, and what is asked again."""

import os
import pty
import subprocess
import sys

import pytest

from gradegate.cli.init.choices import Choices, complete_choices
from gradegate.errors import ConfigError
from support.each import each, table
from support.patience import PATIENCE
from support.processes import start_process


def answer_questions(*typed, **given):
    """What comes of lines that are typed, and the questions; the end of the lines is the end of the input."""
    lines, questions = list(typed), []

    def ask(question):
        questions.append(question)
        if not lines:
            raise EOFError
        return lines.pop(0)

    choices = complete_choices(Choices(**given), given, ask)
    assert lines == []
    return choices, questions


@each(("typed", "choices"), table(__file__, "what_is_typed_is_chosen"))
def test_what_is_typed_is_chosen(typed, choices):
    assert answer_questions(*typed)[0] == Choices(*choices)


def test_what_the_command_line_says_is_not_asked():
    choices, questions = answer_questions("", template="rag", provider="openai:chat:m")
    assert choices == Choices("rag", "openai:chat:m", "openai:chat:m")
    assert questions == ["Which model grades? [openai:chat:m] "]


def test_models_that_are_asked_at_once_are_named_with_the_variable_of_their_key():
    choices, questions = answer_questions("", "", "openai:chat:m", "", "MY_KEY", live=True)
    assert choices == Choices("prompt", "openai:chat:m", "openai:chat:m", live=True, key="MY_KEY")
    assert questions[2].startswith("The model is asked at once, so name one")
    assert questions[-1] == "Which variable of the environment holds its key? [OPENAI_API_KEY] "
    assert answer_questions("", "openai:chat:m", "", "", live=True)[0].key == ""


def test_an_id_that_nobody_serves_is_asked_again_with_what_helps():
    _, questions = answer_questions("", "opnai", "openai:chat:m", "")
    assert questions[2].startswith("No provider has that id (")
    assert "openai" in questions[2]


def test_input_that_ends_is_told():
    with pytest.raises(ConfigError, match="nothing was written -> answer the questions, or give --template"):
        answer_questions("rag")


@pytest.mark.slow
def test_on_a_terminal_it_asks_and_elsewhere_not(tmp_path):
    here, there = pty.openpty()
    command = [sys.executable, "-m", "gradegate", "init", "--provider", "openai:chat:m"]
    with start_process(command, cwd=tmp_path, stdin=there, stdout=there, stderr=subprocess.PIPE) as process:
        os.close(there)
        os.write(here, b"chatbot\n\n\x04")  # the end, should it ask for more
        said = b""
        while b"Next:" not in said:
            said += os.read(here, 4096)
        process.communicate(timeout=PATIENCE)
        os.close(here)
    assert process.returncode == 0
    assert b"What is tested?" in said
    assert b"Defaults taken" not in said
    assert "role-adherence" in (tmp_path / "promptfooconfig.yaml").read_text()


@each(("typed", "choices"), table(__file__, "what_no_file_can_hold_is_asked_again_at_once"))
def test_what_no_file_can_hold_is_asked_again_at_once(typed, choices):
    assert answer_questions(*typed)[0] == Choices(*choices)
