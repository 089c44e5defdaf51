"""A run in shards, through the command: each shard, and the merge."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gradegate.cli import main as cli
from gradegate.sandbox.evaluate import reset_accounts

PARTS = "gradegate-parts"
TIMES = {"seconds", "started", "oldest", "latency"}


def timeless(value: Any) -> Any:
    """A value of results.json without its times."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key not in TIMES}
    return [timeless(item) for item in value] if isinstance(value, list) else value


@dataclass
class Sharded:
    """Runs one config in the working directory. ``options`` go to every command."""

    folder: Path
    config: Any
    of: int = 3
    options: Sequence[str] = ()
    codes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        text = self.config if isinstance(self.config, str) else yaml.safe_dump(self.config, sort_keys=False)
        (self.folder / "c.yaml").write_text(text)

    def command(self, *arguments: str) -> int:
        reset_accounts()
        return cli.main([*arguments, "--grader-retries", "0", *self.options])

    def one(self) -> tuple[int, dict]:
        """One run of everything: its code and results."""
        code = self.command("run", "c.yaml", "-o", "one.json")
        return code, json.loads((self.folder / "one.json").read_text())

    def ask(self, *more: str, shards: Sequence[int] = ()) -> None:
        """Every shard, or these."""
        for number in shards or range(1, self.of + 1):
            self.codes.append(self.command("run", "c.yaml", "--shard", f"{number}/{self.of}", *more))

    def merge(self) -> tuple[int, dict]:
        """The decision: its code and results."""
        results = self.folder / "merged.json"
        results.unlink(missing_ok=True)
        code = self.command("merge", PARTS, "c.yaml", "-o", "merged.json")
        return code, json.loads(results.read_text()) if results.exists() else {}

    def run(self) -> tuple[int, dict]:
        """Every shard, and the merge."""
        self.ask()
        return self.merge()

    def part(self, shard: int, attempt: int = 1) -> Path:
        return self.folder / PARTS / f"part-{shard}-of-{self.of}-attempt-{attempt}.jsonl"
