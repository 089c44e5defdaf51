"""What the checkout weighs against the budgets of docs/design.md; exit code 1 and what is over, if anything is.

The budgets are its block that begins with ``# weight``: ``limits`` by name, and a ceiling in lines for each room.
Lines are those of ``wc -l`` over Python files; lists in YAML are free.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "gradegate"
PLUG_INS = {"answers", "dialects", "graders", "providers", "reports"}  # their files have the names that users write
PARTICIPLE = re.compile(
    r"(?!(?:seed|feed|speed|need|embed)$)\w*ed$|(?:given|said|told|heard|behind|beside|again|weaker|written|made|begin)$"
)
COMPILING = ("re", "_re")  # the modules whose functions take a pattern
DEEPEST = 6  # names of constants that are followed

Place = tuple[float, str]  # a figure, and where it is


@dataclass(frozen=True)
class Module:
    """A file of the package: its dotted name, and what its top assigns and the whole imports, by name."""

    name: str
    room: str
    path: Path
    text: str
    tree: ast.Module
    constants: Mapping[str, ast.expr]
    imported: Mapping[str, tuple[str, str]]

    @property
    def lines(self) -> int:
        """As ``wc -l`` counts."""
        return self.text.count("\n")

    def place(self, node: ast.AST) -> str:
        """File and line."""
        return f"{self.path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 1)}"


def modules() -> dict[str, Module]:
    """The modules of the package by their names."""
    return {module.name: module for module in map(_module, sorted(PACKAGE.rglob("*.py")))}


def _module(path: Path) -> Module:
    text = path.read_text()
    tree, parts = ast.parse(text), path.relative_to(PACKAGE).with_suffix("").parts
    constants = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            constants |= {target.id: node.value for target in targets if isinstance(target, ast.Name)}
    froms = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
    imported = {alias.asname or alias.name: (node.module or "", alias.name) for node in froms for alias in node.names}
    name = ".".join(("gradegate", *parts)).removesuffix(".__init__")
    return Module(name, parts[0] if len(parts) > 1 else "top", path, text, tree, constants, imported)


def functions(module: Module) -> Iterator[tuple[int, ast.FunctionDef]]:
    """Each function with its number of lines."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef):
            yield (node.end_lineno or 0) - node.lineno + 1, node


def once_called(module: Module) -> Iterator[tuple[int, ast.FunctionDef, bool]]:
    """The private functions that their module mentions in one other place, and whether that place calls them."""
    for length, node in functions(module):
        if re.match(r"_(?!_)", node.name) and len(re.findall(rf"\b{node.name}\b", module.text)) == 2:
            called = re.search(rf"(?<!def )\b{node.name}\(", module.text)
            yield length, node, called is not None and not node.decorator_list


def imports(module: Module, known: Mapping[str, Module]) -> set[str]:
    """The modules of the package that it imports at its top."""
    names: set[str] = set()
    for node in module.tree.body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            names |= {name if name in known else node.module for name in inner}
    return names & known.keys() - {module.name}


def characters(node: ast.AST | None, module: Module, known: Mapping[str, Module], depth: int = 0) -> int:
    """How many characters of constants an expression puts together, names of modules followed."""
    if node is None or depth > DEEPEST:
        return 0
    if isinstance(node, ast.Constant):
        return len(node.value) if isinstance(node.value, str) else 0
    if isinstance(node, ast.Name):
        if node.id in module.constants:
            return characters(module.constants[node.id], module, known, depth + 1)
        home, name = module.imported.get(node.id, ("", ""))
        return characters(known[home].constants.get(name), known[home], known, depth + 1) if home in known else 0
    if isinstance(node, ast.JoinedStr | ast.BinOp | ast.Call | ast.FormattedValue | ast.List | ast.Tuple | ast.Set):
        method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        parts = [*node.args, node.func.value] if method else ast.iter_child_nodes(node)  # type: ignore[attr-defined]
        return sum(characters(part, module, known, depth + 1) for part in parts)
    return 0


def patterns(module: Module, known: Mapping[str, Module]) -> Iterator[Place]:
    """The characters of each regular expression, constants of other modules included."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not isinstance(node.func.value, ast.Name):
            continue
        if node.func.value.id in COMPILING and node.args and node.func.attr != "escape":
            yield characters(node.args[0], module, known), module.place(node)


def words(module: Module) -> Iterator[Place]:
    """Texts of a collection, keys of a table, words of a text that is split, alternatives of a pattern."""
    calls = (node for node in ast.walk(module.tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    split = {id(node.func.value) for node in calls if node.func.attr in ("split", "splitlines")}  # type: ignore[attr-defined]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            texts = node.keys if isinstance(node, ast.Dict) else node.elts
            yield sum(isinstance(text, ast.Constant) and isinstance(text.value, str) for text in texts), module.place(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield len(node.value.split()) if id(node) in split else node.value.count("|") + 1, module.place(node)


def figures(limits: Mapping[str, float]) -> Iterator[tuple[str, float, list[Place]]]:
    """Each limit's name, what the checkout has of it, and where."""
    known = modules()
    every = list(known.values())
    sizes = [(length, f"{module.place(node)} {node.name}") for module in every for length, node in functions(module)]
    lengths = sorted(length for length, _ in sizes)
    once = [(length, f"{module.place(node)} {node.name}", called) for module in every for length, node, called in once_called(module)]
    short = [(length, place) for length, place, called in once if called and length <= 4]
    wide = [
        (len(line), f"{module.place(module.tree)}{number}") for module in every for number, line in enumerate(module.text.split("\n"), 1)
    ]
    stems = Counter(module.path.stem for module in every if module.path.stem != "__init__" and module.room not in PLUG_INS)
    verbal = [(count, stem) for stem, count in stems.items() if PARTICIPLE.match(stem)]
    yield "source", sum(module.lines for module in every), []
    yield "tests", sum(path.read_text().count("\n") for path in (ROOT / "tests").rglob("*.py")), []
    yield "entries", sum(not path.name.startswith("__") for path in PACKAGE.iterdir()), []
    yield "function-median", int(statistics.median(lengths)), []
    yield "function-p90", lengths[len(lengths) * 9 // 10], []
    yield "one-caller", round(100 * len(once) / len(lengths), 1), []
    yield "one-caller-short", len(short), short
    yield "participles", len(verbal), verbal
    for name, places in {
        "function-max": sizes,
        "file-max": [(module.lines, module.place(module.tree)) for module in every],
        "fan-out": [(len(imports(module, known)), module.name) for module in every],
        "columns": wide,
        "pattern": [place for module in every for place in patterns(module, known)],
        "word-list": [place for module in every for place in words(module)],
        "module-name": [(count, stem) for stem, count in stems.items()],
    }.items():
        yield name, max(places)[0], [place for place in places if place[0] > limits[name]]
    for room in sorted({module.room for module in every if module.lines}):
        yield f"room {room}", sum(module.lines for module in every if module.room == room), []


def excess() -> Iterator[str]:
    """A line for each budget that is exceeded, and for each figure that has none; prints nothing."""
    block = re.search(r"```yaml\n(# weight\b.*?)```", (ROOT / "docs" / "design.md").read_text(), re.DOTALL)
    assert block, "docs/design.md has no block that begins with `# weight`"
    budgets = yaml.safe_load(block[1])
    together = sum(budgets["rooms"].values())
    if together > budgets["limits"]["source"]:
        yield f"the ceilings of the rooms come to {together:,}, more than the source may have"
    limits = budgets["limits"] | {f"room {room}": ceiling for room, ceiling in budgets["rooms"].items()}
    for name, value, places in figures(limits):
        if value > limits.get(name, -1):
            worst = ", ".join(f"{figure:g} {place}" for figure, place in sorted(places, reverse=True)[:5])
            yield f"{name} {value:,g} of {limits.get(name, 'no budget')}{f': {worst}' if worst else ''}"


if __name__ == "__main__":
    over = list(excess())
    print("\n".join(over) or "nothing is over its budget")
    sys.exit(bool(over))
