"""Does a snippet of JavaScript give what it gives in promptfoo? Runs each in Node, wrapped as promptfoo does, and in the engine.

usage: snippets.py SNIPPETS.json    a list of {"kind": "javascript" | "transform" | ..., "code": text}, which nobody commits

Prints every difference over a few outputs: a value that differs, or one side that throws. Code that throws, gives nothing
verdict-like or is refused counts as equal to code that does so there. Node may read nothing but its own script.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from gradegate.sandbox.evaluate import reset_accounts
from gradegate.templating import script
from gradegate.templating.script import ScriptError

OUTPUTS: list[Any] = [
    "The answer is 42. I'm sorry, yes!\n- one\n- two",
    '{"name": "Ada", "score": 0.7, "items": ["a", "b"], "pass": true, "intent": "ask"}',
    "",
    "Grüße 👩‍👩‍👧 ｶﾞ — naïve café… שלום 1,234.50 €",
    '```json\n[{"id": 1, "type": "x"}]\n```',
    {"intent": "ask", "name": "Ada", "items": [1, 2], "metadata": {"confidence": 0.9}},
]
READ = {
    "javascript": script.assertion_script,
    "transform": script.transform_script,
    "contextTransform": script.transform_script,
}
NODE = r"""
const fs = require('node:fs');
// As promptfoo's buildFunctionBody: the last `;` that stands in no quotes, whatever brackets it stands in.
const lastEnd = (code) => {
  let open = '', last = -1;
  for (let at = 0; at < code.length; at++) {
    const escaped = (/\\*$/.exec(code.slice(0, at))[0].length % 2) === 1;
    if (!escaped && "'\"`".includes(code[at]) && (!open || open === code[at])) open = open ? '' : code[at];
    if (code[at] === ';' && !open) last = at;
  }
  return last;
};
const bodyOf = (kind, written) => {
  const code = kind === 'javascript' ? written.trimEnd() : written;
  if (code.includes('\n')) return code;
  if (kind !== 'javascript') return `return ${code}`;
  const one = code.trim().replace(/;+\s*$/, '');
  if (!/^(const|let|var)\s/.test(one)) return `return ${one}`;
  const end = lastEnd(one), rest = one.slice(end + 1).trim();
  return end !== -1 && rest ? `${one.slice(0, end + 1)} return ${rest}` : one;
};
const told = (value) => value === undefined || typeof value === 'function' ? {none: typeof value}
  : typeof value === 'number' && !Number.isFinite(value) ? {none: String(value)} : {value};
const Make = Function, {parse, stringify} = JSON, asked = parse(fs.readFileSync(0, 'utf8'));
for (const name of ['require', 'process', 'fetch', 'Buffer']) delete globalThis[name];
(async () => {
  const all = [];
  for (const {kind, code, output, context} of asked) {
    try {
      const value = await new Make('output', 'context', 'process', bodyOf(kind, code))(parse(output), parse(context), {env: {}});
      all.push(stringify(told(value)));
    } catch (error) { all.push(stringify({throws: error.name, text: String(error.message)})); }
  }
  fs.writeSync(1, `[${all.join(',')}]`);
})();
"""


def context(code: str) -> dict[str, Any]:
    """With a value for each variable that the code names."""
    names = re.findall(r"vars(?:\?)?\.(\w+)|vars\[['\"](\w+)['\"]\]", code)
    return {
        "vars": {first or second: "answer" for first, second in names},
        "prompt": "Who?",
        "test": {},
        "metadata": {},
    }


def in_node(asked: list[dict[str, str]]) -> list[dict[str, Any]]:
    """What Node gives for each: `value`, `none` or `throws`."""
    with tempfile.NamedTemporaryFile("w", suffix=".cjs") as file:
        file.write(NODE)
        file.flush()
        command = ["node", "--experimental-permission", f"--allow-fs-read={file.name}", file.name]
        ran = subprocess.run(
            command, input=json.dumps(asked), capture_output=True, text=True, check=True
        )
    return list(json.loads(ran.stdout))


def in_engine(kind: str, code: str, output: Any, context: Any) -> dict[str, Any]:
    """What the engine gives; `refused` where it is a mistake before it runs."""
    try:
        made = READ[kind](code)
    except script.VerdictlessScript as e:
        return {"throws": str(e)}
    except ScriptError as e:
        return {"refused": str(e)}
    try:
        returned = made.call(output, context)
    except ScriptError as e:
        return {"throws": str(e)}
    if returned.type in ("undefined", "function") or str(returned.value) in ("nan", "inf", "-inf"):
        return {"none": returned.type}
    return {"value": returned.value}


def main(argv: list[str]) -> int:
    """Prints the differences; 1 where there are any."""
    found = [it for it in json.loads(Path(argv[0]).read_text("utf-8")) if it["kind"] in READ]
    plain = [it for it in found if "{{" not in it["code"] and "{%" not in it["code"]]
    asked = [(it, output, context(it["code"])) for it in plain for output in OUTPUTS]
    theirs = in_node(
        [
            {**it, "output": json.dumps(output), "context": json.dumps(told)}
            for it, output, told in asked
        ]
    )
    kinds: Counter[str] = Counter()
    told_of: set[str] = set()
    for number, ((it, output, told), expected) in enumerate(zip(asked, theirs, strict=True)):
        if number % 300 == 0:
            reset_accounts()
        got = in_engine(it["kind"], it["code"], output, told)
        same = got == expected if "value" in expected or "value" in got else "refused" not in got
        kind = "equal" if same else "/".join((*expected.keys() - {"text"}, *got))
        kinds[kind] += 1
        if not same and (key := it["code"] + kind) not in told_of:
            told_of.add(key)
            print(
                f"--- {it['kind']} {it.get('where', '')}\n{it['code']}\n  over {json.dumps(output)[:60]}\n  node {expected}\n  here {got}"
            )
    print(
        f"{len(plain)} snippets ({len(found) - len(plain)} with templates left out), {len(asked)} runs: {dict(kinds)}"
    )
    return int(set(kinds) != {"equal"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
