"""is-xml, contains-xml and contains-html: the answer is, or holds, markup.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#is-xml, #contains-xml and
#contains-html, ``src/assertions/xml.ts`` and ``html.ts``; XML is read as https://www.w3.org/TR/xml has it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any
from xml.parsers import expat

from pydantic import BeforeValidator

from gradegate.assertions.grading.evaluator import (
    NoVerdict,
    TextEvaluator,
    Verdict,
    assertion,
    options,
    pass_or_fail,
)
from gradegate.core.field_types import FilledText, split_list
from gradegate.files.documents import WrongError, fault
from gradegate.templating import regex

MOST = 8 * 1024 * 1024  # characters that are read while XML is looked for
DEEPEST = 10_000  # elements within one another
_START = re.compile(r"<[A-Za-z_:]")


def _elements(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"requiredElements"}:
        value = value["requiredElements"]
    return split_list(value)


_Elements = Annotated[list[FilledText], BeforeValidator(_elements)]


class _Whole(Exception):
    """The element that a text starts with has ended."""


class _Reader:
    """Reads XML without anything outside it; ``missing`` are required paths that were not met."""

    def __init__(self, required: Iterable[str]) -> None:
        self.missing = {tuple(path.split(".")) for path in required}
        self._stack: list[str] = []
        self._seen: list[dict[str, int]] = [{}]  # how often each name was met, at every level

    def read(self, text: str, first: bool = False) -> int:
        """Where the XML ends; ``first``: with its first element. Raises ExpatError, ValueError and NoVerdict."""
        parser = expat.ParserCreate(namespace_separator=" " if not first else None)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._doctype
        self._first = first
        try:
            parser.Parse(text.encode("utf-8", "replace"), True)
        except _Whole:
            return parser.CurrentByteIndex
        return len(text)

    def _start(self, name: str, attributes: Any) -> None:
        name = name.rpartition(" ")[2]
        number = self._seen[-1].get(name, 0)
        self._seen[-1][name] = number + 1
        if len(self._stack) >= DEEPEST:
            raise NoVerdict(f"the XML of the answer is nested deeper than {DEEPEST:,} levels")
        self._stack.append(name)
        self._seen.append({})
        self.missing = {path for path in self.missing if not self._is_at(path, number)}

    def _is_at(self, path: Sequence[str], number: int) -> bool:
        """A path names the elements from the root on; a last number says which of several of a name is meant."""
        if path[-1].isdecimal() and len(path) == len(self._stack) + 1:
            return [*path[:-1]] == self._stack and int(path[-1][:9]) == number
        return len(path) == len(self._stack) and [*path] == self._stack

    def _end(self, name: str) -> None:
        self._stack.pop()
        self._seen.pop()
        if self._first and not self._stack:
            raise _Whole

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        if internal:
            raise WrongError(
                "it declares its own entities or elements, which gradegate does not read"
            )


@options
class _OfXml(TextEvaluator):
    value: _Elements | None = None
    """Names of elements that must be there: a list, or a text with commas."""


@assertion("is-xml")
class IsXml(_OfXml):
    """The whole answer is well-formed XML, with the elements that ``value`` names."""

    def check(self, output: str) -> Verdict:
        reader = _Reader(self.value or ())
        try:
            reader.read(output)
        except (expat.ExpatError, ValueError) as e:
            return pass_or_fail(False, f"the answer is not XML: {fault(e, output)}")
        return _found(reader.missing)


@assertion("contains-xml")
class ContainsXml(_OfXml):
    """The answer holds well-formed XML, with the elements that ``value`` names."""

    def check(self, output: str) -> Verdict:
        text = output
        position = 0
        spent = 0
        missing = {*(self.value or ())}
        has_xml = False
        while match := _START.search(text, position):
            rest = text[match.start() :]
            spent += len(rest)
            if spent > MOST:
                raise NoVerdict("the answer opens too many elements to look for XML in it")
            reader = _Reader(missing)
            try:
                end = reader.read(rest, first=True)
            except (expat.ExpatError, ValueError):
                position = match.end()
                continue
            has_xml = True
            missing = {".".join(path) for path in reader.missing}
            position = match.start() + max(
                len(rest.encode("utf-8", "replace")[:end].decode("utf-8", "ignore")), 2
            )
            if not missing:
                break
        if has_xml:
            return _found([path.split(".") for path in missing])
        return pass_or_fail(False, "the answer contains no XML")


def _found(missing: Iterable[Sequence[str]]) -> Verdict:
    names = ", ".join(sorted(".".join(path) for path in missing))
    return pass_or_fail(
        not names, f"missing elements: {names}" if names else "the XML is well-formed"
    )


_TAGS = "html head body div span p a img h[1-6] ul ol li table tr td th form input button script style link meta br hr".split()
_SIGNS = (  # patterns of HTML, and how much each counts
    (r"<[a-zA-Z][a-zA-Z0-9-]*(?:\s[^>]*)?/>", 1),
    (r"&(?:[a-zA-Z]+|#[0-9]+|#x[0-9a-fA-F]+);", 1),
    (r"(?i)<!DOCTYPE\s+html", 2),
    (r"<!--[^-]*(?:-[^-]+)*-->", 1),
    (r"""\s[a-zA-Z-]+=\s*["'][^"']*["']""", 1),
    (rf"(?i)<(?:{'|'.join(_TAGS)})\b", 2),
)
_OPENING = r"<[a-zA-Z][a-zA-Z0-9-]*(?:\s[^>]*)?>"
_CLOSING = r"</[a-zA-Z][a-zA-Z0-9-]*\s*>"


@assertion("contains-html")
class ContainsHtml(TextEvaluator):
    """The answer holds HTML."""

    def check(self, output: str) -> Verdict:
        """Score 1 or 0: two signs of HTML are enough, such as a known tag, or an opening and a closing one."""
        try:
            signs = sum(weight for pattern, weight in _SIGNS if regex.has_match(pattern, output))
            signs += regex.has_match(_OPENING, output) + regex.has_match(_CLOSING, output)
        except ValueError as e:
            raise NoVerdict(f"HTML cannot be looked for in the answer: {e}") from e
        return pass_or_fail(signs >= 2, f"the answer has {signs} signs of HTML, and two are enough")
