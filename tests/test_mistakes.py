"""Deliberate mistakes, and the words for each: mistakes.yaml is read aloud whenever it changes; and what exits 0 elsewhere and must not here."""

import json
import re
from pathlib import Path

import pytest
import yaml

from gradegate.cli import main as cli
from support.each import each
from support.scenes import scenes

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


# --- never green ----------------------------------------------------------------------------------------------
test_a_scene = scenes(__file__)


def config(llm, **more):
    return {
        "prompts": ["{{text}}"],
        "providers": ["echo"],
        "defaultTest": {"options": {"provider": llm.spec()}},
        "tests": [{"vars": {"text": "hello"}, "assert": [{"type": "llm-rubric", "value": "is polite"}]}],
        **more,
    }


def test_planned_is_passed_and_failed_and_errored_when_an_assertion_crashes(gate, llm):
    llm.reply = lambda path, body: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\xff\xfe\x00\x01bad{}"
    written = config(llm)
    written["tests"][0]["assert"] += [{"type": "contains", "value": "hello"}, {"type": "contains", "value": "bye"}]
    ran = gate(written)
    counts = ran.results["summary"]
    assert [counts[k] for k in ("planned", "passed", "failed", "errored")] == [3, 1, 1, 1]
    assert ran.code == 3 or ran.results["outcome"] == "blocked"


def test_secrets_are_in_no_report(gate, llm, monkeypatch):
    key = "sk-canary-äöü-0123456789"
    monkeypatch.setenv("SOME_API_KEY", key)
    llm.reply = lambda path, body: (400, {"error": {"message": f"bad key {key} and {json.dumps(key)}"}})
    written = config(llm, providers=[llm.spec("t", apiKeyEnvar="SOME_API_KEY")])
    written["providers"][0]["config"].pop("apiKey")
    outputs = ["results.json", "junit.xml", "comment.md", "report.html"]
    ran = gate(yaml.safe_dump(written), *(argument for name in outputs for argument in ("-o", name)))
    texts = [ran.out, ran.err, *((ran.folder / name).read_text() for name in outputs)]
    assert ran.code == 3
    assert all("canary" not in text for text in texts)
    assert "bad key ***" in ran.out
