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
from gradegate.files.json_text import RefusedTextError, describe_syntax_error
from gradegate.templating import regex

MOST = 8 * 1024 * 1024  # characters that are read while XML is looked for
DEEPEST = 10_000  # elements within one another
_ELEMENT_START = re.compile(r"<[A-Za-z_:]")


def _parse_elements(value: Any) -> Any:
    """The names of elements, also from ``{requiredElements: NAMES}``."""
    if isinstance(value, dict) and set(value) == {"requiredElements"}:
        value = value["requiredElements"]
    return split_list(value)


_Elements = Annotated[list[FilledText], BeforeValidator(_parse_elements)]


class _FirstElementEnd(Exception):
    """Raised to stop the parser where the first element ends."""


class _Reader:
    """Reads XML, and looks for required elements. ``missing`` are the paths of those that are not there, such as ``("a", "b")``.

    External entities are not read.
    """

    def __init__(self, required_paths: Iterable[str]) -> None:
        self.missing = {tuple(path.split(".")) for path in required_paths}
        self._open_elements: list[str] = []  # from the root on
        self._counts: list[dict[str, int]] = [{}]  # elements so far by name, at every level
        self._stops_at_end = False

    def read(self, text: str, first_element: bool = False) -> int:
        """Read a text and return where the XML ends: after the text, or after its first element, in bytes.

        Raises ExpatError, ValueError and NoVerdict.
        """
        parser = expat.ParserCreate(namespace_separator=None if first_element else " ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._doctype
        self._stops_at_end = first_element
        content = text.encode("utf-8", "replace")
        try:
            parser.Parse(content, True)
        except _FirstElementEnd:
            return parser.CurrentByteIndex
        return len(content)

    def _start(self, name: str, attributes: Any) -> None:
        """Enter an element. The paths that lead to it are no longer missing."""
        if len(self._open_elements) >= DEEPEST:
            raise NoVerdict(f"the XML of the answer is nested deeper than {DEEPEST:,} levels")
        name = name.rpartition(" ")[2]  # without the namespace
        siblings = self._counts[-1]
        number = siblings.get(name, 0)
        siblings[name] = number + 1

        self._open_elements.append(name)
        self._counts.append({})
        self.missing = {path for path in self.missing if not self._is_at(path, number)}

    def _is_at(self, path: Sequence[str], number: int) -> bool:
        """Whether a path leads to the element that just opened, which is the ``number``-th of its name, from 0.

        A path has the names from the root on. A number at its end selects one of several elements with the same name.
        """
        *parents, last = path
        if last.isdecimal() and parents == self._open_elements:
            return int(last[:9]) == number
        return list(path) == self._open_elements

    def _end(self, name: str) -> None:
        self._open_elements.pop()
        self._counts.pop()
        if self._stops_at_end and not self._open_elements:
            raise _FirstElementEnd

    def _doctype(
        self,
        name: str,
        system: str | None,
        public: str | None,
        internal: bool,
    ) -> None:
        if internal:
            raise RefusedTextError(
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
            return pass_or_fail(False, f"the answer is not XML: {describe_syntax_error(e, output)}")
        return _verdict_on_elements(reader.missing)


@assertion("contains-xml")
class ContainsXml(_OfXml):
    """The answer holds well-formed XML, with the elements that ``value`` names."""

    def check(self, output: str) -> Verdict:
        missing = set(self.value or ())
        has_xml = False
        characters_read = 0
        start = _ELEMENT_START.search(output)
        while start:
            rest = output[start.start() :]
            characters_read += len(rest)
            if characters_read > MOST:
                raise NoVerdict("the answer opens too many elements to look for XML in it")

            reader = _Reader(missing)
            try:
                end_byte = reader.read(rest, first_element=True)
            except (expat.ExpatError, ValueError):
                start = _ELEMENT_START.search(output, start.end())
                continue

            # The elements that are still missing may be in another piece of XML.
            has_xml = True
            missing = {".".join(path) for path in reader.missing}
            if not missing:
                break
            xml = rest.encode("utf-8", "replace")[:end_byte].decode("utf-8", "ignore")
            start = _ELEMENT_START.search(output, start.start() + max(len(xml), 2))

        if not has_xml:
            return pass_or_fail(False, "the answer contains no XML")
        return _verdict_on_elements(path.split(".") for path in missing)


def _verdict_on_elements(missing: Iterable[Sequence[str]]) -> Verdict:
    """The verdict on XML that lacks these elements."""
    names = ", ".join(sorted(".".join(path) for path in missing))
    if names:
        return pass_or_fail(False, f"missing elements: {names}")
    return pass_or_fail(True, "the XML is well-formed")


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
