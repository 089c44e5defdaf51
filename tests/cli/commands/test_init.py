"""What `gradegate init` writes: it runs, it blocks, it goes live, and it touches nothing that is there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gradegate.cli.init.choices import Choices, check_choices
from gradegate.cli.init.first_files import Needs, find_starting_point, render_files
from gradegate.config.keys import ConfigKeys
from gradegate.errors import ConfigError
from support.each import table
from support.scenes import scenes
from support.starting import TEMPLATES

test_a_scene = scenes(__file__)


WORKFLOW = ".github/workflows/evals.yml"
RELEASE = ("--action", f"acme/gradegate@{'1' * 40}")
PROMPTFOO = {"description", "prompts", "providers", "defaultTest", "tests"}  # its keys that we write; `gate` is ours


def program(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([Path(sys.executable).with_name(name), *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_first_run_passes_and_the_one_that_the_comment_describes_is_blocked(begun, template):
    code, said, err = begun.do("init", "--template", template)
    assert (code, err) == (0, "")
    assert "gradegate run" in said
    code, ran, err = begun.do("run")
    assert (code, err) == (0, "")
    assert "No model was asked" in ran
    begun.spoil()
    code, ran, _ = begun.do("run")
    assert code == 1
    assert "Blocked: " in ran


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_comments_say_how_models_are_asked(begun, template, llm, monkeypatch):
    address = ["--provider", f"{llm.base}/ask"] if template == "application" else []
    model = [] if template in ("application", "answers") else ["--provider", "openai:chat:tested"]
    assert begun.do("init", "--template", template, *address, *model, "--grader", "openai:chat:judge")[0] == 0
    begun.go_live()
    code, _, err = begun.do("validate")
    assert code == 2
    assert "OPENAI_API_KEY" in err
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    code, said, err = begun.do("validate")
    assert (code, err) == (0, "")
    assert "grader: 0 calls" not in said
    assert ("target: 0 calls" in said) == (template == "answers")
    assert llm.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("below", ["", "apps/My 'bot' #1"])
def test_the_workflow_is_safe_valid_and_for_this_folder(begun, template, below, monkeypatch):
    place = begun.folder / below
    place.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(place)
    assert begun.do("init", "--template", template)[0] == 0
    (name,) = [name for name in begun.files if name.startswith(".github/")]
    path = begun.folder / name
    done = program("zizmor", "--offline", "--no-progress", "--no-config", "--persona=pedantic", str(path))
    assert done.returncode == 0, done.stdout
    done = program("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(path))
    assert done.returncode == 0, done.stdout
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    *_, gate = workflow["jobs"].values()
    assert gate["permissions"] == {"actions": "read", "contents": "read", "pull-requests": "write"}
    (step,) = [step for step in gate["steps"] if step.get("id") == "gate"]
    assert step["with"].get("working-directory", "") == below
    assert step["env"] == {"OPENAI_API_KEY": "${{ secrets.OPENAI_API_KEY }}"}
    assert "__" not in path.read_text()


def test_every_pin_is_that_of_the_examples(begun):
    begun.do("init", "--template", "answers")
    root = Path(__file__).parents[3]
    known = "\n".join(path.read_text() for path in (root / "examples").glob("*.yml"))
    for line in begun.files[WORKFLOW].splitlines():
        if "uses: actions/" in line:
            assert line.partition("uses: ")[2] in known


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_config_has_promptfoos_shape(begun, template):
    begun.do("init", "--template", template)
    written = yaml.safe_load(begun.files["promptfooconfig.yaml"])
    assert set(written) == PROMPTFOO | {"gate"}
    ConfigKeys.model_validate(written)
    for path in (begun.folder / "recorded").iterdir():
        assert all(set(entry) == {"when", "reply"} for entry in yaml.safe_load(path.read_text()))
    assert "__" not in "".join(text for name, text in begun.files.items() if not name.endswith(".py"))


@pytest.mark.slow
def test_what_a_program_answers_goes_the_way_of_the_workflow(begun):
    begun.do("init", "--template", "answers")
    steps = yaml.safe_load(begun.files[WORKFLOW])["jobs"]["answer"]["steps"]
    _, listed, answered = [step["run"].split() for step in steps if "run" in step]
    assert listed[0] == "gradegate"
    assert begun.do(*listed[1:])[0] == 0
    subprocess.run([sys.executable, *answered[1:]], check=True)
    lines = [json.loads(line) for line in (begun.folder / "answers.jsonl").read_text().splitlines()]
    assert [set(line) for line in lines] == [{"id", "output"}] * 2
    assert begun.do("run", "--answers", "answers.jsonl")[0] == 0


@pytest.mark.parametrize(("provider", "keys"), table(__file__, "the_workflow_hands_over_the_keys_of_the_models_that_were_named"))
def test_the_workflow_hands_over_the_keys_of_the_models_that_were_named(begun, provider, keys):
    assert begun.do("init", "--provider", provider)[0] == 0
    (gate,) = yaml.safe_load(begun.files[WORKFLOW])["jobs"].values()
    (step,) = [step for step in gate["steps"] if step.get("id") == "gate"]
    assert step.get("env") == (keys and {key: f"${{{{ secrets.{key} }}}}" for key in keys})
    assert f'# provider: "{provider}"' in begun.files["promptfooconfig.yaml"]


def test_a_folder_is_made_and_the_next_command_names_it(begun):
    code, said, _ = begun.do("init", "evals/shop bot")
    assert code == 0
    assert "  gradegate run 'evals/shop bot'  # passes" in said
    assert begun.do("run", "evals/shop bot")[0] == 0
    assert set(begun.files) == {
        ".github/workflows/evals-evals-shop-bot.yml",
        *(f"evals/shop bot/{name}" for name in ("promptfooconfig.yaml", "prompt.txt")),
        *(f"evals/shop bot/recorded/{name}.yaml" for name in ("answers", "grades")),
    }


def test_two_folders_of_a_repository_have_workflows_and_comments_of_their_own(begun):
    assert begun.do("init", "a")[0] == begun.do("init", "b")[0] == 0
    keys = [
        step["with"]["comment-key"]
        for name, text in begun.files.items()
        if name.startswith(".github/")
        for job in yaml.safe_load(text)["jobs"].values()
        for step in job["steps"]
        if step.get("id") == "gate"
    ]
    assert keys == ["evals-a", "evals-b"]


def test_outside_of_a_repository_everything_is_written_here(begun):
    (begun.folder / ".git" / "HEAD").unlink()
    (begun.folder / ".git").rmdir()
    assert begun.do("init")[0] == 0
    assert WORKFLOW in begun.files
    assert begun.do("run")[0] == 0


def existing(begun, **more):
    test = {"vars": {"q": "x"}, "assert": [{"type": "llm-rubric", "value": "polite"}]}
    config = {"prompts": ["{{q}}"], "providers": ["anthropic:messages:m"], "tests": [test], **more}
    (begun.folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))


# What every workflow compares with; a push has no base to check out.
OUTPUT = "gradegate-results.json\ngradegate-junit.xml\ngradegate-report.html\n"
COMPARED = {"base-checkout": "${{ github.event_name == 'pull_request' && '.base' || '' }}", "baseline": "auto", "output": OUTPUT}


def gate_step(begun):
    workflow = yaml.safe_load(begun.files[WORKFLOW])
    return next(step for step in workflow["jobs"]["gate"]["steps"] if step.get("id") == "gate")


def test_a_config_that_is_there_is_told_how_to_get_a_workflow(begun):
    existing(begun)
    assert "`promptfooconfig.yaml` is there already -> `gradegate init --only-workflow`" in in_the_way(begun)


def test_a_workflow_alone_hands_over_the_keys_that_the_config_takes(begun):
    existing(begun, defaultTest={"options": {"provider": "openai:chat:j"}})
    code, said, err = begun.do("init", "--only-workflow", *RELEASE)
    assert (code, err) == (0, "")
    assert "gradegate validate  # what a run takes" in said
    assert "LIVE" not in said
    assert set(begun.files) == {"promptfooconfig.yaml", WORKFLOW}
    step = gate_step(begun)
    assert step["env"] == {name: f"${{{{ secrets.{name} }}}}" for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")}
    assert step["with"] == COMPARED
    assert begun.do("init", "--from-pr")[0] == 0


def test_a_workflow_alone_opens_the_ports_of_the_runner_that_the_config_asks(begun):
    existing(begun, providers=[{"id": "http://localhost:8000/chat", "config": {"body": {"q": "{{prompt}}"}}}, "ollama:chat:llama3"])
    assert begun.do("init", "--only-workflow", "--grader", "groq:j", *RELEASE)[0] == 0
    assert gate_step(begun)["with"]["ready"].splitlines() == ["http://localhost:8000 60", "http://localhost:11434 60"]
    assert begun.do("init", "--from-pr")[0] == 0


def test_a_grader_that_is_named_for_a_config_that_is_there_goes_into_the_workflow(begun):
    existing(begun)
    assert begun.do("init", "--only-workflow", "--provider", "openai:chat:m")[0] == 2
    assert begun.do("init", "--only-workflow", "--grader", "groq:j", *RELEASE)[0] == 0
    step = gate_step(begun)
    assert step["with"] == {"grader": "groq:j", **COMPARED}
    assert "GROQ_API_KEY" in step["env"]
    assert begun.do("init", "--from-pr")[0] == 0


def test_a_config_that_is_there_may_be_answered_by_a_program(begun):
    existing(begun)
    assert begun.do("init", "--only-workflow", "--template", "answers", "--grader", "groq:j", *RELEASE)[0] == 0
    given = gate_step(begun)["with"]
    assert given == {"grader": "groq:j", "answers": ".answers/answers.jsonl", **COMPARED}
    assert begun.do("init", "--from-pr")[0] == 0


@given(st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=30))
def test_whatever_a_folder_is_called_the_workflow_names_it_or_nothing_is_written(name):
    choices = Choices(folder=name)
    root = Path("/repository").resolve()
    try:
        check_choices(choices)
        start = find_starting_point(root, name)
    except ConfigError:
        return
    made = {place.path: text for place, text in render_files(choices, start, Needs(grader_keys=["KEY"])).items()}
    assert all(path.is_relative_to(root) for path in made)
    path, text = list(made.items())[-1]
    assert path.parent == root / ".github" / "workflows"
    assert len(path.name) < 100
    workflow = yaml.safe_load(text)
    step = next(step for step in workflow["jobs"]["gate"]["steps"] if step.get("id") == "gate")
    assert step["with"].get("working-directory", "") == start.folder_in_repository
    assert set(workflow) == {"name", True, "permissions", "concurrency", "jobs"}
    assert text.count("${{") == 6


# --- what is in the way -------------------------------------------------------------------------------------------


def list_folder(begun):
    """Everything in the folder, links by where they point."""
    return {
        path.relative_to(begun.folder).as_posix(): str(path.readlink()) if path.is_symlink() else path.is_file() and path.read_text()
        for path in sorted(begun.folder.rglob("*"))
    }


def in_the_way(begun, *words):
    before = list_folder(begun)
    code, out, err = begun.do("init", *words)
    assert (code, out) == (2, "")
    assert list_folder(begun) == before
    return err


@pytest.mark.parametrize("name", ["promptfooconfig.yaml", "prompt.txt", "recorded/grades.yaml", WORKFLOW])
def test_a_file_that_is_there_is_named_and_nothing_is_written(begun, name):
    (begun.folder / name).parent.mkdir(parents=True, exist_ok=True)
    (begun.folder / name).write_text("mine")
    err = in_the_way(begun)
    assert err.startswith(f"`{name}` is there already -> ")
    assert "move it away, or " in err


def test_all_files_that_are_there_are_named_together(begun):
    begun.do("init")
    (begun.folder / "prompt.txt").unlink()
    err = in_the_way(begun)
    assert "`promptfooconfig.yaml` is there already (and 3 other files) -> " in err
    assert "prompt.txt" not in err


@pytest.mark.parametrize(("link", "what"), table(__file__, "no_link_is_followed"))
@pytest.mark.parametrize("leads", ["elsewhere", "nowhere", "loop"])
def test_no_link_is_followed(begun, tmp_path_factory, link, what, leads):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    path = begun.folder / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to({"elsewhere": elsewhere, "nowhere": elsewhere / "missing", "loop": path}[leads])
    assert what in in_the_way(begun)
    assert list(elsewhere.iterdir()) == []


def test_a_file_where_a_folder_is_needed(begun):
    (begun.folder / ".github").write_text("")
    assert "`.github` is not a folder" in in_the_way(begun)


@pytest.mark.parametrize("folder", ["ä/ö", "é" * 60, "long" * 60])
def test_a_folder_without_plain_letters_has_a_workflow_of_its_own(begun, folder):
    assert begun.do("init", folder)[0] == 0
    assert begun.do("init", f"{folder}/ü")[0] == 0
    names = [name for name in begun.files if name.startswith(".github/")]
    assert len(names) == 2
    assert all(name.isascii() and len(name) < 100 for name in names)


def test_folders_without_any_letter_do_not_share_a_workflow(begun):
    assert begun.do("init", "+")[0] == begun.do("init", "__")[0] == 0


@pytest.mark.parametrize(("words", "said"), table(__file__, "mistakes_are_told_and_nothing_is_written"))
def test_mistakes_are_told_and_nothing_is_written(begun, words, said):
    assert said in in_the_way(begun, *words)


def test_a_password_in_an_address_is_neither_written_nor_said(begun):
    said = in_the_way(begun, "--template", "application", "--provider", "https://ann:hunter2@a.test/ask")
    assert "--provider has a user name or password in its address -> leave it out" in said
    assert "hunter2" not in said
