"""How many configs of the wild run? Tries public promptfoo configs in promptfoo and in gradegate, and prints one table.

usage: real_configs.py CHECKOUTS --promptfoo COMMAND [--index FILE] [--only TEXT] [--again promptfoo|gradegate] [--write]

CHECKOUTS holds OWNER__NAME of each repository at its commit (`tests/side_by_side/sample.yaml`), and belongs to a user
who is not root. Code of strangers runs: as that user, in a network with loopback alone, its processes ended after 60 s.
Root starts this (`unshare`, `setpriv`, `ip` of Linux). promptfoo "runs" a config when it has read all of it and begins
to ask; the models are a fake on loopback. gradegate is asked to `validate`: as
the config stands, with one grader, with graders for text and embeddings, with --allow-exec, with answers made elsewhere.
What was found stays in CHECKOUTS/found.json; --again finds it anew, and --write puts the outcomes into the index.
"""

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))

from support import side_by_side as both  # noqa: E402  # the tests' folder is no package

INDEX = REPOSITORY / "tests" / "side_by_side" / "sample.yaml"
BEGUN = r"Running \d+ (?:test cases|concurrent|serial)"  # what promptfoo says when a config is read
NOWHERE = "http://127.0.0.1:9"
ONE = ("--grader", "openai:chat:gpt-4o-mini")
TWO = ("--grader", "text=openai:chat:gpt-4o-mini", "--grader", "embedding=openai:embedding:text-embedding-3-large")
WAYS = ("as it stands", "one grader", "two graders", "code", "answers", "both")
KEYS = "COHERE DEEPSEEK FIREWORKS GEMINI GITHUB GROQ OPENROUTER PERPLEXITY REPLICATE TOGETHER VERTEX CEREBRAS".split()
CLASSES = {  # of a mistake, by its words, the first that fits
    "code of Node": r"of a kind that gradegate does not run|TypeScript|loads a module|unsupported keyword: export|part of Node",
    "config in JavaScript": r"config in (?:Java|Type)Script|\.[mc]?[jt]s:\d+: not valid YAML",
    "code not allowed": r"--allow-exec",
    "an agent's SDK, or a part of promptfoo": r"is an agent or a tool|part of promptfoo itself",
    "vendor": r"no such provider|API of its own|API for text completion|does not speak|was closed",
    "no grader": r"no model is named|needs a model of the kind|names no grader|no grader",
    "no test, or none that asserts": r"asserts anything|there are no tests",
    "key that was meant to decide": r"`(?:expected|ideal|asserts?|schema|path)`|hreshold|decides nothing|named by `raw` or `id`",
    "assertion that promptfoo lacks, or gradegate": r"assertion type|is promptfoo's",
    "assertion that always says the same": r"returns nothing|nobody calls|unexpected token|it is no JavaScript",
    "key": r"unknown key|does not belong here|is not supported|has no option|unknown option",
    "file": r"does not exist|leads out of|is not read|not UTF-8",
    "syntax": r"not valid (?:YAML|JSON)",
    "template": r"cannot be filled in|asks for the variable|cannot be read|env\.",
}


# --- running ----------------------------------------------------------------------------------------------------


def walled(command: Sequence[str], folder: Path, owner: int, environ: Mapping[str, str], until: str = "(?!)") -> tuple[int, str]:
    """What a command prints, up to a line; run as the owner of the checkouts, with processes of its own that end with it."""
    drop = f"setpriv --reuid {owner} --regid {owner} --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs".split()
    wall = ["timeout", "--kill-after=5", "120", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *drop]
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    text = ""
    with subprocess.Popen([*wall, *command], cwd=folder, env=dict(environ), **streams) as process:
        for line in process.stdout or ():
            text += line.decode(errors="replace")
            if re.search(until, text):
                process.terminate()
                break
    return process.returncode, text


def environ(model: both.Model, home: Path, config: Path) -> dict[str, str]:
    """Keys of nobody, models on loopback, what the config asks of the environment, and no way out."""
    text = config.read_text(errors="replace") if config.suffix in (".yaml", ".yml", ".json") else ""
    names = re.findall(r"(?:\benv\.|\$\{|apiKeyEnvar:? *)([A-Z][A-Z0-9_]+)", text)
    off = "TELEMETRY UPDATE REMOTE_GENERATION SHARING REDTEAM_REMOTE_GENERATION".split()
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        **{name: model.base if re.search("URL|HOST|ENDPOINT", name) else "key-of-nobody" for name in names},
        **model.environ(),
        **{f"{name}_API_KEY": "key-of-nobody" for name in KEYS},
        **{f"PROMPTFOO_DISABLE_{name}": "1" for name in off},
        "PROMPTFOO_PYTHON": "/usr/bin/python3",
        "PROMPTFOO_REQUEST_BACKOFF_MS": "1",
        "NODE_COMPILE_CACHE": "/tmp/node",
        "HOME": str(home),
        "PROMPTFOO_CONFIG_DIR": str(home / "promptfoo"),
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
    }


def through_promptfoo(command: Sequence[str], root: Path, path: str, owner: int) -> dict[str, Any]:
    """Whether promptfoo begins its evaluation, from the config's folder or from the repository's."""
    text = ""
    for folder in dict.fromkeys(((root / path).parent, root)):
        with both.serve() as model, tempfile.TemporaryDirectory() as home:
            os.chown(home, owner, owner)
            flags = "--no-cache --no-table --no-progress-bar --no-share --no-write -n 2".split()
            told = environ(model, Path(home), root / path)
            _, said = walled([*command, "eval", "-c", os.path.relpath(root / path, folder), *flags], folder, owner, told, BEGUN)
            if re.search(BEGUN, said):
                return {"runs": True, "said": ""}
            text = text or said
    return {"runs": False, "said": text.strip()[-1500:]}


TRY = """
import contextlib, io, json, pathlib, re, sys
from gradegate.cli import main
home, path, one, two = (json.loads(text) for text in sys.argv[1:])
said = {}
def accepts(way, flags, hope, *easier):
    if any(said[name] == "" for name in easier):
        said[way] = ""
    elif easier and not re.search(hope, said[easier[0]]):
        said[way] = said[easier[0]]  # none of its mistakes is of this kind
    else:
        said[way] = heard("validate", path, *flags)
def heard(*command):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(command)
    return (out.getvalue() + err.getvalue()).strip() or str(code) if code else ""
def answered(way, flags, *easier):
    cases = pathlib.Path(home, "cases.jsonl")
    if any(said[name] == "" for name in easier) or not re.search("answers|rovider|vendor| API ", said[easier[0]]):
        said[way] = said[easier[-1]] and said[easier[0]]
        return
    said[way] = heard("cases", path, *flags, "-o", str(cases))
    if not said[way]:
        rows = [json.loads(line)["id"] for line in cases.read_text().splitlines()]
        cases.write_text("".join(json.dumps({"id": row, "output": "yes"}) + "\\n" for row in rows))
        said[way] = heard("validate", path, *flags, "--answers", str(cases))
accepts("as it stands", ["--confirm", "grader"], "")
accepts("one grader", one, "", "as it stands")
accepts("two graders", two, "embedding", "one grader")
accepts("code", [*one, "--allow-exec"], "exec|JavaScript|javascript|TypeScript|code", "one grader")
answered("answers", one, "one grader")
answered("both", [*one, "--allow-exec"], "code", "answers")
print(json.dumps(said))
"""


def through_gradegate(root: Path, path: str, owner: int) -> dict[str, str]:
    """What ``validate`` says in each way, "" where it accepts; what an easier way accepts, a richer one does, too."""
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, owner, owner)
        command = [sys.executable, "-c", TRY, *(json.dumps(value) for value in (home, path, ONE, TWO))]
        code, text = walled(command, root, owner, environ(both.Model(NOWHERE), Path(home), root / path))
        found = re.search(r'^\{"as it.*$', text, re.MULTILINE)
        return json.loads(found[0]) if found else dict.fromkeys(WAYS, f"it ended with {code}: {text[-800:]}")


# --- the table --------------------------------------------------------------------------------------------------


def name(entry: Mapping[str, str]) -> str:
    return f"{entry['repository']}:{entry['path']}"


def classes(said: str) -> dict[str, str]:
    """The classes of the mistakes that ``validate`` names, each with one of them."""
    found: dict[str, str] = {}
    for line in said.splitlines():
        if re.match(r"\S.*?: ", line) and not re.match(r"\d+ mistakes?;", line):
            kind = next((kind for kind, words in CLASSES.items() if re.search(words, line)), "other")
            found.setdefault(kind, line)
    return found


def table(rows: Sequence[tuple[Mapping[str, str], Mapping[str, Any]]]) -> None:
    """Prints how many of the configs that promptfoo runs are accepted in each way, and what stands in the way."""
    ran = [(entry, found["gradegate"]) for entry, found in rows if found["promptfoo"]["runs"]]
    plain = [(entry, said) for entry, said in ran if not re.search("code of (?:the repo|Node)|of a kind that|TypeScr", said["one grader"])]
    repositories = {entry["repository"] for entry, _ in rows}
    print(f"{len(rows)} configs of {len(repositories)} repositories; promptfoo runs {len(ran)}, and {len(plain)} of them need no code")
    for group, of in (("runs", ran), ("needs no code", plain)):
        for way in WAYS:
            accepted = sum(not said[way] for _, said in of)
            print(f"{group:<16}{way:<16}{accepted:>4} of {len(of)} {100 * accepted / max(1, len(of)):>5.0f} %")
    for way in ("one grader", "code"):
        kinds = [(name(entry), classes(said[way])) for entry, said in ran if said[way]]
        counts = Counter(kind for _, found in kinds for kind in found)
        print(f"\nrefused with {way}: {len(kinds)}")
        for kind, count in counts.most_common():
            alone = [(config, found[kind]) for config, found in kinds if found.keys() == {kind}]
            example = next(iter(alone), None) or next((config, found[kind]) for config, found in kinds if kind in found)
            print(f"  {count:>3} ({len(alone)} by it alone)  {kind}: {example[0]}\n        {example[1][:300]}")


def _line(entry: Mapping[str, str], found: Mapping[str, Any]) -> str:
    """An entry of the index with its outcome: the easiest way that accepts it, else why none does."""
    outcome = entry.get("outcome", "")
    if found.keys() == {"promptfoo", "gradegate"}:
        ways = (way for way in ("as it stands", "one grader", "code", "answers", "both") if not found["gradegate"][way])
        refused = "refused: " + ", ".join(classes(found["gradegate"]["code"]))
        outcome = next(ways, refused) if found["promptfoo"]["runs"] else "promptfoo does not run it"
    return f"- {json.dumps({**{key: entry[key] for key in ('repository', 'commit', 'path')}, 'outcome': outcome}, ensure_ascii=False)}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--promptfoo", nargs="+", required=True, metavar="COMMAND")
    parser.add_argument("--index", type=Path, default=INDEX)
    parser.add_argument("--only", default="")
    parser.add_argument("--again", choices=("promptfoo", "gradegate"), action="append", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not os.environ.get("WALLED"):
        os.execvpe("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv], {**os.environ, "WALLED": "1"})
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/tmp"], check=True)
    Path("/tmp/node").mkdir(mode=0o777)
    Path("/tmp/node").chmod(0o777)
    owner = options.checkouts.stat().st_uid
    if not owner:
        parser.error(f"{options.checkouts} belongs to root: give it to a user who has nothing else")
    index = yaml.safe_load(options.index.read_text())
    held = options.checkouts / "found.json"
    found: dict[str, Any] = json.loads(held.read_text()) if held.exists() else {}

    lock = threading.Lock()

    def find(tool: str, entry: Mapping[str, str]) -> None:
        if options.only not in name(entry) or (tool in found.get(name(entry), {}) and tool not in options.again):
            return
        root = options.checkouts.resolve() / entry["repository"].replace("/", "__")
        if tool == "gradegate":
            known = through_gradegate(root, entry["path"], owner)
        else:
            known = through_promptfoo(options.promptfoo, root, entry["path"], owner)
        with lock:
            found.setdefault(name(entry), {})[tool] = known
            held.write_text(json.dumps(found, indent=1))

    with ThreadPoolExecutor(options.jobs) as pool:
        for tool in ("gradegate", "promptfoo"):
            list(pool.map(functools.partial(find, tool), index))
    table([(entry, found[name(entry)]) for entry in index if found.get(name(entry), {}).keys() == {"promptfoo", "gradegate"}])
    if options.write:
        options.index.write_text("".join(_line(entry, found.get(name(entry), {})) for entry in index))
    return 0


if __name__ == "__main__":
    sys.exit(main())
