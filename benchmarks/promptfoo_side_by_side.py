"""Does gradegate ask and decide what promptfoo does? Runs a folder of configs through both and prints every difference.

usage: promptfoo_side_by_side.py [--promptfoo VERSION] [--configs FOLDER] [--only NAME ...] [--record]

Both ask one model on loopback that answers by a fixed rule (tests/support/side_by_side.py). Requests to targets are
compared byte for byte (method, path, JSON body), verdicts case by case; grading prompts are each tool's own words.
promptfoo, and a Node.js where the installed one is too old, come from npm into the user's cache folder. --record writes
tests/side_by_side/expected.json, which tests/test_side_by_side.py holds gradegate to without promptfoo.
The exit code is 1 when there is a difference that tests/side_by_side/intended.yaml does not name, or one that it says a
config waits for is no longer there.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))

from support import side_by_side as both  # noqa: E402  # the tests' folder is no package

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradegate"
NODE = "22"
ASKED_ONCE = ("--grader-retries", "0")
NOWHERE = "http://127.0.0.1:9"  # the discard port: what is not loopback is refused at once


# --- promptfoo from npm ---------------------------------------------------------------------------------------


def installed(wanted: str) -> tuple[list[str], str]:
    """The command of promptfoo and its version, installed where it is not yet."""
    version = _newest() if wanted == "newest" else wanted
    folder = CACHE / f"promptfoo-{version}"
    package = folder / "node_modules" / "promptfoo" / "package.json"
    if not package.exists():
        print(f"installing promptfoo {version} into {folder}", flush=True)
        _npm(folder, f"promptfoo@{version}")
    about = json.loads(package.read_text())
    need = re.search(r"(\d+)", about.get("engines", {}).get("node", "")) or re.match(r"(\d+)", "0")
    entry = about["bin"] if isinstance(about["bin"], str) else about["bin"]["promptfoo"]
    return [_node(int(need[1])), str(package.parent / entry)], version


def _newest() -> str:
    listed = subprocess.run(
        ["npm", "view", "promptfoo", "versions", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    stable = [
        version for version in json.loads(listed.stdout) if re.fullmatch(r"0\.12\d\.\d+", version)
    ]
    return max(stable, key=lambda version: [int(part) for part in version.split(".")])


def _node(need: int) -> str:
    """A Node.js of at least this major version: the installed one, or npm's package `node`."""
    own = shutil.which("node")
    told = (
        subprocess.run([own, "--version"], capture_output=True, text=True, check=False).stdout
        if own
        else ""
    )
    has = re.match(r"v(\d+)", told)
    if own and has and int(has[1]) >= need:
        return own
    folder = CACHE / f"node-{NODE}"
    node = folder / "node_modules" / ".bin" / "node"
    if not node.exists():
        print(f"installing node {NODE} into {folder}", flush=True)
        _npm(folder, f"node@{NODE}")
    return str(node)


def _npm(folder: Path, package: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text("{}")
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", package]
    subprocess.run(command, cwd=folder, check=True)


# --- the two tools --------------------------------------------------------------------------------------------


def environ(model: both.Model, home: Path) -> dict[str, str]:
    """Nothing of the user's but PATH; no telemetry, no update, no way out but loopback."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    off = "TELEMETRY UPDATE REMOTE_GENERATION SHARING REDTEAM_REMOTE_GENERATION".split()
    return {
        **kept,
        **model.environ(),
        **{f"PROMPTFOO_DISABLE_{name}": "1" for name in off},
        "HOME": str(home),
        "PROMPTFOO_CONFIG_DIR": str(home / "promptfoo"),
        "PROMPTFOO_CACHE_ENABLED": "false",
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
    }


def through_promptfoo(config: Path, command: list[str]) -> both.Ran:
    flags = ["--no-cache", "--no-table", "--no-progress-bar", "--no-share", "--no-write"]
    return _through(
        [*command, "eval", "-c", config.name, *flags],
        config,
        both.verdicts_of_promptfoo,
        both.metrics_of_promptfoo,
    )


def through_gradegate(config: Path) -> both.Ran:
    command = [
        sys.executable,
        "-m",
        "gradegate",
        "run",
        config.name,
        *ASKED_ONCE,
        *both.flags(config.stem),
    ]
    return _through(command, config, both.verdicts_of_gradegate, both.metrics_of_gradegate)


def _through(command: list[str], config: Path, verdicts: Any, metrics: Any) -> both.Ran:
    with both.serve() as model, tempfile.TemporaryDirectory() as home:
        out = Path(home) / "out.json"
        ran = subprocess.run(
            [*command, "-o", str(out)],
            cwd=config.parent,
            env=environ(model, Path(home)),
            capture_output=True,
            text=True,
            check=False,
        )
        if not out.exists():
            return both.Ran(
                model.of_targets(),
                [],
                (ran.stderr + ran.stdout).strip()[-2000:] or f"exit {ran.returncode}",
            )
        results = json.loads(out.read_text())
        return both.Ran(model.of_targets(), verdicts(results), metrics=metrics(results))


# --- the table ------------------------------------------------------------------------------------------------


def compare(config: Path, theirs: both.Ran, ours: both.Ran) -> bool:
    """Prints a config's line and its differences; whether all of them are intended."""
    meant = both.load_intended_differences()["configs"].get(config.stem, {})
    asked = both.differences(
        both.plain_requests(theirs.requests), both.plain_requests(ours.requests)
    )
    decided = both.differences(theirs.cases, ours.cases) or (
        [] if theirs.cases == ours.cases else ["~ another order"]
    )
    decided += both.differences(theirs.metrics, ours.metrics)
    waits = both.load_intended_differences()["waits"].get(config.stem)
    words = [
        _word(asked, meant.get("requests"), waits),
        _word(decided, meant.get("verdicts"), waits),
    ]
    print(
        f"{config.stem:<34}{len(ours.requests):>5} requests {words[0]:<10}{len(ours.cases):>4} cases {words[1]}"
    )
    for tool, ran in (("promptfoo", theirs), ("gradegate", ours)):
        if ran.refused:
            print(f"    {tool} did not run it: {ran.refused}")
    if waits:
        print(
            f"    waits for {waits}"
            if asked or decided
            else "    waits for nothing any more: take it out of `waits`"
        )
    for part in ("requests", "verdicts"):
        if meant.get(part):
            print(f"    {part}: {meant[part]}")
    for line in (*asked, *decided):
        print(f"    {line}")
    sys.stdout.flush()
    unused = [
        part
        for part, lines in (("requests", asked), ("verdicts", decided))
        if meant.get(part) and not lines
    ]
    if unused:
        print(f"    intended.yaml names a difference that there is not: {', '.join(unused)}")
    return "DIFFERENT" not in words and not unused and not (waits and not (asked or decided))


def _word(lines: list[str], reason: str | None, waits: str | None) -> str:
    return "equal" if not lines else "intended" if reason else "waits" if waits else "DIFFERENT"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    recorded = json.loads(both.EXPECTED.read_text())["promptfoo"]
    parser.add_argument(
        "--promptfoo",
        default=recorded,
        metavar="VERSION",
        help=f"default: {recorded}; newest: the newest 0.12x of npm",
    )
    parser.add_argument("--configs", type=Path, default=both.CONFIGS, metavar="FOLDER")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="configs by name, without the suffix"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="configs at once (default: 2)"
    )
    parser.add_argument("--record", action="store_true", help="write expected.json for the tests")
    options = parser.parse_args()
    command, version = installed(options.promptfoo)
    print(f"promptfoo {version}: - only promptfoo, + only gradegate")
    configs = sorted(
        path
        for path in options.configs.glob("*.yaml")
        if not options.only or path.stem in options.only
    )
    held, equal = {}, 0
    with ThreadPoolExecutor(options.jobs) as pool:
        pairs = pool.map(
            lambda config: (through_promptfoo(config, command), through_gradegate(config)), configs
        )
        for config, (theirs, ours) in zip(configs, pairs, strict=True):
            equal += compare(config, theirs, ours)
            meant = (
                {"gradegate": ours.plain()}
                if config.stem in both.load_intended_differences()["configs"]
                else {}
            )
            held[config.stem] = {"promptfoo": theirs.plain(), **meant}
    print(
        f"{equal} of {len(configs)} configs are asked and decided as in promptfoo {version}, or differ as intended"
    )
    if options.record:
        before = (
            json.loads(both.EXPECTED.read_text())["configs"]
            if options.only and both.EXPECTED.exists()
            else {}
        )
        recorded = {"promptfoo": version, "configs": dict(sorted({**before, **held}.items()))}
        both.EXPECTED.write_text(
            json.dumps(recorded, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        )
    return 0 if equal == len(configs) else 1


if __name__ == "__main__":
    sys.exit(main())
