"""Scenes in the YAML beside a test module: a config, what is run with it, and what must come of that.

A scene is laid over `base` (or what `like` names), key by key. Its keys: `config` (`without` drops keys of it), `test` and `assert` for a
config with one test, `name` of its file, `files`, `env`, `run` (arguments) or `command` (all words), `confirm`, `llm` (what the model
says: a text, a value that is sent as JSON, or a list: the first whose `when` is in the request, else one after another) and `expect`.
`rows` are played each for itself: `<column>` stands for its value; each again for all `ways`, which are parts of a scene. `then` are
more runs in the same folder, which expect something of their own. `<llm>` is a provider, `<base>` its address (`<root>` without `/v1`), `<id0>` the id of the first case that is planned.

In `expect` are `code` (0 unless said, 2 with a `mistake`), `mistake`, `said` and `unsaid` texts, the number of requests that were `requested`,
`written` files, and paths into results.json, `grades`, `requests`, `prompts` and `models`, with a value or words of `cells.WORDS`.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradegate import cli
from gradegate.processes.evaluate import begin
from support.cells import differences
from support.each import tables

KEYS = {"config", "without", "test", "assert", "name", "files", "env", "run", "command", "confirm", "llm", "expect"}
KEYLESS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GITHUB_WORKSPACE", "CI", "GITHUB_ACTIONS")


def scenes(file: str) -> Callable[..., None]:
    """The test that plays every scene of the YAML beside a test module."""
    written = tables(Path(file).with_suffix(".yaml"))

    @pytest.mark.parametrize("name", written["scenes"])
    def plays(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
        scene, failed = written["scenes"][name], []
        for number, (label, steps) in enumerate(variants(laid(written[scene.get("like", "base")], scene))):
            for run, step in enumerate(steps, 1):
                with pytest.MonkeyPatch.context() as patch:
                    (folder := tmp_path / str(number)).mkdir(exist_ok=True)
                    patch.chdir(folder)
                    failed += [f"{label}, run {run}: {it}" for it in play(step, request, folder, patch)]
        if failed:
            pytest.fail("\n".join([name, *failed]), pytrace=False)

    return plays


def laid(below: Any, above: Any) -> Any:
    """A mapping over another, key by key; anything else takes the place of what is below."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    return {**below, **{key: laid(below[key], value) if key in below else value for key, value in above.items()}}


def filled(item: Any, values: Mapping[str, Any]) -> Any:
    """With the values of `<names>`; one that stands alone is the value itself."""
    if isinstance(item, Mapping):
        return {filled(key, values): filled(value, values) for key, value in item.items()}
    if not isinstance(item, str):
        return [filled(value, values) for value in item] if isinstance(item, list) else item
    alone = re.fullmatch(r"<(\w+)>", item)
    return values[alone[1]] if alone and alone[1] in values else re.sub(r"<(\w+)>", lambda it: str(values.get(it[1], it[0])), item)


def variants(scene: Mapping[str, Any]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The runs of the scene for each row and way, with a label."""
    columns = scene.get("columns", "").split()
    assert not [it for it in columns if f"<{it}>" not in str(scene)], "a column that nothing uses"
    rest = {key: value for key, value in scene.items() if key not in ("like", "rows", "columns", "ways", "then")}
    for row, way in itertools.product(scene.get("rows", [()]), scene.get("ways", [{}])):
        values = dict(zip(columns, row if len(columns) != 1 else [row], strict=True))
        whole = laid(rest, way)
        steps = [laid({**whole, "expect": {}} if "expect" in step else whole, step) for step in [{}, *scene.get("then", ())]]
        yield f"{values or ''} {way or ''}"[:200], filled(steps, values)


def play(scene: Mapping[str, Any], request: pytest.FixtureRequest, folder: Path, patch: pytest.MonkeyPatch) -> list[str]:
    """Run it, and say what did not come as it should."""
    assert scene.keys() <= KEYS, scene.keys() - KEYS
    begin()
    llm = request.getfixturevalue("llm") if "llm" in scene or re.search("<llm>|<base>|<root>", str(scene)) else None
    if llm:
        llm.requests.clear()
        llm.reply = script(scene.get("llm", "ok"))
        scene = filled(scene, {"llm": llm.spec(), "base": llm.base, "root": llm.base.removesuffix("/v1")})
    for name, value in {**dict.fromkeys(KEYLESS), **scene.get("env", {})}.items():
        patch.delenv(name, raising=False) if value is None else patch.setenv(name, value)
    name, config = scene.get("name", "promptfooconfig.yaml"), scene["config"]
    if isinstance(config, Mapping):
        test = {**scene.get("test", {}), **({"assert": scene["assert"]} if "assert" in scene else {})}
        config = {key: it for key, it in {**config, **({"tests": [test]} if test else {})}.items() if key not in scene.get("without", ())}
    for file, content in (written := {name: config, **scene.get("files", {})}).items():
        write(folder / file, content)
    if re.search(r"<(id|case)\d+>", str(scene)):
        assert cli.main(["cases", name, "-o", "cases.jsonl"]) == 0
        cases = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
        told = {f"id{n}": it["id"] for n, it in enumerate(cases)} | {f"case{n}": it for n, it in enumerate(cases)}
        for file, content in filled(written, told).items():
            write(folder / file, content)
    (results := folder / "results.json").unlink(missing_ok=True)
    usual = ["run", "-o", "results.json", "--retries", "0", "--reask", "0", *scene.get("confirm", ["--confirm", "off"]), name]
    (capsys := request.getfixturevalue("capsys")).readouterr()
    code = cli.main(scene["command"] if "command" in scene else [*usual, *scene.get("run", ())])
    out, err = capsys.readouterr()
    left = {**(json.loads(results.read_text()) if results.exists() else {}), "code": code, "out": out, "err": err, "said": out + err}
    left["grades"] = [grade for case in left.get("cases", ()) for grade in case["grades"]]
    if llm:
        left["requests"] = [{"path": path, "body": body, "headers": headers} for path, body, headers in llm.requests]
        left |= {"prompts": llm.prompts, "models": [body.get("model") for body in llm.bodies], "requested": len(llm.requests)}
    wrong = [*differences(scene.get("expect", {}), left, folder)]
    return [*wrong, f"printed\n{out}{err}"] if wrong else []


def write(path: Path, content: Any) -> None:
    """A text as it is, values in the form that the name of the file says; nothing leaves the file as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl" and isinstance(content, list):
        content = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in content)
    elif not isinstance(content, str | None):
        content = json.dumps(content, indent=1) if path.suffix == ".json" else yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    if content is not None:
        path.write_text(content, encoding="utf-8", newline="")


def script(written: Any) -> Callable[[str, dict], Any]:
    """What the model says; `sent` is sent as it is, with a `status`, and `<vectors>` in it are an embedding for each input."""
    rules = [
        it if isinstance(it, dict) and it.keys() & {"say", "sent"} else {"say": it}
        for it in (written if isinstance(written, list) else [written])
    ]
    plain = [it for it in rules if "when" not in it]

    def reply(path: str, body: dict) -> Any:
        rule = next((it for it in rules if "when" in it and it["when"] in f"{path} {body}"), None)
        rule = rule or (plain.pop(0) if len(plain) > 1 else plain[0])
        if "say" in rule:
            return rule["say"] if isinstance(rule["say"], str) else json.dumps(rule["say"])
        vectors = [{"index": number, "embedding": [1.0, 0.0]} for number, _ in enumerate(body.get("input", ()))]
        return rule.get("status", 200), filled(rule["sent"], {"vectors": vectors})

    return reply
