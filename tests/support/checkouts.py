"""Two checkouts, planned and compared: what a pull request does to its gate. No model is asked."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from gradegate.changes import GateChange, GateChanges
from gradegate.pipeline import prepare
from gradegate.settings import Settings

CONFIG = "promptfooconfig.yaml"
ENVIRON = {"OPENAI_API_KEY": "sk-0123456789"}
Files = Mapping[str, Any]  # texts, or values that are written as YAML

RUBRIC = {"type": "llm-rubric", "value": "is polite", "threshold": 0.8, "metric": "tone"}
# Something of everything; tests edit a copy of it.
BASE: dict[str, Any] = {
    "prompts": [{"label": "short", "raw": "Say {{q}}"}, {"label": "long", "raw": "Please, say {{q}}"}],
    "providers": [
        {"id": "openai:chat:gpt-5", "label": "app", "config": {"temperature": 0, "passthrough": {"model": "m-1"}}},
        "openai:chat:gpt-5-mini",
    ],
    "defaultTest": {
        "assert": [{"type": "not-contains", "value": "sorry"}],
        "options": {"provider": "openai:chat:judge", "factuality": {"disagree": 0}},
    },
    "evaluateOptions": {"repeat": 2},
    "tests": [
        {
            "description": "one",
            "vars": {"q": "hello"},
            "assert": [{"type": "equals", "value": "hello"}, {"type": "latency", "threshold": 900}, RUBRIC],
        },
        {"description": "one", "vars": {"q": "hard"}, "assert": [{"type": "contains", "value": "x"}]},
        {
            "description": "mean",
            "vars": {"q": "mean"},
            "threshold": 0.6,
            "assert": [
                {"type": "contains", "value": "a", "weight": 2},
                {"type": "contains", "value": "b", "weight": 1},
            ],
        },
        {
            "description": "set",
            "vars": {"q": "set", "doc": "file://doc.txt"},
            "assert": [
                {
                    "type": "assert-set",
                    "threshold": 0.5,
                    "assert": [{"type": "contains", "value": "a"}, {"type": "g-eval", "value": "is kind"}],
                },
                {"type": "assert-set", "assert": [{"type": "equals", "value": "k"}, {"type": "regex", "value": "k"}]},
            ],
        },
        {
            "description": "many",
            "vars": {"q": "many"},
            "assert": [
                {"type": "g-eval", "value": "is calm", "metric": "tone"},
                {"type": "factuality", "value": "Bern"},
                {"type": "not-similar", "value": "bad", "threshold": 0.3, "provider": "openai:embedding:e-1"},
                {"type": "similar:euclidean", "value": "good", "threshold": 0.4, "provider": "openai:embedding:e-1"},
                {"type": "moderation", "value": ["hate", "violence"], "provider": "openai:moderation:m-1"},
                {"type": "llm-rubric", "value": "is short", "rubricPrompt": "Grade {{output}} by {{rubric}}"},
            ],
        },
        {
            "description": "talk",
            "turns": [{"role": "user", "content": "hi"}, {"role": "user", "content": "bye"}],
            "assert": [
                {"type": "contains", "value": "bye"},
                {"type": "not-assert-set", "assert": [{"type": "contains", "value": "no"}]},
            ],
        },
        "file://more.csv",
    ],
    "gate": {
        "rules": [
            {"name": "all", "min-pass-rate": 0.9},
            {"name": "tone", "select": {"metric": "tone"}, "min-score": 0.7},
            {"name": "all", "min-pass-rate": 0.5, "blocking": False},
        ],
        "errors": {"ignore-up-to": 0.02},
        "changes": "report",
    },
}
FILES: Files = {"doc.txt": "what is known", "more.csv": "q,__expected\nsix,contains: 6\nseven,contains: 7\n"}


def compared(base: Files, head: Files, root: Path | None = None, /, **options: Any) -> GateChanges:
    """What the files of the head do to the gate of those of the base; options are those of a run."""
    if root is None:
        with tempfile.TemporaryDirectory() as folder:
            return compared(base, head, Path(folder), **options)
    write(root / "base", base)
    write(root / "head", head)
    settings = Settings(base=str(root / "base"), cwd=root / "head", environ=ENVIRON)
    return prepare(replace(settings, **options)).changes


def write(folder: Path, files: Files) -> None:
    """Texts as they are, other values as YAML."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
        (folder / name).write_text(text, encoding="utf-8")


def edited(edit: Callable[[Any], Any], config: Any = None) -> Any:
    """A copy of a config after an edit."""
    head = copy.deepcopy(BASE if config is None else config)
    edit(head)
    return head


def after(edit: Callable[[Any], Any], files: Files | None = None) -> list[str]:
    """The findings after an edit of the config, and of files beside it, as ``kind: text``."""
    changes = compared({CONFIG: BASE, **FILES}, {CONFIG: edited(edit), **FILES, **(files or {})})
    return [said(change) for change in changes.found]


def said(change: GateChange) -> str:
    """A finding as one text."""
    return f"{change.kind.value}: {change.text}"
