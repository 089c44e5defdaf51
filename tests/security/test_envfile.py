"""Files of environment variables: read as dotenv reads them, and never on GitHub."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import ConfigError
from gradegate.security.env_files import parse_env_file, with_env_files
from support.each import table

# What dotenv (npm) gives for each text, too.
READ = table(__file__, "READ")


@pytest.mark.parametrize(("text", "variables"), READ)
def test_a_file_is_read_as_dotenv_reads_it(text, variables):
    assert parse_env_file(text, ".env") == variables


def test_every_line_that_is_no_variable_is_a_mistake_with_its_line():
    with pytest.raises(ConfigError) as caught:
        parse_env_file("A=1\nnonsense\nB=2\n=3\nC: yaml\nD=`x`\n", ".env")
    assert [str(mistake) for mistake in caught.value.mistakes] == [
        ".env:2: the line does not set a variable -> write NAME=value",
        ".env:4: the line does not set a variable -> write NAME=value",
        ".env:5: the line does not set a variable -> write NAME=value",
        ".env:6: the value is in backticks -> put it in single quotes",
    ]


@given(st.text("Aa=:'\"`# \n\\$x1"))
def test_any_text_is_read_or_refused(text):
    try:
        assert isinstance(parse_env_file(text, ".env"), dict)
    except ConfigError as e:
        assert e.mistakes  # noqa: PT017


def test_later_files_win_over_earlier_ones_and_over_the_environment(tmp_path):
    (tmp_path / "a.env").write_text("A=1\nB=1\n")
    (tmp_path / "b.env").write_text("B=2\n")
    assert with_env_files({"A": "0", "C": "0"}, ["a.env, b.env"], tmp_path) == {"A": "1", "B": "2", "C": "0"}


@pytest.mark.parametrize("written", ["none.env", "."])
def test_a_file_that_cannot_be_read_is_a_mistake(tmp_path, written):
    with pytest.raises(ConfigError, match="--env-file"):
        with_env_files({}, [written], tmp_path)


def test_on_github_no_file_is_a_source_of_keys(tmp_path):
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=https://elsewhere.example\n")
    with pytest.raises(ConfigError, match="not allowed on GitHub"):
        with_env_files({"GITHUB_ACTIONS": "true"}, [".env"], tmp_path)


def test_a_key_of_a_file_is_used_and_hidden(gate, llm, tmp_path):
    (tmp_path / "keys.env").write_text("OPENAI_API_KEY=sk-of-the-file-0123456789\n")
    llm.reply = lambda path, body: "the key is sk-of-the-file-0123456789"
    provider = {"id": "openai:chat:m", "config": {"apiBaseUrl": llm.base}}
    config = {"prompts": ["x"], "providers": [provider], "tests": [{"assert": [{"type": "contains", "value": "key"}]}]}
    ran = gate(config, "--env-file", str(tmp_path / "keys.env"))
    assert ran.code == 0, ran.out + ran.err
    assert "sk-of-the-file" not in ran.out + ran.err + json.dumps(ran.results)
    assert llm.requests[0][2]["Authorization"] == "Bearer sk-of-the-file-0123456789"
