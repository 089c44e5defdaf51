"""Compares what the examples and the configs of tests/side_by_side produce before and after a refactoring.

`freeze.py write DIR` runs them all and writes a folder for each scene: every report, what the terminal shows, the exit code
and the requests that were sent. `freeze.py compare DIR` runs them again and prints every difference (exit code 1).
`--tree CHECKOUT` runs the code and the configs of another checkout. Times, paths, ports, versions and the order of keys are
ignored. Hashes are numbered, so that two hashes that were equal must stay equal.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import io
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("examples", "tests/side_by_side")
CONFIGS = "tests/side_by_side/configs"
REPORTS = ("results.json", "comment.md", "junit.xml", "page.html", "agent.md")
COLUMNS = "100"  # width of the terminal
DECIDES = ("run", "merge")
QUICK = ("--grader-retries", "0", "-j", "1")
TIMES = {"seconds", "milliseconds", "latency_ms", "oldest", "age_days"}
JOINER = "\u200b"  # what the comment puts into hashes, so that GitHub makes no links of them
HASH = re.compile(r"(?<![0-9a-zA-Z])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-zA-Z])")
PLAIN = (  # a pattern, and what stands for all that it matches
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r'(?<= time=")[\d.]+'), "0"),
    (re.compile(r"(?<![\w.])\d+(\.\d+)? (s|ms)\b"), r"0 \2"),
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"), "TIME"),
    (re.compile(r"\bmilliseconds: [\d.]+"), "milliseconds: 0"),
    (re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d UTC"), "TIME"),
    (
        re.compile(
            r"(?<=`)[0-9a-f]{7}(?=`)|(?<=the base \()[0-9a-f]{7}(?=,)|(?<=<dd>)[0-9a-f]{7}(?=</dd>)"
        ),
        "COMMIT",
    ),
)


@dataclass(frozen=True)
class Scene:
    """Commands in a folder of a checkout. ``files`` are written before the first; commands that decide write all reports."""

    name: str
    folder: str
    steps: Sequence[Sequence[str]]
    files: Mapping[str, str] = field(default_factory=dict)
    at_terminal: bool = False


class Terminal(io.StringIO):
    """Output that claims to be a terminal, so that a run shows colours and fits its lines."""

    def isatty(self) -> bool:
        """Always true."""
        return True


GRADES = """\
- {when: "<expected ", reply: '{"verdicts": [{"sentence": "s", "reason": "r", "verdict": "attributed"}]}'}
- {when: 16 weeks, reply: '{"reason": "read", "pass": true, "score": 1}'}
- {reply: '{"reason": "read", "pass": false, "score": 0}'}
"""
LABELS = """\
{"description": "names the approval limit", "assertion": "factuality", "output": "You can buy anything up to $500 without asking.", "label": "pass"}
{"description": "says how long maternity leave is", "assertion": "factuality", "output": "You get 12 weeks, paid in full.", "label": "pass"}
{"description": "does not guess", "assertion": "model-graded-closedqa", "output": "The handbook does not say.", "label": "fail"}
"""


def examples(tree: Path) -> Iterator[Scene]:
    """Every example, and the first one in several jobs, with a cache, beside a baseline, and with a base that held more."""
    start = "examples/quickstart"
    config = (tree / start / "promptfooconfig.yaml").read_text()
    weaker = config.replace("value: $500", "value: $5").replace(
        "min-pass-rate: 1", "min-pass-rate: 0.4"
    )
    yield Scene(
        "example-quickstart",
        start,
        [["run"], ["run", "--reask", "off", "--repeat", "2"], ["validate"]],
    )
    shards = [["run", "--shard", f"{number}/2"] for number in (1, 2)]
    merge = ["merge", "gradegate-parts"]
    yield Scene("example-shards", start, [*shards, merge])
    yield Scene("example-shards-part", start, [shards[0], merge])
    outside = "../../../kept"
    kept = ["run", "-o", f"{outside}/results.json"]
    yield Scene("example-baseline", start, [kept, ["run", "--baseline", outside]])
    base = ["run", "--base-checkout", "../../../base"]
    yield Scene(
        "example-base",
        start,
        [base, [*base, "--weakening", "block"], [*base, "--baseline", "live"]],
        {"promptfooconfig.yaml": weaker},
    )
    labelled = ["calibrate", "promptfooconfig.yaml", "labels.jsonl", "--asks", "2"]
    yield Scene("example-calibrate", start, [labelled], {"labels.jsonl": LABELS})
    yield Scene("example-gate", "examples/gate", [["run"]])
    payload = ["run", "custom-run.json", "-g", "scripted:replies.yaml", "-o", "results.aegis.json"]
    yield Scene("example-aegis", "examples/aegis", [payload])
    letters = ["run", "-g", "openai:chat:judge-rubric", "--cache", "kept"]
    yield Scene("example-openai-evals", "examples/openai-evals", [letters, letters])
    asked = ["python", "answer_cases.py", "cases.jsonl", "answers.jsonl"]
    graded = ["run", "--answers", "answers.jsonl", "-g", "scripted:grades.yaml"]
    steps = [["cases", "-o", "cases.jsonl"], asked, graded]
    yield Scene("example-answers", "examples/answers", steps, {"grades.yaml": GRADES})


def scenes(tree: Path) -> Iterator[Scene]:
    """The examples, in a log and at a terminal, and every config of the side by side."""
    for scene in examples(tree):
        yield scene
        yield replace(scene, name=f"{scene.name}-terminal", at_terminal=True)
    for path in sorted((tree / CONFIGS).glob("*.yaml")):
        code = ["--allow-exec"] if path.stem.startswith("code-") else []
        yield Scene(path.stem, CONFIGS, [["run", path.name, "--allowed-env", "PRODUCT", *code]])


class Stage:
    """A copy of the checkout in a temporary folder, with a model and an application on loopback."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.tree, self.root = tree, folder / str(os.getpid())
        sys.path[:0] = [str(tree / "src"), str(tree / "tests"), str(tree / "examples/gate")]
        self.command = importlib.import_module("gradegate.cli.main").main
        self.version = importlib.import_module("gradegate").__version__
        self.both = importlib.import_module("support.side_by_side")
        desk = ThreadingHTTPServer(
            ("127.0.0.1", 0), self._quiet(importlib.import_module("serve").HelpDesk)
        )
        threading.Thread(target=desk.serve_forever, daemon=True).start()
        self.port = str(desk.server_address[1])
        self._checkout(self.root / "base")

    @staticmethod
    def _quiet(handler: type[Any]) -> type[Any]:
        return type("Quiet", (handler,), {"log_message": lambda *_: None})

    def _checkout(self, folder: Path) -> None:
        for name in COPIED:
            shutil.copytree(
                self.tree / name, folder / name, ignore=shutil.ignore_patterns("out", "__pycache__")
            )
        gate = folder / "examples/gate/promptfooconfig.yaml"
        gate.write_text(gate.read_text().replace("8000", self.port))
        git = [
            "git",
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "-c",
            "core.hooksPath=/dev/null",
        ]
        for words in (
            ["init", "--quiet"],
            ["add", "--all"],
            ["commit", "--quiet", "--message", "all"],
        ):
            subprocess.run([*git, *words], cwd=folder, check=True)  # our own words

    def play(self, scene: Scene) -> dict[str, str]:
        """What came of the commands, as normal text by the name of a file."""
        head, made = self.root / "base", {}
        if scene.folder != CONFIGS:  # what it writes is not there for the next one
            head = self.root / scene.name
            shutil.copytree(self.root / "base", head)
        for name, text in scene.files.items():
            (head / scene.folder / name).write_text(text)
        with self.both.serve() as model, contextlib.chdir(head / scene.folder):
            os.environ.clear()
            os.environ.update(
                {
                    "PATH": os.defpath,
                    "HOME": str(self.root),
                    "COLUMNS": COLUMNS,
                    "TERM": "xterm-256color",
                    **model.environ(),
                }
            )
            for number, step in enumerate(scene.steps, 1):
                out = self.root / "out" / str(number)
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir(parents=True)
                files = {"output.txt": self._run(step, out, scene.at_terminal)}
                files |= {path.name: path.read_text() for path in sorted(out.iterdir())}
                if model.sent:
                    files["requests.txt"] = "\n".join(
                        sorted(json.dumps(request, sort_keys=True) for request in model.sent)
                    )
                    model.sent.clear()
                made |= {
                    f"{number}-{name}": self.normal(name, text) for name, text in files.items()
                }
        return made

    def _run(self, step: Sequence[str], out: Path, at_terminal: bool) -> str:
        if step[0] == "python":
            done = subprocess.run(
                [sys.executable, *step[1:]], capture_output=True, text=True, check=False
            )
            return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
        reports = (
            [part for name in REPORTS for part in ("-o", str(out / name))]
            if "--shard" not in step
            else []
        )
        options = [*reports, *QUICK] if step[0] in DECIDES else []
        output = Terminal() if at_terminal else io.StringIO()
        errors = (
            io.StringIO()
        )  # never a terminal: how far the progress bar gets depends on the machine
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = self.command([*step, *options])
        return f"exit code {code}\n{output.getvalue()}\nstandard error:\n{errors.getvalue()}"

    def normal(self, name: str, text: str) -> str:
        """A text without what another run, folder or version has otherwise."""
        if name.endswith(".json"):
            text = json.dumps(
                _timeless(json.loads(text)), indent=1, sort_keys=True, ensure_ascii=False
            )
        text = text.replace(JOINER, "").replace(str(self.root), "ROOT")
        text = re.sub(rf"(?<![\w.]){re.escape(self.version)}(?![\w.])", "VERSION", text)
        for pattern, plain in PLAIN:
            text = pattern.sub(plain, text)
        seen: dict[str, str] = {}
        return (
            HASH.sub(lambda found: seen.setdefault(found[0], f"HASH-{len(seen) + 1}"), text) + "\n"
        )


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: 0 if key in TIMES and isinstance(item, int | float) else _timeless(item)
            for key, item in value.items()
        }
    return [_timeless(item) for item in value] if isinstance(value, list) else value


_stage: list[Stage] = []


def _enter(tree: Path, folder: Path) -> None:
    _stage.append(Stage(tree, folder))


def _play(scene: Scene) -> tuple[str, dict[str, str]]:
    return scene.name, _stage[0].play(scene)


def frozen(tree: Path) -> dict[str, str]:
    """Every file by its path, of all scenes, by two processes."""
    spawn = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        spawn.Pool(2, _enter, (tree, Path(folder).resolve())) as pool,
    ):
        played = pool.imap_unordered(_play, scenes(tree))
        made = {f"{scene}/{name}": text for scene, files in played for name, text in files.items()}
        pool.close()
        pool.join()
    return made


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """What differs, as a unified diff of each file."""
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            before, after = (texts.get(name, "").splitlines() for texts in (old, new))
            yield "\n".join(
                difflib.unified_diff(
                    before, after, f"frozen/{name}", f"now/{name}", n=1, lineterm=""
                )
            )


def main() -> int:
    """0 when all is as it was, 1 when not."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tree", type=Path, default=ROOT, metavar="CHECKOUT")
    chosen = parser.parse_args()
    files = frozen(chosen.tree.resolve())
    if chosen.action == "write":
        for name, text in files.items():
            (chosen.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (chosen.folder / name).write_bytes(text.encode())
        print(f"{len(files)} files in {chosen.folder}")
        return 0
    old = {
        str(path.relative_to(chosen.folder)): path.read_bytes().decode()
        for path in chosen.folder.rglob("*")
        if path.is_file()
    }
    found = [*differences(old, files)]
    print("\n".join([*found, f"{len(found)} of {len({*old, *files})} files differ"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
