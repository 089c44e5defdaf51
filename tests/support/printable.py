"""Which texts gradegate can print: those that its own text templates make, one inside the other.

A template is a text in the source, or the text of an HTML template, with a gap for each value. Numbers, names and what stands in
quotes are values. A message is printable if its words are those of templates, without a rest.
"""

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

SOURCE = Path(__file__).resolve().parents[2] / "src" / "gradegate"
GAP = "\0"  # a value: in a template what fills it in, in a message what is no word
TOKEN = re.compile(r"""`[^`]*`|"[^"]*"|(?<!\w)'[^']*'(?!\w)|<[^<>]*>|->|\.\.\.|[\0:;,()]|[^\s`"<>:;,()\0]+(?:[:,]\w[^\s`"<>:;,()\0]*)*""")
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
ENDING = re.compile(rf"(?<=[a-z]){GAP}(?![\w{GAP}])")  # of a word: `fail{'s' if count == 1 else ''}`
SIGNS = frozenset({":", ";", ",", "(", ")", "->"})
UNITS = frozenset({"usd", "s"})
LONGEST = 300  # characters of a line that is printed: what is longer is data


class Template(NamedTuple):
    """Tokens, the place of the first word among them, and whether other templates may fill its gaps."""

    tokens: tuple[str, ...]
    first: int
    nests: bool


def tokens(text: str) -> tuple[str, ...]:
    """Words in small letters and without the plural's s, signs, and gaps."""
    found: list[str] = []
    for token in TOKEN.findall(text):
        word = token.strip(".!?%")
        if token in SIGNS:
            found.append(token)
        elif WORD.fullmatch(word) and (len(word) == 1 or word == "USD" or not word.isupper()):  # else a placeholder
            word = word.lower()
            found.append(word[:-1] if word.endswith("s") and len(word) > 3 else word)
        else:
            found.append(GAP)
    # A unit belongs to its number.
    return tuple(token for place, token in enumerate(found) if token not in UNITS or not place or found[place - 1] != GAP)


def texts() -> Iterator[str]:
    """Every text of the source, with a gap for each value; docstrings are none."""
    for path in SOURCE.rglob("*.py"):
        yield from _strings(ast.parse(path.read_text()))
    for path in SOURCE.rglob("*.yaml"):
        if "prompts" not in path.parts:  # what models are told
            yield from _scalars(yaml.safe_load(path.read_text()))
    for path in SOURCE.rglob("*.html"):
        shown = re.sub(r"\{\{.*?\}\}", GAP, re.sub(r"\{[%#].*?[%#]\}", "\n", path.read_text()))
        yield from re.split(r"<[^>]*>|\n", shown)


def _strings(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.sub(r"\{\w*\}", GAP, node.value)  # some are filled in by `format`
    for child in ast.iter_child_nodes(node):
        is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        is_piece = isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)
        if not is_docstring and not is_piece:
            yield from _strings(child)


def _scalars(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _scalars(item)
    elif isinstance(value, str):
        yield re.sub(r"\{\w*\}", GAP, value)


@functools.cache
def templates() -> dict[str, list[Template]]:
    """All templates with a word, by their first one."""
    found: dict[str, set[Template]] = defaultdict(set)
    for text in texts():
        for line in {*text.splitlines(), *ENDING.sub("", text).splitlines()}:
            own = _trimmed(tokens(line)) if len(line) <= LONGEST else ()
            words = [token for token in own if token != GAP and token not in SIGNS]
            if words:
                nests = (len(words) > 1 or ":" in own) and any(len(word) > 3 for word in words)
                found[words[0]].add(Template(own, own.index(words[0]), nests))
    return {word: sorted(its) for word, its in found.items()}


def _trimmed(own: tuple[str, ...]) -> tuple[str, ...]:
    places = [place for place, token in enumerate(own) if token not in SIGNS]
    return own[places[0] : places[-1] + 1] if places else ()


def is_printable(message: str) -> bool:
    """Whether templates make the message, or its beginning up to a sign. `...` stands for any value.

    What begins with a capital letter behind a colon is somebody else's.
    """
    return _Reader(_trimmed(tokens(re.sub(r"(?<=: )(\([A-E]\) )?[A-Z][^`]*$", GAP, message)))).whole()


class _Reader:
    """Reads one message as templates in one another."""

    def __init__(self, message: tuple[str, ...]) -> None:
        self.message = message
        self.reads = functools.cache(self._reads)

    def whole(self) -> bool:
        return self.reads(0, len(self.message))

    def _reads(self, start: int, end: int) -> bool:
        """Whether the tokens from one place to another are values, pieces with signs between them, or a template."""
        begins = (start, start + 1) if self.message[start:end][:1] == (GAP,) else (start,)  # a number stands before a noun
        if all(token == GAP or token in SIGNS for token in self.message[start:end]):
            return True
        for place in range(start, end):
            if self.message[place] in (*SIGNS, "and") and self.reads(start, place) and self.reads(place + 1, end):
                return True
        if end - start == 1 and self.message[end : end + 1] == (":",):
            return True  # the name of a case or of a rule
        for begin in begins:
            for place in range(begin, end):
                for template in templates().get(self.message[place], ()):
                    if template.first <= place - begin and self._fits(template, 0, begin, end):
                        return True
        return False

    def _fits(self, template: Template, number: int, start: int, end: int) -> bool:
        """Whether the rest of a template makes the rest of a part: a gap is a value, or other templates."""
        own = template.tokens
        cut = number > template.first and number < len(own) and own[number] in SIGNS and template.nests
        if number == len(own) or (start == end and cut):
            return start == end
        if own[number] != GAP:
            same = start < end and own[number] == self.message[start]
            return same and self._fits(template, number + 1, start + 1, end)
        for place in range(start, end + 1):
            if (
                (template.nests or self._is_value(start, place))
                and self._fits(template, number + 1, place, end)
                and self.reads(start, place)
            ):
                return True
        return False

    def _is_value(self, start: int, end: int) -> bool:
        """Whether it is a value, or so many of something: a number before a text without gaps."""
        values = [token for token in self.message[start:end] if token == GAP]
        counted = tuple(token for token in self.message[start:end] if token != GAP)
        return not counted or (bool(values) and any(counted == it.tokens for it in templates().get(counted[0], ())))
