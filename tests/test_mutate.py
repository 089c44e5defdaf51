"""The check of the tests: what it changes, that it is repeatable, and that it tells noticed from survived."""

import importlib.util
import sys
from pathlib import Path

import pytest

from support.each import each, table

FILE = Path(__file__).resolve().parent.parent / "scripts" / "mutate.py"
SPEC = importlib.util.spec_from_file_location("mutate", FILE)
mutate = importlib.util.module_from_spec(SPEC)
sys.modules["mutate"] = mutate  # where its dataclass looks for its annotations
SPEC.loader.exec_module(mutate)


@each(("line", "changed"), table(__file__, "what_is_changed"))
def test_what_is_changed(line, changed):
    source = line.encode()
    assert {mutation.apply(source).decode() for mutation in mutate.find_mutations(Path("m.py"), source)} == set(changed)


def test_every_change_of_the_package_is_python_and_a_seed_draws_the_same():
    modules = mutate.find_modules(["gate", "assertions/grading/conclusion.py"])
    drawn = mutate.draw_mutations(modules, 50, seed=7)
    assert drawn == mutate.draw_mutations(modules, 50, seed=7) != mutate.draw_mutations(modules, 50, seed=8)
    for mutation in drawn:
        compile(mutation.apply((mutate.ROOT / mutation.path).read_bytes()), str(mutation.path), "exec")


def test_the_tests_of_a_module_are_those_of_its_folder_then_the_whole():
    *near, far = mutate.test_steps(Path("src/gradegate/assertions/judge/reply.py"))
    assert near == [["tests/assertions/judge"], ["tests/assertions"]]
    assert far == mutate.test_steps(Path("src/gradegate/gate/rules.py"))[-1]
    assert far[:2] == ["tests/runner", "tests/test_cli.py"]
    assert mutate.test_steps(Path("src/gradegate/errors.py"))[0][0].startswith("tests/test_")


@pytest.mark.slow
def test_a_change_that_a_test_sees_is_noticed_and_the_copy_restored(tmp_path, monkeypatch):
    module, test = tmp_path / "src/gradegate/gate/m.py", tmp_path / "tests/gate/test_m.py"
    for path, text in ((module, "less = 1 < 2\nunseen = 1\n"), (test, "import runpy\n\ndef test_less():\n    print('FAILED  a case')\n    assert runpy.run_path('src/gradegate/gate/m.py')['less']\n")):  # fmt: skip
        path.parent.mkdir(parents=True)
        path.write_text(text)
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "test_steps", lambda path: [["tests/gate"]])
    by = [
        (mutation.was, mutate.test_mutation(tmp_path, mutation, 60))
        for mutation in mutate.find_mutations(Path("src/gradegate/gate/m.py"), module.read_bytes())
    ]
    assert dict(by)["2"] == ""
    assert by[-1] == ("1", "")
    assert module.read_text() == "less = 1 < 2\nunseen = 1\n"
    monkeypatch.setitem(mutate.COMPARISONS, mutate.ast.Lt, mutate.ast.Gt)
    first = next(mutate.find_mutations(Path("src/gradegate/gate/m.py"), module.read_bytes()))
    assert mutate.test_mutation(tmp_path, first, 60) == "tests/gate/test_m.py::test_less"
