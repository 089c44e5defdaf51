"""Every input of promptfoo's action has an answer: one table for the message and the page."""

from pathlib import Path

from gradegate.files.documents import table
from gradegate.github.inputs import settings_from_inputs
from gradegate.github.promptfoo_inputs import promptfoo_answers
from support.each import each

SAME, ANSWERS = table("github", "promptfoo_action.yaml")["same"], promptfoo_answers()

PAGE = (Path(__file__).parents[2] / "docs" / "from-promptfoo.md").read_text()
# `inputs` of promptfoo/promptfoo-action, action.yml at 77edad7.
INPUTS = """
github-token prompts config cache-path openai-api-key azure-api-key anthropic-api-key huggingface-api-key
aws-access-key-id aws-secret-access-key replicate-api-key palm-api-key vertex-api-key cohere-api-key mistral-api-key
groq-api-key promptfoo-version working-directory no-share use-config-prompts env-files fail-on-threshold debug
max-concurrency no-table no-progress-bar no-cache disable-comment workflow-files workflow-base repeat repeat-min-pass
force-run
""".split()


@each("name", INPUTS)
def test_each_input_of_promptfoos_action_is_the_same_or_a_mistake_that_names_the_way(name):
    found = settings_from_inputs({f"INPUT_{name.upper()}": "3"}, Path()).mistakes
    if name in SAME:
        assert not any(f"there is no input `{name}`" in str(mistake) for mistake in found)
    else:
        assert f"there is no input `{name}` -> {ANSWERS[name]}" in map(str, found)


def test_the_page_has_every_input_that_has_a_successor():
    inputs = table("github", "promptfoo_action.yaml")["answers"]
    successors = [name for name in INPUTS if name in inputs and inputs[name]["do"] not in ("env", "leave")]
    assert len(successors) > 6
    assert [name for name in (*SAME, *successors) if f"`{name}`" not in PAGE] == []


@each("name", ANSWERS)
def test_an_answer_names_inputs_that_there_are(name):
    answered = ANSWERS[name]
    if answered.startswith("give `"):
        given = answered.split("`")[1].split(":")[0]
        assert not [it for it in settings_from_inputs({f"INPUT_{given.upper()}": ""}, Path()).mistakes if "no input" in str(it)]


def test_the_spelling_of_shells_has_the_answer_too():
    (mistake,) = settings_from_inputs({"INPUT_FAIL_ON_THRESHOLD": "80"}, Path()).mistakes
    assert "min-pass-rate" in str(mistake)
