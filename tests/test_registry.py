import subprocess
import sys

import pytest

from gradegate.asking.provider import PROVIDERS
from gradegate.configs.dialect import DIALECTS
from gradegate.grading.grader import GRADERS
from gradegate.registry import Registry, near
from gradegate.reporting.report import REPORTS
from support.each import each


@pytest.mark.slow
@each("registry", [GRADERS, PROVIDERS, DIALECTS, REPORTS], ids=lambda registry: registry.kind)
def test_every_plug_in_is_found_by_name_alone(registry):
    """In a process without the plug-ins of other tests: the text of some module holds each name in double quotes."""
    program = (
        "from gradegate.asking import provider\n"
        "from gradegate.configs import dialect\n"
        "from gradegate.grading import grader\n"
        "from gradegate.reporting import report\n"
        "registries = (grader.GRADERS, provider.PROVIDERS, dialect.DIALECTS, report.REPORTS)\n"
        f"registry = {{r.kind: r for r in registries}}[{registry.kind!r}]\n"
        "texts = list(registry._texts().values())\n"
        "print([name for name in registry.names() if not any(f'\"{name}\"' in text for text in texts)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_look_up_imports_what_it_needs_and_no_more():
    program = (
        "import sys; from gradegate.grading.grader import GRADERS\n"
        "assert GRADERS.find('llm-rubric') is not None and GRADERS.find('nonsense') is None\n"
        "print('gradegate.graders.llm_rubric' in sys.modules, 'gradegate.graders.g_eval' in sys.modules)\n"
        "GRADERS.names()\n"
        "print('gradegate.graders.g_eval' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "True"]


def test_a_name_is_given_once():
    registry: Registry[int] = Registry("number", "gradegate.reports")
    registry.register("one", "two")(1)
    with pytest.raises(ValueError, match="number 'two' is registered twice"):
        registry.register("two")(2)


def test_a_near_miss_is_suggested():
    assert GRADERS.suggest("lm-rubric") == 'did you mean "llm-rubric"?'
    assert GRADERS.suggest("zzzz") == ""


def test_what_a_slip_of_the_pen_is():
    """A short name is near nearly every word; one of the same stem is nearer than one with more of the letters."""
    rows = {"ctiy": "city", "factualness": "factuality", "evluation": "evaluation", "ecko": "echo", "DefaultTest": "default_test"}
    rows |= {"pii": "", "grading": "", "https": ""}
    names = ("city", "pi", "factuality", "factfulness", "tracing", "echo", "evaluation", "it", "default_test", "tests")
    assert {word: near(word, names) for word in rows} == rows
