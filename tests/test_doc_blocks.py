"""What the pages for people show is run: configs are valid, workflows are workflows, commands do what they say."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from gradegate.cli import main as cli
from gradegate.config.context import build_context
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError
from gradegate.runner.prepare import Preparation, prepare
from support.doc_blocks import PAGES, ROOT, Block, as_config, as_workflow, blocks, commands, fill_in_names
from support.each import each, table
from support.fake_llm import FakeLlm
from support.loopback import JsonHandler, listening
from support.patience import PATIENCE

BLOCKS = [block for page in PAGES for block in blocks(page) if block.language in ("yaml", "yml")]
WORKFLOWS = [block for block in BLOCKS if as_workflow(block.data) is not None and block.page.stem != "other-ci"]
# A block of comments alone is a line that people copy; one with a name is run by the commands of its page.
CONFIGS = [block for block in BLOCKS if block.data is not None and block not in WORKFLOWS and not block.name]
STAND_IN = "a-value"
# Files that pages speak of and do not show.
FILES: Mapping[str, str] = {
    "docs/reimbursement.md": "Up to $500 needs no approval.",
    "pics/policy.png": "\x89PNG\r\n",
    "goldens.json": json.dumps([{"input": "Hello", "retrieval_context": ["Hi"], "expected_output": "Hi", "actual_output": "Hi"}]),
    "prompt.txt": "{{question}}",
    "conversations/refund.yaml": "- {role: user, content: Hi}\n- {role: assistant, content: Yes, retrieval_context: [Yes]}\n",
    "tools.json": '[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]',
    "labels.jsonl": "\n".join(
        json.dumps({"description": "agents book", "assertion": "factuality", "output": f"answer {n}", "label": "pass"}) for n in range(5)
    ),
    "checks.py": "def get_assert(output, context):\n    return True\n",
    "checks/tone.js": "module.exports = (output) => true;\n",
    "app.mjs": "export default class { async callApi(prompt, context) { return { output: prompt } } }\n",
    "prompts.js": "exports.short = ({ vars, provider, config }) => `Say ${vars.word}`\n",
    "word.js": 'module.exports = (name, prompt, vars) => ({ output: "noon" })\n',
    "check.mjs": 'import "node:fs"; export default (output, context) => true\n',
    "made.mjs": "export const tests = async () => [{ vars: { word: 'a' }, assert: [{ type: 'equals', value: 'Say a' }] }]\n",
    "schema.json": '{"type": "object"}',
}


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1" if name.endswith(".png") else "utf-8"))


def planned(folder: Path, config: Mapping[str, Any]) -> Preparation:
    """The plan of a config whose keys are all there; raises ConfigError with what else is wrong."""
    write(folder, {**FILES, "promptfooconfig.yaml": yaml.safe_dump(dict(config), sort_keys=False)})
    environ: dict[str, str] = {}
    while True:
        try:
            settings = Settings(cwd=folder, configs=("promptfooconfig.yaml",), allow_exec=True)
            return prepare(build_context(settings, environ))
        except ConfigError as e:
            if not e.missing - environ.keys():
                raise
            environ |= dict.fromkeys(e.missing, STAND_IN)


def schema_of(name: str) -> Draft7Validator:
    import check_jsonschema

    vendored = Path(check_jsonschema.__file__).parent / "builtin_schemas" / "vendor" / f"{name}.json"
    return Draft7Validator(json.loads(vendored.read_text()))


@each("block", CONFIGS, ids=str)
def test_a_config_that_a_page_shows_is_valid(tmp_path: Path, block: Block) -> None:
    assert planned(tmp_path, as_config(block.data)).plan.jobs


@each("block", WORKFLOWS, ids=str)
def test_a_workflow_that_a_page_shows_is_one_with_inputs_that_there_are(block: Block) -> None:
    workflow = as_workflow(block.data)
    assert workflow is not None
    assert [error.message for error in schema_of("github-workflows").iter_errors(workflow)] == []
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    for job in workflow["jobs"].values():
        for step in job.get("steps", ()):
            if step.get("uses", "").startswith("OWNER/gradegate"):
                assert set(step.get("with", ())) <= set(inputs)


def files_for_other_ci() -> dict[str, str]:
    """The texts of GitLab's file, which the page shows, and of the others."""
    page = {block.name: block.file for block in blocks(ROOT / "docs" / "other-ci.md") if block.name}
    return page | {path.name: fill_in_names(path.read_text()) for path in (ROOT / "examples" / "other-ci").iterdir()}


def test_files_for_other_ci_are_valid_and_their_scripts_decide(place: Path, llm: FakeLlm, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: yaml.safe_load(text) for name, text in files_for_other_ci().items() if name != "Jenkinsfile"}
    assert set(files) == {".gitlab-ci.yml", "gitlab-shards.yaml", "azure-pipelines.yaml"}
    for name, data in files.items():
        schema = schema_of("azure-pipelines" if "azure" in name else "gitlab-ci")
        assert [error.message for error in schema.iter_errors(data)] == []
    llm.reply = lambda path, body: json.dumps({"category": "D"}) if "expert" in str(body) else "None."
    jobs = files["gitlab-shards.yaml"]
    for stage in jobs["stages"]:
        for number in range(1, jobs[stage].get("parallel", 1) + 1):
            script = jobs[stage]["script"].rpartition("|| ")[2].replace("$EVALS", jobs["variables"]["EVALS"])
            words = shlex.split(script.replace("$CI_NODE_INDEX", str(number)).replace("$CI_NODE_TOTAL", "4"))
            assert cli.main([MEANT.get(word, word) for word in words[1:]]) == (1 if stage == "decide" else 0)
    assert "<failure" in (place / "gradegate-junit.xml").read_text()


def test_files_for_other_ci_first_remove_what_a_change_committed_under_the_names_of_reports(tmp_path: Path) -> None:
    """Before anything that can fail, and whether it is a file, a link or a folder."""
    files = files_for_other_ci().values()
    assert len(files) == 4
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for text in files:
        names = sorted(set(re.findall(r"-o ([\w.-]+)", text)))
        assert names
        first = re.search(r"(?:- |script: |sh ')(rm -rf [^'#\n]*)", text[: text.index("pip install")])
        assert first, text
        for make in (Path.touch, Path.mkdir, lambda path: path.symlink_to(precious)):
            for name in names:
                make(tmp_path / name)
            subprocess.run(["bash", "-ec", first[1]], cwd=tmp_path, check=True)
            assert list(tmp_path.iterdir()) == [precious]
    assert precious.read_text() == "precious"


def test_what_is_wrong_in_a_block_is_found(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="min-pass-rte"):
        planned(tmp_path, as_config({"gate": {"rules": [{"name": "x", "min-pass-rte": 1}]}}))
    wrong = as_workflow([{"uses": "OWNER/gradegate@v0", "wiht": {}}])
    assert wrong is not None
    assert not schema_of("github-workflows").is_valid(wrong)
    with pytest.raises(TypeError):
        as_config("words")


# --- commands -------------------------------------------------------------------------------------------------

COMMANDED = [page for page in PAGES if any(commands(page))]
MEANT = {"PROVIDER:any": "openai:chat:any", "LABEL": "openai:chat:any", "CONFIG": "evals/promptfooconfig.yaml"}
CONFIG: dict[str, Any] = table(__file__, "CONFIG")
LABELS = (("Up to $500.", "pass"), ("None.", "fail"))
# What pages take for granted when they name a command.
THERE: Mapping[str, str] = {
    **FILES,
    "promptfooconfig.yaml": yaml.safe_dump(CONFIG),
    "evals/promptfooconfig.yaml": yaml.safe_dump(CONFIG),
    "labels.jsonl": "".join(
        json.dumps({"description": "names the approval limit", "assertion": "factuality", "output": said, "label": label}) + "\n"
        for said, label in LABELS
    ),
    **{
        f"{folder}/{path.name}": path.read_text()
        for folder, source in (("evals", "answers"), ("examples/aegis", "aegis"))
        for path in (ROOT / "examples" / source).iterdir()
        if path.suffix in (".py", ".json")
    },
}


def good(path: str, body: dict[str, Any]) -> Any:
    """The reply of a model that finds everything right, in the form that a prompt asks for; where none grades, a short answer."""
    if path.endswith("/embeddings"):
        inputs = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [{"index": index, "embedding": [1.0, 0.0]} for index, _ in enumerate(inputs)]
        return {"data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    text = "\n".join(str(message.get("content")) for message in body.get("messages", ()))
    reply = next((reply for part, reply in table(__file__, "GOOD").items() if part in text), None)
    if reply is None:
        return "Up to $500 needs no approval."
    if found := re.search(r"exactly (\d+) objects", text):
        reply = {"verdicts": reply["verdicts"] * int(found[1])}
    return json.dumps(reply)


class _Application(JsonHandler):
    """What pages have listen on port 8000."""

    def respond(self) -> None:
        self.read()
        documents = ["Purchases up to $500 need no approval."]
        self.answer(200, {"answer": "Up to $500 needs no approval.", "documents": documents})


@pytest.fixture
def place(tmp_path: Path, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with what pages speak of, a model that finds everything right, and an application."""
    llm.reply = good
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    monkeypatch.setenv("OPENAI_API_KEY", STAND_IN)
    for name in ("CI", "GITHUB_ACTIONS", "GITHUB_WORKSPACE", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    write(tmp_path, THERE)
    with listening(_Application) as port:
        monkeypatch.setattr("support.doc_blocks.PORT", str(port))
        yield tmp_path


@each("page", COMMANDED, ids=lambda page: page.stem)
def test_the_commands_of_a_page_do_what_they_say(place: Path, page: Path, llm: FakeLlm, capsys: pytest.CaptureFixture[str]) -> None:
    """A guide, whose config is on the page, passes; on other pages a command is at least no mistake."""
    guide = page.name in ("start.md", "guides.md")
    files = {block.name: block.file for block in blocks(page) if block.name}
    configs = [name for name in files if name.endswith(".yaml") and not name.startswith(".")]
    assert [name for name in configs if name not in " ".join(commands(page))] == []
    write(place, files)
    if page.stem == "terminal":  # whose `run --failed` is about failures
        llm.reply = lambda path, body: json.dumps({"category": "D"}) if "expert" in str(body) else "None."
    for command in commands(page):
        program, *arguments = shlex.split(command)
        given = [MEANT.get(argument, argument) for argument in arguments]
        if program == "python":
            subprocess.run([sys.executable, *given], check=True, timeout=PATIENCE, cwd=place)
            continue
        code = cli.main(given)
        said = capsys.readouterr()
        assert code in ((0,) if guide else (0, 1, 3)), f"{command}\n{said.out}{said.err}"
