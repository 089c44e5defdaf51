"""A folder where somebody begins with gradegate, and what a person does there by hand."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from gradegate.cli import main as cli

TEMPLATES = ("prompt", "application", "answers", "rag", "chatbot")
_SPOILED = re.compile(r"  reply: [^\n]*\n(  # To see a blocked run[^\n]*\n)  # (reply: [^\n]*)\n")
_LIVE = re.compile(r"( +)((?:- \{ id: \"|provider: )scripted:[^\n]*)\n((?: +# [^\n]*\n)+)")


def spoil(folder: Path) -> None:
    """Put the wrong answer of recorded/answers.yaml in place of the right one above it."""
    path = folder / "recorded" / "answers.yaml"
    text, number = _SPOILED.subn(r"\1  \2\n", path.read_text())
    assert number == 1
    path.write_text(text)


@dataclass(frozen=True)
class Beginning:
    """A folder of its own, with the command in it."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def do(self, *words: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a command."""
        code = cli.main(words)
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err

    @property
    def files(self) -> Mapping[str, str]:
        """Every plain file below the folder, but those of git and of the last run."""
        paths = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        named = {path.relative_to(self.folder).as_posix(): path for path in paths}
        return {name: path.read_text() for name, path in sorted(named.items()) if not name.startswith((".git/", ".gradegate/"))}

    def spoil(self, below: str = "") -> None:
        """Do what recorded/answers.yaml says about seeing a blocked run."""
        spoil(self.folder / below)

    def go_live(self, below: str = "") -> None:
        """Do what the comments LIVE of the config say: what follows the recorded entry takes its place."""
        path = self.folder / below / "promptfooconfig.yaml"
        text = _LIVE.sub(lambda found: re.sub(r"(?m)^( +)# ", r"\1", found[3]), path.read_text())
        assert text.count("scripted:") <= 1
        path.write_text(text)
