"""Changes the code at random places, one at a time in a temporary copy, and reports which changes no test notices.

Own code, because the kept libraries solve another problem. cosmic-ray and mutmut list every mutant of a package and keep a
session of them; neither draws a seeded sample nor fails below a share, cosmic-ray runs one command for all modules, and
mutmut first runs the whole suite to learn which test calls which function. Either needs a selection like this one around it.

Tests run in steps, so that most changes are noticed in seconds: the folder that mirrors the changed module, then the one of
its top package, then the packages that use it and the tests of the whole command. Tests that start ``python -I`` see the installed
package, not the copy; they cannot notice a change.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "gradegate")
DEFAULT_MODULES = ("gate", "assertions/grading", "assertions/judge")
# What the copy of the repository leaves out.
LEFT_OUT = shutil.ignore_patterns(
    ".[!g]*", ".git", ".gradegate*", "__pycache__", "*.egg-info", "build", "dist", "out"
)
# Packages whose tests reach another one, by that one.
PACKAGES_THAT_TEST = {"gate": ["runner"], "assertions": ["runner"]}
# The tests of the whole command that look at what it decides.
TESTS_OF_COMMAND = (
    "test_cli.py", "test_conformance.py", "test_messages.py", "test_mistakes.py", "test_options.py", "test_seed_examples.py",
    "test_seeds.py",
)  # fmt: skip
PYTEST = (
    "pytest", "-x", "-q", "-n", "3", "--dist", "loadgroup", "-m", "not slow", "-p", "no:cacheprovider",
)  # fmt: skip

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
SLOWER = 5  # times as long as without a change: then it hangs
SMALL = 1e-3  # what is added to a fraction
MOST_SHOWN = 90  # characters of an expression


def main() -> int:
    """Return 0 if enough changes are noticed, 1 if not, 2 if the tests fail without any change."""
    options = parse_options()
    mutations = draw_mutations(find_modules(options.modules), options.count, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)

        # How long the tests take without a change says when a change makes them hang.
        longest_seconds = 0.0
        for tests in {tuple(step) for mutation in mutations for step in test_steps(mutation.path)}:
            started = time.monotonic()
            failure = run_tests(copy, tests)
            if failure:
                print(f"fails without any change: {failure}")
                return 2
            longest_seconds = max(longest_seconds, time.monotonic() - started)

        noticed = 0
        for mutation in mutations:
            failure = test_mutation(copy, mutation, SLOWER * longest_seconds)
            if failure:
                noticed += 1
                print(f"noticed   {mutation}\n          by {failure}", flush=True)
            else:
                print(f"SURVIVED  {mutation}", flush=True)

    count = len(mutations)
    print(
        f"{noticed} of {count} noticed, seed {options.seed}; at least {options.share:.0%} are asked for"
    )
    return 0 if noticed >= options.share * count else 1


def parse_options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "modules",
        nargs="*",
        default=DEFAULT_MODULES,
        help=f"packages or modules (default: {' '.join(DEFAULT_MODULES)})",
    )
    parser.add_argument("--count", type=int, default=24, help="how many changes (default: 24)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default: 1)")
    parser.add_argument(
        "--share", type=float, default=0.8, help="the least share to notice, 0 to 1 (default: 0.8)"
    )
    return parser.parse_args()


def find_modules(names: Sequence[str]) -> list[Path]:
    """The modules of packages (``gate``) and paths (``planning/planner.py``), relative to the repository."""
    modules: list[Path] = []
    for name in names:
        path = ROOT / PACKAGE / name
        if not path.exists():
            sys.exit(f"{PACKAGE / name} does not exist -> name a package or a module of {PACKAGE}")
        modules += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [module.relative_to(ROOT) for module in modules]


# --- running the tests ------------------------------------------------------------------------------------------


def test_steps(module: Path) -> list[list[str]]:
    """The tests that concern a module, the nearest first. Most modules have the same last step."""
    package = module.relative_to(PACKAGE).parent
    tests_of_command = [str(Path("tests", name)) for name in TESTS_OF_COMMAND]
    if not package.parts:  # errors, registry, structs: only the tests of the command reach them
        return [tests_of_command]

    top_package = package.parts[0]
    folders = [Path("tests", package), Path("tests", top_package)]
    steps = [[str(folder)] for folder in dict.fromkeys(folders) if (ROOT / folder).exists()]
    packages = PACKAGES_THAT_TEST.get(top_package, [])
    steps.append([str(Path("tests", name)) for name in packages] + tests_of_command)
    return steps


def test_mutation(copy: Path, mutation: Mutation, limit_seconds: float) -> str:
    """Apply a change to the copy and give the first test that fails. Empty if none does.

    Afterwards the copy is as it was.
    """
    module = copy / mutation.path
    source = module.read_bytes()
    module.write_bytes(mutation.apply(source))
    try:
        for tests in test_steps(mutation.path):
            failure = run_tests(copy, tests, limit_seconds)
            if failure:
                return failure
        return ""
    finally:
        module.write_bytes(source)


def run_tests(copy: Path, tests: Sequence[str], limit_seconds: float | None = None) -> str:
    """The first test that fails in the copy, or that the time was not enough. Empty if all pass."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(copy / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": "true",
    }
    try:
        result = subprocess.run(  # our own tests
            [sys.executable, "-m", *PYTEST, *tests],
            cwd=copy,
            env=environ,
            capture_output=True,
            text=True,
            timeout=limit_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"more than {limit_seconds:g} s"
    if result.returncode == 0:
        return ""
    # What a test printed is there, too: gradegate's own lines begin with FAILED and two spaces.
    failure = re.search(r"^(?:FAILED|ERROR) (tests/\S+)", result.stdout, re.MULTILINE)
    return failure[1] if failure else f"one of {tests[0]}"


# --- the changes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutation:
    """One expression of a file and what replaces it; ``start`` and ``end`` count bytes."""

    path: Path
    line: int
    start: int
    end: int
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {_shorten(self.was)}  ->  {_shorten(self.now)}"

    def apply(self, source: bytes) -> bytes:
        """The source with the change in it."""
        return source[: self.start] + f"({self.now})".encode() + source[self.end :]


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_SHOWN else f"{line[: MOST_SHOWN - 3]}..."


def draw_mutations(modules: Sequence[Path], count: int, seed: int) -> list[Mutation]:
    """Draw ``count`` mutations, the same for the same seed, in the order of the files."""
    mutations: list[Mutation] = []
    for module in modules:
        mutations += find_mutations(module, (ROOT / module).read_bytes())
    drawn = random.Random(seed).sample(mutations, min(count, len(mutations)))
    return sorted(drawn, key=lambda mutation: (mutation.path, mutation.start))


def find_mutations(path: Path, source: bytes) -> Iterator[Mutation]:
    """Yield every mutation of a file."""
    line_starts = [0]
    for line in source.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(line))
    for node in _expressions(ast.parse(source)):
        end_line = node.end_lineno or node.lineno
        start = line_starts[node.lineno - 1] + node.col_offset
        end = line_starts[end_line - 1] + (node.end_col_offset or 0)
        was = source[start:end].decode()
        for replacement in _replacements(node):
            yield Mutation(path, node.lineno, start, end, was, ast.unparse(replacement))


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that are run: no annotations, decorators and keywords of a class.

    Nothing in an f-string is among them, because Python 3.11 gets the places in it wrong.
    """
    left_out = {"annotation", "returns", "decorator_list"}
    if isinstance(node, ast.ClassDef):
        left_out.add("keywords")
    for name, value in ast.iter_fields(node):
        if name in left_out:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from _expressions(child)
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple | ast.Call | ast.Name):
        yield ast.copy_location(_Returned(value=node.value), node.value)


class _Returned(ast.Starred):
    """The value of a ``return``: a kind of its own, because it changes in another way than the same value elsewhere."""


def _replacements(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what may replace an expression."""
    match node:
        case _Returned(value=ast.Tuple(elts=[first, second, *rest])):
            yield ast.Tuple([second, first, *rest], ast.Load())
        case _Returned():
            yield ast.Constant(None)
        case ast.Compare(left, [operator, *operators], comparators):
            yield ast.Compare(left, [COMPARISONS[type(operator)](), *operators], comparators)
        case ast.BoolOp(operator, values):
            other_operator = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield ast.BoolOp(other_operator, values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC:
            yield ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(float(value)):
            yield ast.Constant(value + SMALL)
        case ast.Subscript(value, ast.Slice(lower, upper, step)):
            yield ast.Subscript(value, ast.Slice(_move_bound(lower, 1), upper, step), ast.Load())
            yield ast.Subscript(value, ast.Slice(lower, _move_bound(upper, -1), step), ast.Load())


def _move_bound(bound: ast.expr | None, default: int) -> ast.expr:
    """The bound of a slice and one more; ``default`` for a bound that is left out."""
    if bound is None:
        return ast.Constant(default)
    return ast.BinOp(bound, ast.Add(), ast.Constant(1))


if __name__ == "__main__":
    sys.exit(main())
