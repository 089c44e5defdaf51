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
DEFAULT = ("gate", "assertions/grading", "assertions/judge")
LEFT_OUT = shutil.ignore_patterns(
    ".[!g]*", ".git", ".gradegate*", "__pycache__", "*.egg-info", "build", "dist", "out"
)
TESTED_BY = {"gate": ["runner"], "assertions": ["runner"]}  # tests of other packages that reach one
# The tests of the whole command that look at what it decides.
OF_COMMAND = (
    "test_cli.py", "test_conformance.py", "test_messages.py", "test_mistakes.py", "test_options.py", "test_seed_examples.py",
    "test_seeds.py",
)  # fmt: skip

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
SLOWER = 5  # times as long as without a change: then it hangs
SMALL = 1e-3  # what is added to a fraction


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
        return f"{self.path}:{self.line}  {_short(self.was)}  ->  {_short(self.now)}"

    def apply(self, source: bytes) -> bytes:
        """The source with the change in it."""
        return source[: self.start] + f"({self.now})".encode() + source[self.end :]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 90 else text[:87] + "..."


def mutations(path: Path, source: bytes) -> Iterator[Mutation]:
    """Every mutation of a file."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _expressions(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        was = source[start:end].decode()
        yield from (
            Mutation(path, node.lineno, start, end, was, ast.unparse(now)) for now in _changed(node)
        )


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Expressions that are run: no annotations, decorators and kinds of class; nothing in an f-string, whose places Python 3.11 gets wrong."""
    left_out = {
        "annotation",
        "returns",
        "decorator_list",
        *(["keywords"] if isinstance(node, ast.ClassDef) else []),
    }
    for name, value in ast.iter_fields(node):
        if name in left_out or isinstance(value, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.expr) and not isinstance(child, ast.JoinedStr):
                yield child
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _expressions(child)
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple | ast.Call | ast.Name):
        yield ast.copy_location(_Returned(value=node.value), node.value)


class _Returned(ast.Starred):
    """The value of a ``return``: a kind of its own, because it changes in another way than the same value elsewhere."""


def _changed(node: ast.expr) -> Iterator[ast.expr]:
    """What may replace an expression."""
    match node:
        case _Returned(value=ast.Tuple(elts=[first, second, *rest])):
            yield ast.Tuple([second, first, *rest], ast.Load())
        case _Returned():
            yield ast.Constant(None)
        case ast.Compare(left, [operator, *operators], comparators):
            yield ast.Compare(left, [COMPARISONS[type(operator)](), *operators], comparators)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
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
            yield ast.Subscript(value, ast.Slice(_next(lower), upper, step), ast.Load())
            yield ast.Subscript(value, ast.Slice(lower, _next(upper, -1), step), ast.Load())


def _next(bound: ast.expr | None, default: int = 1) -> ast.expr:
    return ast.Constant(default) if bound is None else ast.BinOp(bound, ast.Add(), ast.Constant(1))


def steps(module: Path) -> list[list[str]]:
    """The tests that concern a module, the nearest first. Most modules have the same last step."""
    package = module.relative_to(PACKAGE).parent
    of_command = [str(Path("tests", name)) for name in OF_COMMAND]
    if not package.parts:  # errors, registry, structs: only the tests of the command reach them
        return [of_command]

    top = package.parts[0]
    folders = [Path("tests", package), Path("tests", top)]
    near = [[str(folder)] for folder in dict.fromkeys(folders) if (ROOT / folder).exists()]
    return [*near, [*(str(Path("tests", name)) for name in TESTED_BY.get(top, [])), *of_command]]


def failure(copy: Path, tests: Sequence[str], limit: float | None = None) -> str:
    """The first test that fails in the copy, or that ``limit`` seconds did not suffice; empty when all pass."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(copy / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": "true",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "3",
        "--dist",
        "loadgroup",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    try:
        done = subprocess.run(  # our own tests
            command,
            cwd=copy,
            env=environ,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"more than {limit:g} s"
    if done.returncode == 0:
        return ""
    # What a test printed is there, too: gradegate's own lines begin with FAILED and two spaces.
    failed = re.search(r"^(?:FAILED|ERROR) (tests/\S+)", done.stdout, re.MULTILINE)
    return failed[1] if failed else f"one of {tests[0]}"


def noticed(copy: Path, mutation: Mutation, limit: float) -> str:
    """What fails with the change, or an empty string; the copy is afterwards as it was."""
    file = copy / mutation.path
    source = file.read_bytes()
    file.write_bytes(mutation.apply(source))
    try:
        return next(
            filter(None, (failure(copy, tests, limit) for tests in steps(mutation.path))), ""
        )
    finally:
        file.write_bytes(source)


def files(names: Sequence[str]) -> list[Path]:
    """The modules of packages (``gate``) and paths (``planning/planner.py``), relative to the repository."""
    chosen: list[Path] = []
    for name in names:
        path = ROOT / PACKAGE / name
        if not path.exists():
            sys.exit(f"{PACKAGE / name} does not exist -> name a package or a module of {PACKAGE}")
        chosen += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [path.relative_to(ROOT) for path in chosen]


def sample(modules: Sequence[Path], count: int, seed: int) -> list[Mutation]:
    """So many mutations, the same for the same seed, in the order of the files."""
    every = [
        mutation
        for module in modules
        for mutation in mutations(module, (ROOT / module).read_bytes())
    ]
    drawn = random.Random(seed).sample(every, min(count, len(every)))
    return sorted(drawn, key=lambda mutation: (mutation.path, mutation.start))


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "modules",
        nargs="*",
        default=DEFAULT,
        help=f"packages or modules (default: {' '.join(DEFAULT)})",
    )
    parser.add_argument("--count", type=int, default=24, help="how many changes (default: 24)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default: 1)")
    parser.add_argument(
        "--share", type=float, default=0.8, help="the least share to notice, 0 to 1 (default: 0.8)"
    )
    return parser.parse_args()


def main() -> int:
    """0 when enough was noticed, 1 when not, 2 when the tests fail without any change."""
    chosen = options()
    drawn = sample(files(chosen.modules), chosen.count, chosen.seed)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        longest = 0.0
        for tests in {tuple(step) for mutation in drawn for step in steps(mutation.path)}:
            started = time.monotonic()
            if broken := failure(copy, tests):
                print(f"fails without any change: {broken}")
                return 2
            longest = max(longest, time.monotonic() - started)
        count = 0
        for mutation in drawn:
            by = noticed(copy, mutation, SLOWER * longest)
            count += bool(by)
            print(
                f"noticed   {mutation}\n          by {by}" if by else f"SURVIVED  {mutation}",
                flush=True,
            )
    print(
        f"{count} of {len(drawn)} noticed, seed {chosen.seed}; at least {chosen.share:.0%} are asked for"
    )
    return 0 if count >= chosen.share * len(drawn) else 1


if __name__ == "__main__":
    sys.exit(main())
