"""Every example workflow, of files, pages and templates: keys and code of a pull request are never in one job.

What a job with keys may start is listed, and so is where a job that judges may have files from: all else fails here.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradegate.files import documents as document
from support.doc_blocks import PAGES, as_workflow, blocks
from support.each import each, table
from support.packages import node, npm_folder, wheel

ROOT = Path(__file__).resolve().parent.parent
FILES = [*(ROOT / "examples").rglob("*.yml"), *(ROOT / "src" / "gradegate" / "cli" / "init" / "templates").rglob("*.yml")]
Job = dict[str, Any]
GATE = re.compile(r"OWNER/gradegate(?:/container)?@.+|__ACTION__")
# What a job with keys may start: none of it runs a file of the checkout.
ACTIONS = re.compile(
    r"actions/(?:checkout|cache|cache/restore|cache/save|download-artifact|upload-artifact)@.+"
    r"|(?:aws-actions/configure-aws-credentials|google-github-actions/auth|azure/login)@.+"
)
COMMANDS = {"rm", "curl", "gh", "case", "esac", "if", "then", "fi"}
PLAIN = re.compile(r"\w+=\S*|[\w |*-]+\) \w+=\w+")  # a variable, and a branch of `case`
WRITES = re.compile(r"(?<!\S)(?:\d?>>?|--output|-o|--dir)[ =]*(\S+)")
OUTSIDE = re.compile(r"""["']?(?:\$\{\{ *runner\.temp *\}\}|\$RUNNER_TEMP|\$GITHUB_OUTPUT)(?!\w).*""")
# By gradegate, which follows no link, and names only what it wrote.
MADE = re.compile(r"\$\{\{ *steps\.gate\.outputs\.[a-z-]+ *\}\}")
WRITTEN = re.compile(r"contains\(steps\.gate\.outputs\.reports, '([\w.-]+)'\)")  # it named this file, and follows no link
PINNED = re.compile(r"git\+https://github\.com/(?:__ACTION__|[\w.-]+/[\w.-]+@[0-9a-f]{40})|[\w.-]+==[\w.]+")


def workflows() -> Iterator[tuple[str, Any]]:
    for path in sorted(FILES):
        text = path.read_text().replace("__FOLDER____JUDGE__", "").replace("__ENV__\n", "\n")
        yield str(path.relative_to(ROOT)), yaml.safe_load(text)
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("yaml", "yml") and (found := as_workflow(block.data)) is not None:
                yield str(block), found


def has_keys(job: Job) -> bool:
    may = job.get("permissions")
    identity = isinstance(may, dict) and may.get("id-token") == "write"
    return identity or "secrets." in str(job)


def problems(job: Job) -> Iterator[str]:
    """What is wrong with a job."""
    steps = job.get("steps", [])
    keys, judges = has_keys(job), has_keys(job) or any(GATE.fullmatch(step.get("uses", "")) for step in steps)
    if judges and "needs" in job and not re.match(r"always\(\)|\$\{\{ !cancelled\(\)", str(job.get("if"))):
        yield "is skipped where another fails, which counts as passed"
    removed: set[str] = set()
    checked_out = False
    for step in steps:
        uses, given = step.get("uses", ""), step.get("with") or {}
        for line in lines(step.get("run", "")):
            words = line.split()
            if "install" in words:
                yield from (f"not pinned: {it}" for it in words[2:] if words[0] != "pip" or not PINNED.fullmatch(it))
            if keys and words[0] not in COMMANDS and not PLAIN.fullmatch(line):
                yield f"starts {line}"
            if judges:
                yield from (f"writes to {it}" for it in WRITES.findall(line) if not OUTSIDE.fullmatch(it))
            removed |= set(words[2:]) if words[:2] == ["rm", "-rf"] else set()
        if keys and uses and not GATE.fullmatch(uses) and not ACTIONS.fullmatch(uses):
            yield f"runs {uses}"
        if keys and str(given.get("allow-exec", "false")) != "false":
            yield "runs code of the checkout"
        if judges and checked_out and re.match(r"actions/(?:checkout|cache|\w+load-artifact)", uses):
            paths = [path.strip() for path in str(given.get("path", ".")).splitlines()]
            page = WRITTEN.search(str(step.get("if")))
            paths = [path for path in paths if not (page and path in (page[1], "__PAGE__"))]
            yield from (f"believes {path}" for path in paths if not is_safe(path, removed))
        checked_out |= uses.startswith("actions/checkout@")


def lines(script: str) -> list[str]:
    """The commands of a script, with texts in quotes and the output of other commands left out."""
    joined = re.sub(r"\\\n\s*", " ", script)
    plain = re.sub(r"\$\([^()]*(?:\([^()]*\)[^()]*)*\)", "x", re.sub(r"'[^']*'", "x", joined))
    return [line.strip() for line in re.split(r"\n|;+|&&|\|\|", plain) if line.strip()]


def is_safe(path: str, removed: set[str]) -> bool:
    """Whether the checkout brought nothing there, and no link on the way."""
    above = {path, *map(str, Path(path).parents)} - {"."}
    return bool(MADE.fullmatch(path) or OUTSIDE.fullmatch(path) or above & removed)


@pytest.mark.parametrize(("name", "workflow"), [pytest.param(*found, id=found[0]) for found in workflows()])
def test_no_job_has_keys_and_code_of_the_pull_request(name: str, workflow: Any) -> None:
    assert [f"{job}: {what}" for job, content in workflow["jobs"].items() for what in problems(content)] == []


KEY = {"uses": "OWNER/gradegate@v0", "env": {"OPENAI_API_KEY": "${{ secrets.K }}"}}
WRONG = table(__file__, "WRONG")


def test_each_rule_fails_where_it_is_broken() -> None:
    missed = {wanted: got for wanted, steps in WRONG.items() if wanted not in (got := list(problems({"steps": steps})))}
    assert missed == {}
    assert list(problems({"needs": "x", "steps": [KEY]})) == ["is skipped where another fails, which counts as passed"]


# --- examples parse -------------------------------------------------------------------------------------------
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.y*ml"))
LOADERS = """
const [file] = process.argv.slice(1);
const text = require('fs').readFileSync(file, 'utf8');
const read = {'js-yaml': require('js-yaml').load, yaml: require('yaml').parse};
console.log(JSON.stringify(Object.fromEntries(Object.entries(read).map(([name, load]) => [name, load(text)]))));
"""


def same(value):
    """As JSON has it; YAML 1.1 takes the key `on` of a workflow for true, and 1.2 does not."""
    if isinstance(value, dict):
        return {"on" if key is True else str(key): same(item) for key, item in value.items()}
    return [same(item) for item in value] if isinstance(value, list) else value


@each("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT / "examples")))
@pytest.mark.slow
def test_every_loader_reads_an_example_as_we_do(path, monkeypatch):
    text = path.read_text()
    ours = same(document.read(text.encode(), path.name))
    assert same(yaml.safe_load(text)) == ours
    monkeypatch.syspath_prepend(str(wheel("ruamel.yaml", "0.19.1")))
    ruamel = pytest.importorskip("ruamel.yaml")
    assert same(json.loads(json.dumps(ruamel.YAML(typ="safe", pure=True).load(StringIO(text))))) == ours
    folder = npm_folder("yaml-loaders", "js-yaml@5.5.0", "yaml@2.9.1")
    told = subprocess.run([node(), "-e", LOADERS, str(path)], cwd=folder, capture_output=True, text=True, check=True)
    for name, found in json.loads(told.stdout).items():
        assert same(found) == ours, name
    monkeypatch.delitem(sys.modules, "ruamel.yaml", raising=False)
