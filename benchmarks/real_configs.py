"""How many configs of the wild run? Tries public promptfoo configs in promptfoo and in gradegate, and prints one table.

usage: real_configs.py CHECKOUTS --promptfoo COMMAND [--only TEXT] [--again promptfoo|gradegate] [--write]

CHECKOUTS holds OWNER__NAME of each repository at its commit (`tests/side_by_side/sample.yaml`), and belongs to a user
who is not root. Code of strangers runs: as that user, in a network with loopback alone, its processes ended after two
minutes. Root starts this (`unshare`, `setpriv`, `ip` of Linux). gradegate is asked to `validate`: as the config stands,
with one grader, with --allow-exec, with answers made elsewhere. promptfoo "runs" a config when it has read it and begins
to ask a fake on loopback; one that gradegate refuses is run to its end, and runs where a row is no error of its own.
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
NOWHERE = "http://127.0.0.1:9"
BEGUN = r"Running \d+ (?:test cases|concurrent|serial)"  # what promptfoo says when a config is read
AWAY = r"ECONNREFUSED|fetch failed|API call error|[Cc]onnection (?:refused|error)|Request failed|timed out"
ONE = ("--grader", "openai:chat:gpt-4o-mini")
WAYS = ("as it stands", "one grader", "answers", "code", "both")
PROGRAMS = "code of the repository|is an agent or a tool|gives the model what"  # what a config needs beside models
KEYS = "COHERE DEEPSEEK FIREWORKS GEMINI GITHUB GROQ OPENROUTER PERPLEXITY REPLICATE TOGETHER VERTEX CEREBRAS".split()
REFUSALS = yaml.safe_load((INDEX.parent / "refusals.yaml").read_text())
SILENT, CLASSES = REFUSALS["silent"], REFUSALS["silent"] | REFUSALS["others"]
SETTINGS = f"""PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1 PROMPTFOO_DISABLE_REMOTE_GENERATION=1 PROMPTFOO_DISABLE_SHARING=1
PROMPTFOO_PYTHON=/usr/bin/python3 PROMPTFOO_REQUEST_BACKOFF_MS=1 NODE_COMPILE_CACHE=/tmp/node AWS_REGION=us-east-1 HTTP_PROXY={NOWHERE}
HTTPS_PROXY={NOWHERE} http_proxy={NOWHERE} https_proxy={NOWHERE} NO_PROXY=127.0.0.1,localhost no_proxy=127.0.0.1,localhost"""
TRY = """
import contextlib, io, json, pathlib, re, sys
from gradegate.cli import main
home, path, one = (json.loads(text) for text in sys.argv[1:])
def heard(*command):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(command)
    return (out.getvalue() + err.getvalue()).strip() or str(code) if code else ""
def answered(flags):
    cases = pathlib.Path(home, "cases.jsonl")
    refused = heard("cases", path, *flags, "-o", str(cases))
    if refused:
        return refused
    rows = [json.loads(line)["id"] for line in cases.read_text().splitlines()]
    cases.write_text("".join(json.dumps({"id": row, "output": "yes"}) + "\\n" for row in rows))
    return heard("validate", path, *flags, "--answers", str(cases))
stands = heard("validate", path)
grader = stands and heard("validate", path, *one)
answers = grader and answered(one)
code = grader and heard("validate", path, *one, "--allow-exec") if re.search("exec|[sS]cript|code", grader) else grader
both = code and answers and answered([*one, "--allow-exec"])
print(json.dumps({"as it stands": stands, "one grader": grader, "answers": answers, "code": code, "both": both}))
"""


# --- running ----------------------------------------------------------------------------------------------------


def walled(
    command: Sequence[str],
    folder: Path,
    owner: int,
    environ: Mapping[str, str],
    until: str = "(?!)",
) -> str:
    """What a command prints, up to a line; run as the owner of the checkouts, with processes of its own that end with it."""
    drop = f"setpriv --reuid {owner} --regid {owner} --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs".split()
    wall = [
        "timeout",
        "--kill-after=5",
        "120",
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        *drop,
    ]
    text, out = "", subprocess.PIPE
    with subprocess.Popen(
        [*wall, *command],
        cwd=folder,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
    ) as process:
        for line in process.stdout or ():
            text += line.decode(errors="replace")
            if re.search(until, text):
                process.terminate()
                break
    return text


def environ(model: both.Model, home: str, config: Path) -> dict[str, str]:
    """Keys of nobody, models on loopback, what the config asks of the environment, and no way out."""
    text = config.read_text(errors="replace") if config.suffix in (".yaml", ".yml", ".json") else ""
    names = re.findall(r"(?:\benv\.|\$\{|apiKeyEnvar:? *)([A-Z][A-Z0-9_]+)", text)
    return {
        **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
        **{
            name: model.base if re.search("URL|HOST|ENDPOINT", name) else "key-of-nobody"
            for name in names
        },
        **model.environ(),
        **dict.fromkeys(
            [*(f"{name}_API_KEY" for name in KEYS), "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
            "key-of-nobody",
        ),
        **dict(setting.split("=", 1) for setting in SETTINGS.split()),
        "HOME": home,
        "PROMPTFOO_CONFIG_DIR": f"{home}/promptfoo",
    }


def through_promptfoo(
    command: Sequence[str], root: Path, path: str, owner: int, *, whole: bool
) -> dict[str, Any]:
    """Whether promptfoo runs it, from the config's folder or from the repository's."""
    heard = ""
    for folder in dict.fromkeys(((root / path).parent, root)):
        with both.serve() as model, tempfile.TemporaryDirectory() as home:
            os.chown(home, owner, owner)
            flags = f"--no-cache --no-table --no-progress-bar --no-share --no-write -n 4 -o {home}/out.json".split()
            full = [*command, "eval", "-c", os.path.relpath(root / path, folder), *flags]
            said = walled(
                full, folder, owner, environ(model, home, root / path), "(?!)" if whole else BEGUN
            )
            out = Path(home, "out.json")
            rows = json.loads(out.read_text())["results"]["results"] if out.exists() else []
            own = [
                str(row["error"])
                for row in rows
                if row.get("failureReason") == 2 and not re.search(AWAY, str(row["error"]))
            ]
            if re.search(BEGUN, said) and (not rows or len(own) < len(rows)):
                return {"runs": True, "said": ""}
            heard = heard or (own[0] if own else said.strip()[-1500:])
    return {"runs": False, "said": heard[:1500]}


def through_gradegate(root: Path, path: str, owner: int) -> dict[str, str]:
    """What ``validate`` says in each way, "" where it accepts; what an easier way accepts, a richer one does, too."""
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, owner, owner)
        command = [sys.executable, "-c", TRY, *(json.dumps(value) for value in (home, path, ONE))]
        text = walled(command, root, owner, environ(both.Model(NOWHERE), home, root / path))
        found = re.search(r'^\{"as it.*$', text, re.MULTILINE)
        return (
            json.loads(found[0]) if found else dict.fromkeys(WAYS, f"it did not end: {text[-800:]}")
        )


# --- the table --------------------------------------------------------------------------------------------------


def name(entry: Mapping[str, str]) -> str:
    return f"{entry['repository']}:{entry['path']}"


def classes(said: str) -> dict[str, str]:
    """The classes of the mistakes that ``validate`` names, each with one of them."""
    found: dict[str, str] = {}
    for line in (line for line in said.splitlines() if " -> " in line):
        kind = next((kind for kind, words in CLASSES.items() if re.search(words, line)), "other")
        found.setdefault(kind, line)
    return found or {"other": said}


def table(rows: Sequence[tuple[Mapping[str, str], Mapping[str, Any]]]) -> None:
    """Prints how many of the configs that promptfoo runs are accepted in each way, and what stands in the way."""
    ran = [(entry, found["gradegate"]) for entry, found in rows if found["promptfoo"]["runs"]]
    sound = [
        (entry, said)
        for entry, said in ran
        if not said["code"] or not classes(said["code"]).keys() & SILENT.keys()
    ]
    plain = [(entry, said) for entry, said in sound if not re.search(PROGRAMS, said["one grader"])]
    print(
        f"{len(rows)} configs of {len({entry['repository'] for entry, _ in rows})} repositories, of which promptfoo runs {len(ran)}"
    )
    for group, of in (("all", ran), ("no silent mistake", sound), ("and no program", plain)):
        shares = ((way, sum(not said[way] for _, said in of)) for way in WAYS)
        print(
            f"{group:<18}",
            *(
                f"{way} {count} of {len(of)} ({100 * count / max(1, len(of)):.0f} %)"
                for way, count in shares
            ),
            sep="  ",
        )
    for way in ("one grader", "code"):
        kinds = [(name(entry), classes(said[way])) for entry, said in ran if said[way]]
        print(f"\nrefused with {way}: {len(kinds)}")
        for kind, count in Counter(kind for _, found in kinds for kind in found).most_common():
            alone = [config for config, found in kinds if found.keys() == {kind}]
            example = next(((config, found[kind]) for config, found in kinds if kind in found))
            print(
                f"  {count:>3} ({len(alone)} by it alone)  {kind}: {example[0]}\n        {example[1][:300]}"
            )


def line(entry: Mapping[str, str], found: Mapping[str, Any]) -> str:
    """An entry of the index with its outcome: the easiest way that accepts it, else why none does."""
    outcome = entry.get("outcome", "")
    if found.keys() == {"promptfoo", "gradegate"}:
        refused = "refused: " + ", ".join(classes(found["gradegate"]["code"]))
        accepted = next((way for way in WAYS if not found["gradegate"][way]), refused)
        outcome = accepted if found["promptfoo"]["runs"] else "not run by promptfoo"
    return f"- {json.dumps({**{key: entry[key] for key in ('repository', 'commit', 'path')}, 'outcome': outcome}, ensure_ascii=False)}\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--promptfoo", nargs="+", required=True, metavar="COMMAND")
    parser.add_argument("--only", default="")
    parser.add_argument("--again", choices=("promptfoo", "gradegate"), action="append", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not os.environ.get("WALLED"):
        os.execvpe(
            "unshare",
            ["unshare", "--net", "--mount", sys.executable, *sys.argv],
            {**os.environ, "WALLED": "1"},
        )
    for command in (
        "ip link set lo up",
        "mount -t tmpfs tmpfs /tmp",
        "mkdir /tmp/node",
        "chmod 777 /tmp/node",
    ):
        subprocess.run(command.split(), check=True)
    owner = options.checkouts.stat().st_uid
    if not owner:
        parser.error(f"{options.checkouts} belongs to root: give it to a user who has nothing else")
    index = yaml.safe_load(INDEX.read_text())
    held, lock = options.checkouts / "found.json", threading.Lock()
    found: dict[str, Any] = json.loads(held.read_text()) if held.exists() else {}

    def find(tool: str, entry: Mapping[str, str]) -> None:
        known = found.setdefault(name(entry), {})
        if options.only not in name(entry) or (tool in known and tool not in options.again):
            return
        root = options.checkouts.resolve() / entry["repository"].replace("/", "__")
        if tool == "gradegate":
            said: Any = through_gradegate(root, entry["path"], owner)
        else:
            said = through_promptfoo(
                options.promptfoo,
                root,
                entry["path"],
                owner,
                whole=bool(known["gradegate"]["code"]),
            )
        with lock:
            known[tool] = said
            held.write_text(json.dumps(found, indent=1))

    with ThreadPoolExecutor(options.jobs) as pool:
        for tool in ("gradegate", "promptfoo"):
            list(pool.map(functools.partial(find, tool), index))
    table(
        [
            (entry, found[name(entry)])
            for entry in index
            if found.get(name(entry), {}).keys() == {"promptfoo", "gradegate"}
        ]
    )
    if options.write:
        INDEX.write_text("".join(line(entry, found.get(name(entry), {})) for entry in index))
    return 0


if __name__ == "__main__":
    sys.exit(main())
