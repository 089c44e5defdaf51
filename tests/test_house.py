"""The weight of the packages, where tests stand, and what the repository must not contain."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import jinja2
import weight
from jinja2 import nodes

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, TESTS = ROOT / "src" / "gradegate", ROOT / "tests"
SOURCES = sorted((ROOT / "src").rglob("*.py"))
# Folders of tests that mirror no package: fakes and helpers, plug-ins and configs that tests load, vectors, the image.
NO_PACKAGE = {"support", "plugins", "seeds", "conformance", "container", "side_by_side"}


def test_no_package_is_over_its_ceiling():
    completed = subprocess.run([sys.executable, ROOT / "scripts" / "weight.py"], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr


def test_the_weight_counts_code_and_not_layout():
    dense = "def f(a):\n    return [a,a]\n"
    open_ = '"""A page."""\n\n\ndef f(a):\n    """Twice."""\n    # Both are the same.\n    return [\n        a,\n        a\n    ]\n'
    assert weight.count_tokens(dense) == weight.count_tokens(open_) == 12


def test_the_tests_mirror_the_source():
    packages = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    tested = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert packages - tested == set()
    assert {folder for folder in tested - packages if folder.parts[0] not in NO_PACKAGE} == set()


def test_no_modules_import_each_other_in_a_circle():
    """Import-linter knows the order of packages only; this is about modules, inside a package too."""
    graph = grimp.build_graph("gradegate", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle


def test_helpers_of_tests_are_in_support():
    others = [path.relative_to(TESTS) for path in TESTS.rglob("*.py") if not path.name.startswith(("test_", "conftest"))]
    assert [path for path in others if path.parts[0] not in NO_PACKAGE] == []


def test_only_borders_catch_everything():
    found = {path.name for path in SOURCES if re.search(r"except (Base)?Exception\b", path.read_text())}
    assert found <= {"grading.py", "main.py", "git.py", "harness.py", "crew.py"}  # the last two carry what code and threads raise


# Where each kind of escaped text is made, and which files that programs read are written; elsewhere it is made of literals alone.
MAKERS = {
    "Markdown": {"markdown.py"},
    "join_markdown": {"markdown.py"},
    "Escaped": {"escape.py", "report.py", "markdown.py", "plain.py", "templates.py"},
    "Log": {"escape.py", "annotations.py"},
    "Xml": {"junit.py"},
    "Html": {"charts.py"},
    "Markup": {"charts.py"},
    "Plain": {"plain.py", "console.py"},
    "data_file": {"report.py", "json.py", "aegis.py", "badge.py", "run.py", "calibrate.py", "drift.py", "shard.py"},
}


def strange_makers(path, text):
    """Where a module makes escaped text of what is not ours to the letter, or has a maker under another name."""
    tree = ast.parse(text)
    imported, allowed, found = set(), set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("gradegate.reports", "markupsafe")):
            imported |= {alias.name for alias in node.names}
            renamed = [alias.name for alias in node.names if alias.asname and alias.name in MAKERS]
            found += renamed + [alias.name for alias in node.names if alias.name in ("markdown", "escape", "report")]
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith(("gradegate.reports", "markupsafe"))]
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            allowed.add(id(node.func))
        for hint in filter(None, (getattr(node, "annotation", None), getattr(node, "returns", None))):
            allowed |= {id(inner) for inner in ast.walk(hint)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in MAKERS and node.id in imported and id(node) not in allowed:
            found += [node.id] if path.name not in MAKERS[node.id] else []
    return found


def test_escaped_text_is_made_of_literals_or_where_it_is_escaped():
    """mypy knows which functions give escaped text; what they are given as our own must be ours to the letter."""
    assert {path.name: found for path in SOURCES if (found := strange_makers(path, path.read_text()))} == {}


def test_templates_print_nothing_past_the_escape_of_their_format():
    """Jinja asks no ``finalize`` about what ``call`` and ``filter`` blocks give."""
    past = (nodes.CallBlock, nodes.FilterBlock, nodes.ScopedEvalContextModifier)
    for template in (PACKAGE / "reports" / "templates").iterdir():
        if template.suffix not in (".css", ".js"):
            tree = jinja2.Environment().parse(template.read_text())
            assert [*tree.find_all(past)] == [], template.name


def test_a_maker_is_noticed_however_it_is_used():
    head = "from gradegate.reports.format.markdown import Markdown, join_markdown\n"
    for line in (
        "Markdown(reason)",
        "Markdown(f'**{reason}**')",
        "join_markdown(reason, ['a'])",
        "[*map(Markdown, reasons)]",
        "made = Markdown",
        "class Other(Markdown): pass",
    ):
        assert strange_makers(Path("page.py"), head + line), line
    for line in ("from gradegate.reports.format.escape import Escaped as E", "from gradegate.reports.format import markdown"):
        assert strange_makers(Path("page.py"), line), line
    for line in ("Markdown('**a**')", "join_markdown(' · ', [reason])", "def f(text: Markdown) -> list[Markdown]: ..."):
        assert strange_makers(Path("page.py"), head + line) == [], line


def test_plug_in_folders_hold_plug_ins_and_an_init_without_code():
    for folder in ("recordings", "config/dialects", "assertions", "providers", "reports"):
        tree = ast.parse((PACKAGE / folder / "__init__.py").read_text())
        assert len(tree.body) == (ast.get_docstring(tree) is not None), folder


def test_every_module_opens_with_a_sentence():
    for path in SOURCES:
        text = path.read_text()
        assert not text or ast.get_docstring(ast.parse(text)), path


def test_the_repository_names_no_machine():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    machine = re.compile("/" + "root/|/" + "work/|/" + "opt/pypi|file:///" + "opt")
    for name in filter(None, listed):
        path = ROOT / name
        if path.is_file() and path.suffix not in (".png", ".json"):
            assert not machine.search(path.read_text(errors="replace")), name


def named(node):
    node = node.func if isinstance(node, ast.Call) else node
    return getattr(node, "attr", getattr(node, "id", ""))


# Private names of other libraries, which some module of the package overrides or takes for its own.
FOREIGN_PRIVATE = {"_new_conn", "_replace"}


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_names(text):
    """The private names that a module defines: its functions, classes and values, and the attributes of its objects."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return {name for name in names if is_private(name)}


def private_uses(text, package_names):
    """The private names of the package that a test imports, reads as an attribute, or replaces by its name."""
    tree = ast.parse(text)
    uses = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gradegate"):
            uses += [alias.name for alias in node.names if is_private(alias.name)]
        elif isinstance(node, ast.Attribute):
            uses += [node.attr] if node.attr in package_names else []
        elif isinstance(node, ast.Call) and named(node) in ("setattr", "getattr", "delattr", "hasattr", "object"):
            strings = [argument.value for argument in node.args if isinstance(argument, ast.Constant) and isinstance(argument.value, str)]
            uses += [string for string in strings if string.rpartition(".")[2] in package_names]
    return sorted(set(uses) - private_names(text))


def test_no_test_reaches_into_the_package():
    """What a test needs is public, so that a private name can change without its tests."""
    package_names = set().union(*(private_names(path.read_text()) for path in SOURCES)) - FOREIGN_PRIVATE
    uses = {path.name: private_uses(path.read_text(), package_names) for path in TESTS.rglob("*.py")}
    assert {name: found for name, found in uses.items() if found} == {}


def test_a_use_of_a_private_name_is_noticed():
    for line in (
        "from gradegate.http.pacing import _share",
        "lane._share()",
        "monkeypatch.setattr(pacing, '_share', 1)",
        "monkeypatch.setattr('gradegate.http.pacing._share', 1)",
    ):
        assert private_uses(line, {"_share"}) == [line.split("'")[1] if "'" in line else "_share"], line
    for line in ("self._share = 1", "def _share(): ...", "os._exit(1)", "x.__dict__", "text.endswith('_share')"):
        assert private_uses(line, {"_share"}) == [], line


def test_processes_of_tests_end_with_their_block():
    """``with Popen(...)`` waits without a limit: support/processes.py kills first."""
    starts = []
    for path in TESTS.rglob("*.py"):
        if path.name != "processes.py":
            starts += [f"{path.name}:{node.lineno}" for node in ast.walk(ast.parse(path.read_text())) if is_popen(node)]
    assert starts == []


def is_popen(node):
    return isinstance(node, ast.Call) and named(node) == "Popen"


# What is sliced in these is never shown as it is: texts in which secrets are looked for, what one process sends another, ids.
SLICED = {"security", "sandbox/keeper.py", "sandbox/harness.py", "planning/identity.py", "cli/init/first_files.py"}
NO_TEXT = {"commit", "digest", "hex", "hexdigest", "list", "sorted", "split", "splitlines"}
ITERATED = {"enumerate", "fromkeys", "join", "list", "map", "list_some", "set", "some", "sorted", "tuple", "zip"}


def is_length(bound):
    """Whether a bound is a constant that counts characters."""
    if isinstance(bound, ast.Constant):
        return isinstance(bound.value, int) and bound.value > 16
    if isinstance(bound, ast.BinOp):
        return is_length(bound.left) or is_length(bound.right)
    return is_length(bound.operand) if isinstance(bound, ast.UnaryOp) else named(bound).isupper()


def cuts(source):
    """The slices of a constant length from the beginning or the end of what may be a text."""
    tree = ast.parse(source)
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
            continue
        first, last, outer = node.slice.lower, node.slice.upper, above[node]
        is_cut = (last is not None and first is None) or (last is None and isinstance(first, ast.UnaryOp))
        if not is_cut or not is_length(first or last):
            continue
        of_list = isinstance(node.value, ast.List | ast.ListComp) or named(node.value) in NO_TEXT
        looped = isinstance(outer, ast.YieldFrom | ast.Starred) or getattr(outer, "iter", None) is node
        if not of_list and not looped and not (isinstance(outer, ast.Call) and named(outer) in ITERATED):
            yield node, above


def is_in(node, above, kind, name=""):
    while node in above:
        node = above[node]
        if isinstance(node, kind) and (not name or named(node) == name):
            return True
    return False


def test_every_cut_of_a_text_is_marked():
    """Part of a key is recognised by the mark behind it: ``excerpt`` and ``ending`` set it, and nothing else cuts."""
    found = []
    for path in SOURCES:
        place = path.relative_to(PACKAGE).as_posix()
        if place in SLICED or place.split("/")[0] in SLICED:
            continue
        for node, above in cuts(path.read_text()):
            looked_at = place.startswith("assertions/judge/") and not is_in(node, above, ast.FormattedValue)
            if not looked_at and not is_in(node, above, ast.Call, "excerpt"):
                found.append(f"{place}:{node.lineno} {ast.unparse(node)}")
    assert found == []


def test_a_cut_is_noticed():
    sources = ("text[:200]", "f'{text[:80]!r}'", "say(x.text[:LONGEST])", "text[-80:]", "x.strip()[:_A - 1]", "a = b[: 16 * MOST]")
    assert [source for source in sources if not list(cuts(source))] == []
    others = ("text[:3]", "for x in xs[:MOST]: y", "', '.join(xs[:MOST])", "[f(x) for x in xs[:200]]", "text[place:]", "commit[:SHORT]")
    assert [source for source in others if list(cuts(source))] == []
