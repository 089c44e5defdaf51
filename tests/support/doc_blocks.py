"""The code blocks of the pages for people: configs are made whole by what they leave out, so that each can be checked."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages on how to add a plug-in have tests of their own (tests/test_contributing.py), and screens are made.
PAGES = [ROOT / "README.md", *(path for path in sorted(DOCS.rglob("*.md")) if path.parent.name not in ("contributing", "screens"))]
_FENCE = re.compile(
    r"(?:^`(?P<title>[\w./-]+)`:\n\n)?^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile("<!--.*?-->", re.DOTALL)
_NAME = re.compile(r"# (?P<name>[\w./-]+\.(?:ya?ml|jsonl?|txt|js|py|csv))\n")
GRADER = {"text": "openai:chat:gpt-4.1", "embedding": "openai:embedding:any", "moderation": "openai:moderation:any"}
VARS = dict.fromkeys(("question", "query", "input", "expected", "message", "context", "user"), "Up to $500?")
METRICS = [{"type": "contains", "value": "x", "metric": name} for name in ("hits", "misses", "false_alarms", "deviation")]
# Two targets, since some assertions compare them.
BASE: dict[str, Any] = {
    "prompts": ["{{question}}"],
    "providers": ["openai:chat:gpt-4.1", "openai:chat:gpt-4.1-mini"],
    "tests": [{"description": "agents book", "assert": [{"type": "factuality", "value": "Up to $500."}, *METRICS]}],
    "evaluateOptions": {"repeat": 25},  # two targets: as many grades as the `min-cases` of a page asks for
}
STEP = ("with", "env")
PORT = "8000"
# Models in place of MODEL, which is none; budgets know the price of the first two.
NAMED = {"openai:chat:MODEL": "openai:chat:gpt-4.1", "anthropic:messages:MODEL": "anthropic:messages:claude-sonnet-4-5", ":MODEL": ":any"}


@dataclass(frozen=True, slots=True)
class Block:
    """A block with the line of the page that it begins at."""

    page: Path
    line: int
    language: str
    text: str
    title: str = ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def name(self) -> str:
        """The file that the line before it, or its first line, says it is; empty where neither does."""
        found = _NAME.match(self.text)
        return self.title or (found["name"] if found else "")

    @property
    def file(self) -> str:
        """What is in that file, with the port of the test's own application."""
        return fill_in_names(self.text).replace("127.0.0.1:8000", f"127.0.0.1:{PORT}")

    @property
    def data(self) -> Any:
        """What any reader of YAML makes of it."""
        return yaml.safe_load(fill_in_names(self.text))


def fill_in_names(text: str) -> str:
    """A text of a page with models and a date in it."""
    text = text.replace("flaky: DATE", f"flaky: {datetime.now(UTC) + timedelta(30):%Y-%m-%d}")
    for written, meant in NAMED.items():
        text = text.replace(written, meant)
    return text


def blocks(page: Path) -> Iterator[Block]:
    """The blocks that a page shows, in order. What is in a comment does not count."""
    text = _COMMENT.sub(lambda comment: re.sub(".", " ", comment[0]), page.read_text())
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("indent")) + 2
        yield Block(page, line, found["language"], textwrap.dedent(found["text"]), found["title"] or "")


def commands(page: Path) -> Iterator[str]:
    """The command lines of a page, without what is said about them."""
    for block in blocks(page):
        if block.language in ("", "sh"):
            for text in block.text.splitlines():
                if text.startswith(("gradegate ", "python ")):
                    yield fill_in_names(text.partition("  #")[0].partition(" # ")[0].strip())


def as_workflow(data: Any) -> dict[str, Any] | None:
    """A whole workflow of a workflow, of steps, or of keys of a step; None for what is none of it."""
    if isinstance(data, list) and all(isinstance(item, dict) and item.keys() & {"uses", "run"} for item in data):
        data = {"steps": data}
    if not isinstance(data, dict):
        return None
    if set(data) == {"grader"}:
        data = {"with": data}
    if set(data) <= {*STEP}:
        data = {"steps": [{"uses": "OWNER/gradegate@v0", **data}]}
    if "steps" in data:
        data = {"jobs": {"evals": {"runs-on": "ubuntu-latest", **data}}}
    if not data.keys() & {"jobs", "on", True}:
        return None
    return {"on": "push", "jobs": {"x": {"runs-on": "x", "steps": [{"run": "x"}]}}, **_named(data)}


def _named(data: dict[Any, Any]) -> dict[str, Any]:
    """YAML 1.1, as PyYAML reads it, has ``on`` for true."""
    return {"on" if key is True else key: value for key, value in data.items()}


def as_config(data: Any) -> dict[str, Any]:
    """A whole config of a config, a test, a provider, or keys of them."""
    if isinstance(data, dict) and "id" in data:
        data = {"providers": [data]}
    elif isinstance(data, dict) and "assert" in data and "tests" not in data and "turns" not in data:
        data = {"tests": [data]}
    if not isinstance(data, dict):
        raise TypeError(f"a block that is neither a config nor a workflow: {data!r}")
    if "options" in data:
        data = {"defaultTest": data}
    given = data.get("defaultTest") or {}
    options, shared = ({**base, **given.get(key, {})} for key, base in (("options", {"provider": GRADER}), ("vars", VARS)))
    default = {**given, "options": options, "vars": shared}
    base = BASE
    if "runs" in (data.get("gate") or {}):  # which say how often, in place of `repeat`
        base = {
            **BASE,
            "tests": [*BASE["tests"], *({**BASE["tests"][0], "description": f"case {n}"} for n in range(24))],
            "evaluateOptions": {},
        }
    return {**base, **data, "defaultTest": default}
