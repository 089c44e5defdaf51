import json
import re
import subprocess
import sys

import pytest

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.cli.commands.schema import schema
from gradegate.config.dialect import DIALECTS
from gradegate.providers.api.provider import PROVIDERS
from gradegate.registry import Registry, near_miss
from gradegate.reports.delivery.report import REPORTS
from support.each import each, table
from support.fake_llm import FakeLlm
from support.graded import Script, config, mistakes
from support.plugins import load_folder


@pytest.mark.slow
@each("registry", [EVALUATORS, PROVIDERS, DIALECTS, REPORTS], ids=lambda registry: registry.kind)
def test_every_plug_in_is_found_by_name_alone(registry):
    """Each name is looked up in a process of its own that has imported no plug-in."""
    program = (
        "import os\n"
        "from gradegate.providers.api import provider\n"
        "from gradegate.config import dialect\n"
        "from gradegate.assertions.grading import evaluator\n"
        "from gradegate.reports.delivery import report\n"
        "registries = (evaluator.EVALUATORS, provider.PROVIDERS, dialect.DIALECTS, report.REPORTS)\n"
        f"registry = {{r.kind: r for r in registries}}[{registry.kind!r}]\n"
        "reading, writing = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.write(writing, '\\n'.join(registry.names()).encode())\n"
        "    os._exit(0)\n"
        "os.close(writing)\n"
        "missing = []\n"
        "for name in open(reading).read().splitlines():\n"
        "    process = os.fork()\n"
        "    if process == 0:\n"
        "        os._exit(registry.find(name) is None)\n"
        "    if os.waitpid(process, 0)[1]:\n"
        "        missing.append(name)\n"
        "print(missing)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_look_up_imports_what_it_needs_and_no_more():
    program = (
        "import sys; from gradegate.assertions.grading.evaluator import EVALUATORS\n"
        "assert EVALUATORS.find('llm-rubric') is not None and EVALUATORS.find('nonsense') is None\n"
        "print('gradegate.assertions.llm_rubric' in sys.modules, 'gradegate.assertions.g_eval' in sys.modules)\n"
        "EVALUATORS.names()\n"
        "print('gradegate.assertions.g_eval' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "True"]


def test_a_run_imports_the_plug_ins_that_its_config_names(tmp_path):
    """A grader that is written as a mapping among them: there are sixty graders and as many providers to import."""
    grader = {"id": "openai:chat:m", "config": {"apiBaseUrl": "http://127.0.0.1:1/v1", "apiKey": "k"}}
    tests = [{"assert": [{"type": "llm-rubric", "value": "is fine"}]}]
    evals = {"prompts": ["Hi"], "providers": ["echo"], "defaultTest": {"options": {"provider": grader}}, "tests": tests}
    (tmp_path / "evals.json").write_text(json.dumps(evals))
    program = (
        "import sys; from gradegate.cli import main as cli\n"
        "code = cli.main(['validate', 'evals.json'])\n"
        "from pathlib import Path\n"
        "folders = ('gradegate.providers.', 'gradegate.assertions.', 'gradegate.config.dialects.')\n"
        "plug_ins = [name for name in sys.modules if name.startswith(folders) and name.count('.') == 2 + ('dialects' in name)]\n"
        "print(code, *sorted(name for name in plug_ins if Path(sys.modules[name].__file__).stem != '__init__'))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = "gradegate.assertions.llm_rubric gradegate.config.dialects.promptfoo gradegate.providers.echo gradegate.providers.openai"
    assert done.stdout.splitlines()[-1] == f"0 {found}"


def test_a_name_is_given_once():
    registry: Registry[int] = Registry("number", "gradegate.reports")
    registry.register("one", "two")(1)
    with pytest.raises(ValueError, match="number 'two' is registered twice"):
        registry.register("two")(2)


def test_plug_ins_may_be_looked_up_while_others_are_imported(tmp_path):
    """``first`` looks for the plug-in of ``second`` when both are about to be imported."""
    package = tmp_path / "numbers_plugged_in"
    package.mkdir()
    (package / "__init__.py").write_text("from gradegate.registry import Registry\nNUMBERS = Registry('number', 'numbers_plugged_in')\n")
    head = "from numbers_plugged_in import NUMBERS\n"
    (package / "first.py").write_text(f'{head}NUMBERS.find("two")\nNUMBERS.register("one")(1)  # "any"\n')
    (package / "second.py").write_text(f'{head}NUMBERS.register("two")(2)  # "any"\n')
    program = "from numbers_plugged_in import NUMBERS; print(sorted(NUMBERS.mentioning('any')))"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[1, 2]\n", "")

    program = "from numbers_plugged_in import NUMBERS\nfor number in NUMBERS.one_by_one(): print(number, NUMBERS.names())"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (sorted(done.stdout.splitlines()), done.stderr) == ([f"{number} ['one', 'two']" for number in (1, 2)], "")


def test_a_near_miss_is_suggested():
    assert EVALUATORS.suggest("lm-rubric") == 'did you mean "llm-rubric"?'
    assert EVALUATORS.suggest("zzzz") == ""


def test_what_a_slip_of_the_pen_is():
    """A short name is near nearly every word; one of the same stem is nearer than one with more of the letters."""
    rows = {"ctiy": "city", "factualness": "factuality", "evluation": "evaluation", "ecko": "echo", "DefaultTest": "default_test"}
    rows |= {"pii": "", "grading": "", "https": ""}
    names = ("city", "pi", "factuality", "factfulness", "tracing", "echo", "evaluation", "it", "default_test", "tests")
    assert {word: near_miss(word, names) for word in rows} == rows


# --- plugins --------------------------------------------------------------------------------------------------
GRADER = table(__file__, "GRADER")


@pytest.fixture
def plugin(tmp_path):
    """The assertion type is-short, from a file that somebody put into a folder."""
    folder = tmp_path / "more graders"
    folder.mkdir()
    (folder / "is_short.py").write_text(GRADER)
    load_folder(folder)
    yield
    EVALUATORS.unregister("is-short")


@each(("assertion", "outcome", "score"), table(__file__, "it_runs_with_options_threshold_and_not"))
def test_it_runs_with_options_threshold_and_not(gate, llm, plugin, assertion, outcome, score):
    llm.reply = Script("Yes")
    grade = gate(config(llm, {"type": "is-short", **assertion})).grades[0]
    assert (grade["outcome"], grade["score"]) == (outcome, score)


def test_an_unreadable_reply_and_a_wrong_option_need_no_code_of_its_own(gate, llm, plugin):
    llm.reply = Script("Perhaps")
    assert gate(config(llm, {"type": "is-short", "value": 2})).grades[0]["outcome"] == "error"
    text = mistakes(gate(config(llm, {"type": "is-short", "value": "two"}, {"type": "is-shrt", "value": 2})))
    assert "`is-short`: `value` must be a whole number" in text
    assert 'did you mean "is-short"?' in text


def test_the_schema_knows_it(plugin):
    *types, opposite = json.loads(schema("config"))["$defs"]["AssertionKeys"]["properties"]["type"]["anyOf"]
    assert {"const": "is-short", "description": "The answer has at most so many words."} in types
    assert re.match(opposite["pattern"], "not-is-short")


def test_without_its_file_it_is_unknown(gate, llm):
    assert "unknown assertion type `is-short`" in mistakes(gate(config(llm, {"type": "is-short", "value": 2})))


# --- smoke ----------------------------------------------------------------------------------------------------


def test_a_failing_rubric_blocks_with_the_graders_reason(gate, llm: FakeLlm):
    llm.reply = lambda path, body: '{"reason": "it is rude", "pass": false, "score": 0.1}'
    ran = gate(
        {
            "prompts": ["{{text}}"],
            "providers": ["echo"],
            "defaultTest": {"options": {"provider": llm.spec()}},
            "tests": [{"vars": {"text": "go away"}, "assert": [{"type": "llm-rubric", "value": "is polite"}]}],
        }
    )
    assert (ran.code, ran.results["outcome"]) == (1, "blocked")
    assert ran.grades[0]["reason"] == "it is rude"
    assert ran.grades[0]["assertion"]["origin"] == {"file": "promptfooconfig.yaml", "line": 16}
