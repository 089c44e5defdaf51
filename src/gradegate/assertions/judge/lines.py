"""Replies in which every line counts: marked sentences, quotations, list items, or a single line.

Each function parses one kind of reply, or raises Unreadable if a line of it has another form.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence

from gradegate.assertions.judge import prose
from gradegate.errors import Unreadable
from gradegate.security.redaction import excerpt


def parse_marked_lines(
    text: str, marks: Sequence[str], is_quoted: Callable[[str], bool]
) -> list[tuple[str, str]]:
    """Parse lines that end in a mark, such as ``It rains. [attributed]``, into pairs of text and mark.

    The text of a list item or quotation may lack a stop at the end if ``is_quoted`` accepts the text. Raises Unreadable.
    """
    words = "|".join(map(re.escape, marks))
    # `[attributed]`, `**[Not Attributed]**.`
    mark_at_end = re.compile(rf"[*_]{{0,3}}\[({words})\][*_]{{0,3}}\.?", re.IGNORECASE)
    # `[attributed`, `[is not attributed`
    any_mark = re.compile(rf"\[[^\[\]]*(?:{words})", re.IGNORECASE)

    pairs = []
    for line in _filled_lines(text):
        bracket = max(0, line.rfind("["))
        before_mark = line[:bracket].rstrip("*_")
        mark = mark_at_end.fullmatch(line, len(before_mark))
        sentence, is_item = prose.split_list_mark(before_mark)
        if mark is None or any_mark.search(sentence) or not prose.is_plain(sentence):
            raise Unreadable(
                f"the line {excerpt(line, 80)!r} does not end in one mark, [{'] or ['.join(marks)}]"
            )

        # The text is a sentence, or a list item or quotation with the words of a sentence.
        bare_sentence = prose.unwrap(sentence)
        is_whole = prose.has_end(sentence)
        if not is_whole and (is_item or sentence[-1:] in prose.WRAPPING):
            is_whole = is_quoted(bare_sentence)
        if not is_whole or not prose.has_words(sentence) or prose.is_open_ended(sentence):
            raise Unreadable(f"the text before the mark does not end: {excerpt(line, 80)!r}")
        pairs.append((bare_sentence, mark[1].lower()))
    return pairs


def parse_quotations(text: str) -> list[str]:
    """Parse every line as a quotation, without the marks of quotations and lists.

    The caller compares the quotations with the context. Raises Unreadable.
    """
    quotations = []
    for line in _filled_lines(text):
        quotation, _ = prose.split_list_mark(line.lstrip("> "))
        sign = prose.last_sign(quotation)
        if sign and "QUESTION" in unicodedata.name(sign, ""):
            raise Unreadable("a line of it is a question")
        quotations.append(quotation)
    return quotations


def parse_items(text: str) -> list[str]:
    """Parse every line as a text of a list. Each line is a list item, or ends like a sentence. Raises Unreadable."""
    lines = _filled_lines(text)
    items = []
    is_list = prose.is_plain(text)
    for line in lines:
        item, has_list_mark = prose.split_list_mark(line)
        if not item or not (has_list_mark or prose.has_end(line)):
            is_list = False
        items.append(item.strip(prose.WRAPPING))
    if not is_list:
        raise Unreadable("it is neither an object nor a list with one text to a line")
    return items


def parse_single_line(text: str) -> str:
    """Parse a reply of one line, without a list mark and signs around the line. Raises Unreadable."""
    lines = _filled_lines(text)
    bare_line, _ = prose.split_list_mark(lines[0])
    line = bare_line.strip(prose.WRAPPING)
    if len(lines) > 1 or not prose.is_plain(text) or not prose.has_words(line):
        raise Unreadable("it is neither an object nor one line")
    return line


def _filled_lines(text: str) -> list[str]:
    """The lines that are not blank, without blanks around them. Raises Unreadable if there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise Unreadable("it is empty")
    return lines
