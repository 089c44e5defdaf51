"""Weighs each package of src/gradegate in tokens and lists what is over its ceiling (exit code 1 if anything is).

A token is one of Python's tokenizer. Comments, docstrings and layout weigh nothing, so a longer, clearer page costs nothing.
A commit that raises a ceiling says in its message what the product gains for it.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "gradegate"
MAX_LINES_OF_A_FILE = 620
CEILINGS = {  # tokens; "root" is the modules beside the packages
    "cli": 19_450,
    "assertions": 43_400,
    "config": 31_710,
    "core": 10_910,
    "files": 14_950,
    "gate": 25_020,
    "github": 13_720,
    "http": 11_620,
    "planning": 36_120,
    "providers": 42_890,
    "recordings": 11_180,
    "reports": 26_700,
    "results": 9_960,
    "runner": 39_160,
    "sandbox": 11_540,
    "security": 9_230,
    "templating": 21_340,
    "root": 2_450,
}
LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def docstring_lines(tree: ast.Module) -> set[int]:
    """The numbers of the lines that belong to docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            docstring = node.body[0]
            lines.update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return lines


def count_tokens(source: str) -> int:
    """The number of tokens of a module."""
    docstrings = docstring_lines(ast.parse(source))
    count = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT and token.start[0] not in docstrings:
            count += 1
    return count


def weigh_packages() -> dict[str, int]:
    """The tokens of each package, by its name."""
    tokens: dict[str, int] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        folders = path.relative_to(PACKAGE).parts[:-1]
        package = folders[0] if folders else "root"
        tokens[package] = tokens.get(package, 0) + count_tokens(path.read_text())
    return tokens


def find_excess() -> list[str]:
    """A sentence for each package over its ceiling and for each file that is too long."""
    problems = []
    for package, tokens in weigh_packages().items():
        ceiling = CEILINGS.get(package, 0)
        if tokens > ceiling:
            problems.append(
                f"{package} has {tokens:,} tokens, {tokens - ceiling:,} more than its ceiling of {ceiling:,}"
            )
    for path in sorted(PACKAGE.rglob("*.py")):
        lines = path.read_text().count("\n")
        if lines > MAX_LINES_OF_A_FILE:
            problems.append(
                f"{path.relative_to(PACKAGE)} has {lines} lines, more than {MAX_LINES_OF_A_FILE}"
            )
    return problems


if __name__ == "__main__":
    excess = find_excess()
    for problem in excess:
        print(problem)
    print(
        f"{sum(weigh_packages().values()):,} tokens; the ceilings allow {sum(CEILINGS.values()):,}"
    )
    sys.exit(1 if excess else 0)
