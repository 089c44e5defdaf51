"""The pages of help: an example that runs and the exit codes there are; and a page for every variable that the sources read."""

import ast
import re
import shlex
from pathlib import Path

import pytest

import gradegate
from gradegate.cli import main as cli
from gradegate.cli.help import EXAMPLES, EXIT_CODES
from gradegate.gate import exit_codes as codes

ROOT = Path(__file__).parents[2]
SOURCES = sorted(Path(gradegate.__file__).parent.rglob("*.py"))
VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
# Words in capitals that are none: limits of processes, what vendors answer, and places in what `init` writes.
OTHERS = re.compile(r"RLIMIT_\w+|API_KEY_INVALID|STATUS_CODE_ERROR|KNOWLEDGE_BASE|(?:GRADER|TARGET)_NEEDS|RUN_IN|COMMENT_KEY")
# Nobody sets these by hand: of GitHub's runner, of our own Action and sandbox, and of the dynamic linker.
BY_THE_RUNNER = re.compile(r"(ACTIONS|GITHUB|RUNNER|INPUT|LD|DYLD)_|GRADEGATE_(ENV|INPUTS|FOLDERS)$|HOME$")
ONE_WORD = {"BROWSER", "CI", "HOME", "TERM"}


def read() -> set[str]:
    """The variables that the sources name as texts of their own."""
    found: set[str] = set()
    for path in SOURCES:
        texts = {it.value for it in ast.walk(ast.parse(path.read_text())) if isinstance(it, ast.Constant)}
        found |= {it for it in texts if isinstance(it, str) and (VARIABLE.fullmatch(it) or it in ONE_WORD)}
    return {name for name in found if not OTHERS.fullmatch(name)}


def test_every_variable_that_is_read_is_on_a_page() -> None:
    pages = "\n".join(path.read_text() for path in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "docs" / "key-requests.csv"])
    documented = {found[0] for found in VARIABLE.finditer(pages)} | {found[1] for found in re.finditer("`([A-Z]+)`", pages)}
    assert {name for name in read() - documented if not BY_THE_RUNNER.match(name)} == set()


def helped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main([*arguments, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["", *(name for name in cli.COMMANDS if name != "action")])
def test_a_page_of_help_has_it_all(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = helped(capsys, monkeypatch, *filter(None, [command]))
    parts = [text.index(f"\n{heading}:\n") for heading in ("exit codes", "example")]
    assert parts == sorted(parts)
    assert text.splitlines()[-1].startswith(f"  gradegate {command or 'run'}")
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "environment variables: docs/terminal.md" in text


@pytest.mark.parametrize("command", [name for name in cli.COMMANDS if name in EXAMPLES])
def test_an_example_is_one_of_its_command(command: str) -> None:
    words = shlex.split(EXAMPLES[command].partition(" > ")[0])
    assert words[:2] == ["gradegate", command]
    assert cli.build_parser().parse_args(words[1:]).command


def test_the_codes_are_those_of_the_command() -> None:
    numbers = {codes.PASS, codes.BLOCKED, codes.MISTAKE, codes.INCONCLUSIVE}
    assert {int(code) for code in EXIT_CODES["run"]} == numbers
    assert all({int(code) for code in of} <= numbers for of in EXIT_CODES.values())
