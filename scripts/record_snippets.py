"""Records what Node gives for the snippets of tests/templating/snippets.yaml: `python scripts/record_snippets.py`.

Each is run as promptfoo runs an assertion, over each output of its group; what throws is recorded as its error's name.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from gradegate.templating import javascript as snippet

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "templating"
CONTEXT = {
    "vars": {"name": "Ada", "limit": 3, "tags": ["a", "b"], "expected": "yes"},
    "prompt": "Who?",
}
NODE = """
const said = (value) => value === undefined || typeof value === 'function' ? {none: typeof value}
  : typeof value === 'number' && !Number.isFinite(value) ? {number: String(value)} : {value};
const run = async ({code, output}, context) => {
  try { return said(await new Function('output', 'context', code)(output, context)); }
  catch (error) { return {throws: error.name}; }
};
(async () => {
  const {context, asked} = JSON.parse(require('fs').readFileSync(0, 'utf8'));
  const all = [];
  for (const one of asked) all.push(await run(one, JSON.parse(JSON.stringify(context))));
  process.stdout.write(JSON.stringify(all));
})();
"""


def snippets() -> list[tuple[str, Any]]:
    """Every snippet with every output of its group."""
    groups = yaml.safe_load((FOLDER / "snippets.yaml").read_text("utf-8"))
    return [
        (code, output)
        for group in groups
        for code in group["snippets"]
        for output in group["outputs"]
    ]


def in_node() -> list[Any]:
    """What Node gives for each: `value`, `number` (no finite one), `none`, or `throws`."""
    asked = [
        {"code": snippet.assertion_body(code), "output": output} for code, output in snippets()
    ]
    request = json.dumps({"context": CONTEXT, "asked": asked})
    ran = subprocess.run(
        ["node", "-e", NODE], input=request, capture_output=True, text=True, check=True
    )
    return list(json.loads(ran.stdout))


def main() -> int:
    """Write the file."""
    lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in in_node())
    (FOLDER / "recorded.json").write_text(f"[\n{lines}\n]\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
