"""Deliberate mistakes, and the words for each: mistakes.yaml is read aloud whenever it changes."""

import re
from pathlib import Path

import pytest
import yaml

from gradegate import cli
from support.each import each

TABLE = yaml.safe_load((Path(__file__).parent / "mistakes.yaml").read_text())
LAST = re.compile(r"\d+ mistakes?; nothing was asked of any model")
SAID = re.compile(r"(?:c\.yaml|prompt\.txt)(?::[1-9]\d*)?: (?P<what>.+?) -> (?P<cure>.+)")
# Words of Python, of pydantic, and of YAML's and JSON's readers, which say nothing to whoever writes a config.
INNER = re.compile(
    r"Traceback|NoneType|\bdict\b|\bstr\b|\bfloat\b|\bint\b|instance of|pydantic|[Vv]alid string|valid number|should be"
    r"|Input |Value error|while (?:scanning|parsing)|any token|scalar|0x[0-9a-f]{6}|Error\b|Keys\b"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GITHUB_WORKSPACE", "GITHUB_ACTIONS", "FORCE_COLOR", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "prompt.txt").write_text("x")
    (tmp_path / "prompt.txt").write_text("{{q}}")
    (tmp_path / "cases.csv").write_text("q,__expected\na,a\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@each("slip", TABLE)
def test_a_slip_is_told_with_its_place_and_its_cure(slip: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "c.yaml").write_text(TABLE[slip]["config"])
    assert cli.main(["validate", "c.yaml"]) == 2
    *said, last = capsys.readouterr().err.splitlines()
    assert "\n".join(said) == TABLE[slip]["says"].rstrip("\n")
    assert LAST.fullmatch(last)


@each("slip", TABLE)
def test_what_is_said_is_for_people(slip: str) -> None:
    messages = [line for line in TABLE[slip]["says"].splitlines() if not line.startswith("    ")]
    assert messages
    for message in messages:
        found = SAID.fullmatch(message)
        assert found, message
        assert found["what"]
        assert found["cure"]
        assert not INNER.search(message), message
