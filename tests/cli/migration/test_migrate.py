"""`gradegate migrate`: six workflows of the shapes that public repositories have, moved and run; and what it must not touch."""

import json
import re
from pathlib import Path

import pytest
import yaml

from support.each import tables
from support.events import pull_request
from support.step import Here, Step

PLACES = tables(Path(__file__).with_suffix(".yaml"))
WORDS = {
    "<c>": "prompts: [x]\nproviders: [openai:chat:small]\ntests: [{assert: [{type: llm-rubric, value: x}]}]\n",
    "<w>": "on: pull_request\njobs:\n  e:\n    runs-on: x\n    steps:\n",
    "<a>": "OWNER/gradegate@0000000000000000000000000000000000000000",
}
SHAPES = sorted((Path(__file__).parent / "shapes").glob("*.yml"))


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def gates(folder, fill):
    """The steps of the Action, with what the runner fills in: their inputs and their environment."""
    for path in (folder / ".github" / "workflows").iterdir():
        text = re.sub(r"\$\{\{ *(matrix[\w.]*) *\}\}", lambda it: fill[it[1]], path.read_text())
        workflow = yaml.safe_load(
            re.sub(r"\$\{\{ *(?:secrets|github)[\w.]* *\}\}", "ghs_actions", text).replace("comment: off", "comment: 'off'")
        )
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                if "gradegate@" in step.get("uses", ""):
                    inputs = {key.replace("-", "_"): str(value) for key, value in step["with"].items()}
                    yield inputs, {**job.get("env", {}), **step.get("env", {})}


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_a_workflow_is_moved_and_the_result_runs(path, begun, github, llm, tmp_path_factory):
    shape = yaml.safe_load(path.read_text())
    write(begun.folder, shape["files"])
    code, shown, err = begun.do("migrate")
    assert (code, err, begun.files) == (0, "", shape["files"])
    code, out, err = begun.do("migrate", "--write")
    assert (code, err) == (0, "")
    assert begun.files == shape["files"] | shape["written"]
    said = [line for line in out.splitlines() if line.startswith("  ")]
    assert [text for text in shape["said"] if not any(re.search(text, line) for line in said)] == []
    assert shown.rpartition("nothing was written")[0] == out.rpartition("written: ")[0]
    assert "---" not in begun.do("migrate")[1]

    llm.reply = lambda path, body: json.dumps({"pass": True, "score": 1, "reason": "fine"})
    if shape.get("embeds"):
        vectors = lambda body: {"data": [{"index": at, "embedding": [1.0, 0.0]} for at, _ in enumerate(body["input"])]}  # noqa: E731
        llm.reply = lambda path, body: (
            (200, vectors(body)) if "embedding" in path else json.dumps({"question": "What is a?", "evades": False})
        )
    runs = list(gates(begun.folder, shape.get("fill", {})))
    for inputs, env in runs:
        step = Step(tmp_path_factory.mktemp("job"), Here(), github, pull_request())
        write(step.workspace, begun.files)
        github.changes("prompts/greeting.txt")
        step.environ = {**env, "OPENAI_API_KEY": "sk-key-0123456789", "OPENAI_BASE_URL": llm.base}
        left = step.run(**{"github_token": "ghs_actions", **inputs})
        assert (left.code, left.outputs["decision"]) == (0, "pass"), left.log
        assert bool(github.comments) == (inputs.get("comment") != "off")
    assert runs
    assert llm.requests


def filled(text):
    """With the words, in the line ends of the text."""
    end = "\r\n" if "\r\n" in text else "\n"
    for name, word in WORDS.items():
        text = text.replace(name, word.replace("\n", end))
    return text


@pytest.mark.parametrize("name", PLACES)
def test_all_other_bytes_stay_and_what_is_left_is_told(name, begun):
    place = PLACES[name]
    files = {file: filled(text).encode(place.get("encoding", "utf-8")) for file, text in place["files"].items()}
    for file, content in files.items():
        (begun.folder / file).parent.mkdir(parents=True, exist_ok=True)
        (begun.folder / file).write_bytes(content)
        (begun.folder / file).chmod(place.get("mode", 0o640))
    for file, target in place.get("link", {}).items():
        (begun.folder / file).parent.mkdir(parents=True, exist_ok=True)
        (begun.folder / file).symlink_to(target)
    code, out, err = begun.do("migrate", "--write", *place.get("words", ()))
    assert code == place.get("code", 0), out + err
    left = {file: (begun.folder / file).read_bytes() for file in files}
    assert left == files | {file: filled(text).encode() for file, text in place.get("leaves", {}).items()}
    assert {(begun.folder / file).stat().st_mode & 0o777 for file in files} == {place.get("mode", 0o640)}
    assert [text for text in place.get("says", ()) if not re.search(text, out + err)] == [], out + err
    assert [text for text in place.get("unsaid", ()) if text in out + err] == []
    assert code or "---" not in begun.do("migrate", *place.get("words", ()))[1]
