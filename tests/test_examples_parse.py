"""The examples are the same data to every loader of YAML: PyYAML, ruamel.yaml, js-yaml and yaml (of npm)."""

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
import yaml

from gradegate.files import document
from support.each import each
from support.packages import node, npm_folder, wheel

ROOT = Path(__file__).resolve().parent.parent
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
