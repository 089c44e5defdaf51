"""Scenes in the YAML beside a test module: a config, what is run with it, and what must come of that.

A scene is laid over `base` (or what `like` names), key by key. Its keys: `config` (`without` drops keys of it), `test` and `assert` for a
config with one test, `cases` for so many of it (`<n>` is the number of each, `but` is laid over those that it numbers), `name` of its
file, `files`, `env`, `constants` of modules, `run` (arguments) or `command` (all words), `reask`, `llm` (what the model says, after a
`latency` in seconds) and `expect`. `rows` are played each for itself: `<column>` stands for its value; each again for all `ways`, which
are parts of a scene. `first` and `then` are runs before and after it in the same folder, which expect something of their own; `keep`
copies what a run left behind for those after it, `edit` puts values at paths of a JSON file before a run. `<llm>` is a provider, `<models>` one of
each kind, `<base>` its address (`<root>` without `/v1`, `<port>`), `<id0>` the id of the first case that is planned, `<day7>` the day in a week.

The model says a text, a value that is sent as JSON, or what the first rule of a list says whose `when` (all of it) is in the request,
else one plain item after another. A rule has `say`, `turns` (one after another, the last again), `verdicts` (by a word of the case, an
ask after the other), `embed` (vectors by text, for `loopback`), `contradicted` (of the claims c1, c2 ... of a conversation, `support.conversations`), `best` (the index of this
output among all that `of` lists, in the order in which the prompt shows them; `because` is its reason), `sent` with a `status`, `made`
(`support.vendors`) or `raw` (the bytes of the response). In what it says `<messages>` is how many there were, `<last>` the last of them,
`<asked>` how many requests there have been; `<vectors>` in what is sent are an embedding for each input.

In `expect` are `code` (0 unless said, 2 with a `mistake`), `mistake`, `said` and `unsaid` texts, the number of requests that were
`requested`, `written` files, the `same` paths as in the run before, and paths into results.json, `grades`, `requests`, `prompts` and
`models`, with a value or words of `cells.WORDS`.
"""

import functools
import itertools
import json
import operator
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradegate.cli import main as cli
from gradegate.sandbox.evaluate import reset_accounts
from support.cells import MISSING, at, differences
from support.conversations import Script
from support.each import tables
from support.graded import models
from support.vendors import build_body

KEYS = {*"config without test assert cases but name files env constants run command reask llm latency".split()}
OWN = {"expect", "keep", "edit"}  # of one run, and not of those before and after it
RULES = {"say", "turns", "verdicts", "embed", "contradicted", "best", "sent", "made", "raw"}  # what the model says by one
VERDICTS = {"P": '{"pass": true, "score": 0.9, "reason": "good"}', "F": '{"pass": false, "score": 0.2, "reason": "bad"}'}
KEYLESS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GITHUB_WORKSPACE", "CI", "GITHUB_ACTIONS", "CI_DEFAULT_BRANCH")


def scenes(file: str) -> Callable[..., None]:
    """The test that plays every scene of the YAML beside a test module; of a `test_scenes.py`, those of all YAML in its folder."""
    path = Path(file)
    paths = sorted(path.parent.glob("*.yaml")) if path.stem == "test_scenes" else [path.with_suffix(".yaml")]
    whole = {it.stem: tables(it) for it in paths}

    @pytest.mark.parametrize(("stem", "name"), [(stem, name) for stem, written in whole.items() for name in written.get("scenes", ())])
    def plays(stem: str, name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
        written, failed = whole[stem], []
        scene = written["scenes"][name]
        for number, (label, steps) in enumerate(variants(laid(written[scene.get("like", "base")], scene))):
            left: dict[str, Any] = {}
            for run, step in enumerate(steps, 1):
                with pytest.MonkeyPatch.context() as patch:
                    (folder := tmp_path / str(number)).mkdir(exist_ok=True)
                    patch.chdir(folder)
                    failed += [f"{label}, run {run}: {it}" for it in play(step, request, folder, patch, left)]
        if failed:
            pytest.fail("\n".join([name, *failed]), pytrace=False)

    return plays


def laid(below: Any, above: Any) -> Any:
    """A mapping over another, key by key; anything else takes the place of what is below."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    return {**below, **{key: laid(below[key], value) if key in below else value for key, value in above.items()}}


def fill_in_values(item: Any, values: Mapping[str, Any]) -> Any:
    """With the values of `<names>`; one that stands alone is the value itself."""
    if isinstance(item, Mapping):
        return {fill_in_values(key, values): fill_in_values(value, values) for key, value in item.items()}
    if not isinstance(item, str):
        return [fill_in_values(value, values) for value in item] if isinstance(item, list) else item
    alone = re.fullmatch(r"<(\w+)>", item)
    return values[alone[1]] if alone and alone[1] in values else re.sub(r"<(\w+)>", lambda it: str(values.get(it[1], it[0])), item)


def variants(scene: Mapping[str, Any]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The runs of the scene for each row and way, with a label."""
    columns = scene.get("columns", "").split()
    assert not [it for it in columns if f"<{it}>" not in str(scene)], "a column that nothing uses"
    rest = {key: value for key, value in scene.items() if key not in ("like", "rows", "columns", "ways", "first", "then")}
    for row, way in itertools.product(scene.get("rows", [()]), scene.get("ways", [{}])):
        values = dict(zip(columns, row if len(columns) != 1 else [row], strict=True))
        whole = laid(rest, way)
        others = {key: value for key, value in whole.items() if key not in OWN}
        steps = [*(laid(others, step) for step in scene.get("first", ())), whole]
        steps += [
            laid(others if "expect" in step else {**others, "expect": whole.get("expect", {})}, step) for step in scene.get("then", ())
        ]
        yield f"{values or ''} {way or ''}"[:200], fill_in_values(steps, values)


def play(scene: Mapping[str, Any], request: pytest.FixtureRequest, folder: Path, patch: pytest.MonkeyPatch, left: dict) -> list[str]:
    """Run it after what the run before `left`, and say what did not come as it should."""
    assert scene.keys() <= KEYS | OWN, scene.keys() - KEYS
    reset_accounts()
    llm = request.getfixturevalue("llm") if "llm" in scene or re.search("<(llm|models|base|root)>", str(scene)) else None
    if llm:
        llm.requests.clear()
        llm.reply, llm.latency = script(scene.get("llm", "ok")), scene.get("latency", 0.0)
        scene = fill_in_values(
            scene, {"llm": llm.spec(), "models": models(llm), "base": llm.base, "root": llm.base.removesuffix("/v1"), "port": llm.port}
        )
    days = {f"day{n}" if n >= 0 else "yesterday": (datetime.now(UTC) + timedelta(n)).date().isoformat() for n in range(-1, 92)}
    scene = fill_in_values(scene, days)
    for name, value in {**dict.fromkeys(KEYLESS), **scene.get("env", {})}.items():
        patch.delenv(name, raising=False) if value is None else patch.setenv(name, value)
    for constant, value in scene.get("constants", {}).items():
        patch.setattr(constant, value)
    name, config = scene.get("name", "promptfooconfig.yaml"), scene["config"]
    if isinstance(config, Mapping):
        test = {**(scene.get("test") or {}), **({"assert": scene["assert"]} if "assert" in scene else {})}
        tests = (
            [laid(fill_in_values(test, {"n": n}), (scene.get("but") or {}).get(n, {})) for n in range(scene.get("cases", 1))]
            if test
            else []
        )
        config = {key: it for key, it in {**config, **({"tests": tests} if test else {})}.items() if key not in scene.get("without", ())}
    for file, content in (written := {name: config, **scene.get("files", {})}).items():
        write(folder / file, content)
    for file, values in scene.get("edit", {}).items():
        edit(folder / file, values)
    if re.search(r"<(id|case)\d+>", str(scene)):
        assert cli.main(["cases", name, "-o", "cases.jsonl"]) == 0
        cases = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
        told = {f"id{n}": it["id"] for n, it in enumerate(cases)} | {f"case{n}": it for n, it in enumerate(cases)}
        for file, content in fill_in_values(written, told).items():
            write(folder / file, content)
    (results := folder / "results.json").unlink(missing_ok=True)
    usual = ["run", "-o", "results.json", "--grader-retries", "0", *scene.get("reask", ["--reask", "off"]), name]
    (capsys := request.getfixturevalue("capsys")).readouterr()
    code = cli.main(scene["command"] if "command" in scene else [*usual, *map(str, scene.get("run", ()))])
    out, err = capsys.readouterr()
    before = {**left}
    left.clear()
    left |= {**(json.loads(results.read_text()) if results.exists() else {}), "code": code, "out": out, "err": err, "said": out + err}
    left["grades"] = [grade for case in left.get("cases", ()) for grade in case["grades"]]
    left["reported"] = left.get("models")  # `models` are those that were asked, in the order of requests
    for copy, file in scene.get("keep", {}).items():
        (folder / copy).parent.mkdir(parents=True, exist_ok=True)
        if (folder / file).exists():
            (folder / copy).write_bytes((folder / file).read_bytes())
    if llm:
        left["requests"] = [{"path": path, "body": body, "headers": headers} for path, body, headers in llm.requests]
        left |= {"prompts": llm.prompts, "models": [body.get("model") for body in llm.bodies], "requested": len(llm.requests)}
    expect = {**scene.get("expect", {})}
    expect |= {path: at(before, path) for path in expect.pop("same", ())}
    wrong = [*differences(expect, left, folder)]
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


def edit(path: Path, values: Mapping[str, Any]) -> None:
    """Put values at paths of a JSON file; `(missing)` takes away what is there."""
    whole = json.loads(path.read_text())
    for place, value in values.items():
        *steps, last = (int(step) if step.isdigit() else step for step in place.split("."))
        inside = functools.reduce(operator.getitem, steps, whole)
        inside[last] = value
        if value == MISSING:
            del inside[last]
    path.write_text(json.dumps(whole))


def script(written: Any) -> Callable[[str, dict], Any]:
    """What the model says."""
    rules = [as_expectation(it) for it in as_list(written)]
    plain, asked, lock = [it for it in rules if "when" not in it], itertools.count(1), threading.Lock()
    turns = {id(it): itertools.chain(it["turns"], itertools.repeat(it["turns"][-1])) for it in rules if "turns" in it}
    verdicts = {id(it): {word: iter(said) for word, said in it["verdicts"].items()} for it in rules if "verdicts" in it}

    def reply(path: str, body: dict) -> Any:
        text, said = f"{path} {body}", body.get("messages") or [{}]
        with lock:
            rule = next((it for it in rules if "when" in it and all(word in text for word in as_list(it["when"]))), None)
            rule = rule or (plain.pop(0) if len(plain) > 1 else plain[0])
            values = {"messages": len(said), "last": said[-1].get("content"), "asked": next(asked)}
            if own := verdicts.get(id(rule)):
                words = re.findall("|".join(rf"{re.escape(word)}\b" for word in own), str(said))
                rule = {"say": VERDICTS.get(next(own[words[-1]]) if words else "P", "I cannot say.")}
            elif "turns" in rule:
                rule = as_expectation(next(turns[id(rule)]))
        if "say" in rule:
            return str(fill_in_values(rule["say"], values)) if isinstance(rule["say"], str) else json.dumps(rule["say"])
        if "embed" in rule:
            return {"result": [rule["embed"][text] for text in body["input"]]}
        if "best" in rule:
            shown = sorted(rule["of"], key=str(said).index)
            return json.dumps({"reason": rule.get("because", ""), "index": shown.index(rule["best"])})
        if "contradicted" in rule:
            return Script(words=dict.fromkeys(rule["contradicted"], "no"))(path, body)
        if "raw" in rule or "made" in rule:
            return rule["raw"].encode() if "raw" in rule else build_body(rule["made"])
        vectors = [{"index": number, "embedding": [1.0, 0.0]} for number, _ in enumerate(body.get("input", ()))]
        return rule.get("status", 200), fill_in_values(rule["sent"], {"vectors": vectors})

    return reply


def as_list(it: Any) -> list[Any]:
    return it if isinstance(it, list) else [it]


def as_expectation(it: Any) -> dict[str, Any]:
    return it if isinstance(it, dict) and it.keys() & RULES else {"say": it}
