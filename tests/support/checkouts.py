"""Two checkouts, planned and compared: what a pull request does to its gate. No model is asked."""

import copy
import functools
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from gradegate.config.context import build_context
from gradegate.core.settings import Settings
from gradegate.results.gate_changes import GateChange, GateChanges
from gradegate.runner.prepare import prepare
from gradegate.structs import replace

CONFIG = "promptfooconfig.yaml"
ENVIRON = {"OPENAI_API_KEY": "sk-0123456789"}
Files = Mapping[str, Any]  # texts, or values that are written as YAML

# Something of everything; tests edit a copy of it.
BASE: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
FILES: Files = {"doc.txt": "what is known", "more.csv": "q,__expected\nsix,contains: 6\nseven,contains: 7\n"}


def compare_checkouts(base: Files, head: Files, root: Path | None = None, /, **options: Any) -> GateChanges:
    """What the files of the head do to the gate of those of the base; options are those of a run, and its ``environ``."""
    if root is None:
        with tempfile.TemporaryDirectory() as folder:
            return compare_checkouts(base, head, Path(folder), **options)
    write(root / "base", base)
    write(root / "head", head)
    environ = options.pop("environ", ENVIRON)
    settings = Settings(base_checkout=str(root / "base"), cwd=root / "head")
    return prepare(build_context(replace(settings, **options), environ)).changes


def write(folder: Path, files: Files) -> None:
    """Texts as they are, other values as YAML."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
        (folder / name).write_text(text, encoding="utf-8")


def edit_config(edit: Callable[[Any], Any], config: Any = None) -> Any:
    """A copy of a config after an edit."""
    head = copy.deepcopy(BASE if config is None else config)
    edit(head)
    return head


def edit_by(config: Any, row: Mapping[str, Any]) -> None:
    """Change places of a config, written ``tests/0/assert``: ``set`` them, ``add`` there in a list, ``gone``, ``reverse``."""
    for kind in ("set", "add", "gone", "reverse"):
        for path in row.get(kind, ()):
            *steps, last = (int(step) if step.isdigit() else step for step in path.split("/"))
            place = functools.reduce(lambda value, step: value[step], steps, config)
            if kind == "set":
                place[last] = row[kind][path]
            elif kind == "add":
                place.insert(last, row[kind][path])
            elif kind == "gone":
                del place[last]
            else:
                place[last].reverse()


def after(edit: Callable[[Any], Any], files: Files | None = None) -> list[str]:
    """The findings after an edit of the config, and of files beside it."""
    return findings({CONFIG: BASE, **FILES}, {CONFIG: edit_config(edit), **FILES, **(files or {})})


def findings(base: Files, head: Files, root: Path | None = None, /, **options: Any) -> list[str]:
    """What ``compared`` finds, as ``kind: text``."""
    return [change_text(change) for change in compare_checkouts(base, head, root, **options).found]


def change_text(change: GateChange) -> str:
    """A finding as one text."""
    return f"{change.kind.value}: {change.text}"
