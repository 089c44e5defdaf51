"""Cases of a config as an application reads them, and its answers as it writes them."""

import json
from collections.abc import Iterable
from pathlib import Path

from gradegate.cli import main as cli

HI = {"type": "contains", "value": "hi"}


def config(*tests: dict, **keys) -> dict:
    """A config whose target nobody here could ask."""
    asked = [{"assert": [HI], **test} for test in tests or ({"vars": {"q": "Hello?"}},)]
    return {"prompts": ["Answer: {{q}}"], "providers": ["file://app.py"], "tests": asked, **keys}


def cases(folder: Path, *arguments: str) -> list[dict]:
    """What `gradegate cases` writes for the config in a folder."""
    lines = folder / "cases.jsonl"
    assert cli.main(["cases", str(folder / "promptfooconfig.yaml"), "-o", str(lines), *arguments]) == 0
    return [json.loads(line) for line in lines.read_text().splitlines()]


def jsonl(rows: Iterable[dict | str]) -> str:
    """JSON lines; a text stays as it is."""
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
