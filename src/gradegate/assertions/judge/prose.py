"""Reads the signs of a text, never its words: how it ends, what is wrapped around it, and what is not prose."""

import re
import unicodedata

# Braces, fences, tags in any brackets, and strike-through: in Markdown, in signs laid over letters, and of a terminal.
_NOT_PROSE = re.compile(
    r"[{}\x1b\u0335-\u0338◁]|```|~~|[<＜](?=[^\s\d=<>-])|\[/?THINK\]", re.IGNORECASE
)
# Names of signs in Unicode.
_STOP = re.compile(r"FULL STOP|EXCLAMATION MARK|ELLIPSIS|DANDA|SIGN KHAN|SIGN SECTION|MARK SHAD")
_OPEN_END = re.compile(r"COLON|COMMA|QUESTION|INVERTED")  # semicolons, too
RULE = re.compile(r"^[ \t]*[-*_]{3,}[ \t]*$", re.MULTILINE)
_LIST_MARK = re.compile(
    r"\s*(?:\*\*|__)?(?:[-+*•◦▪–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))(?:\*\*|__)?(?:\s+|$)"
)
_INVISIBLE = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))  # categories of signs in Unicode
_CLOSING = frozenset(("Pe", "Pf", "Pi", *_INVISIBLE))
_FILLERS = "\u034f\u115f\u1160\u2800\u3164\uffa0\ufffc" + "".join(map(chr, range(0xFE00, 0xFE10)))
_QUOTES = "\"'“”‘’«»„‚"
WRAPPING = f"*_`{_QUOTES}()[]"  # emphasis, quotes and brackets


def is_plain(text: str) -> bool:
    """Whether a text contains no brace, fence, tag or strike-through."""
    return _NOT_PROSE.search(text) is None


def has_end(text: str) -> bool:
    """Whether the last line of a text ends in a full stop, an exclamation mark or an ellipsis, perhaps inside closing signs.

    A heading, a row of a table and a lone list mark are no end. A stop after a colon or a question mark is none either.
    """
    lines = text.rstrip().splitlines()
    line, has_mark = split_list_mark(lines[-1] if lines else "")
    if line.startswith(("#", "|")) or (has_mark and not line):
        return False
    return _is_stop(last_sign(line)) and _ends_sentence(line)


def is_open_ended(text: str) -> bool:
    """Whether a text ends in neither a word nor a stop, but in a colon, a question mark or an arrow."""
    text = visible_text(text)
    sign = last_sign(text)
    return not sign.isalnum() and not (_is_stop(sign) and _ends_sentence(text))


def has_paired_signs(line: str) -> bool:
    """Whether emphasis, quotes and brackets of a line are in pairs. False for a line of an indented block."""
    if line.startswith(("    ", "\t")):
        return False
    counts = (line.count("*"), line.count("_"), line.count("`"), sum(map(line.count, _QUOTES)))
    if any(count % 2 for count in counts):
        return False
    return line.count("(") == line.count(")") and line.count("[") == line.count("]")


def visible_text(text: str) -> str:
    """A text as people see it: without invisible and overlaid signs; signs that look the same are the same."""
    if text.isascii():
        return text
    return "".join(
        sign
        for sign in unicodedata.normalize("NFKC", text)
        if sign.isascii() or (sign not in _FILLERS and unicodedata.category(sign)[0] not in "CM")
    )


def has_words(text: str) -> bool:
    """Whether a text shows a letter or a digit."""
    return any(map(str.isalnum, visible_text(text)))


def last_sign(text: str) -> str:
    """The last sign of a text before blanks, closing quotes, brackets and emphasis. Empty if there is no sign."""
    end = len(text)
    while end and _is_closing(text[end - 1]):
        end -= 1
    return text[end - 1 : end]


def without_end(text: str) -> str:
    """A text without the stops and closing signs at its end."""
    end = len(text)
    while end and (_is_closing(text[end - 1]) or _is_stop(text[end - 1])):
        end -= 1
    return text[:end]


def split_list_mark(line: str) -> tuple[str, bool]:
    """A line without the bullet or number that it begins with, and whether there is one."""
    mark = _LIST_MARK.match(line)
    return line[mark.end() if mark else 0 :].strip(), mark is not None


def unwrap(text: str) -> str:
    """A text without emphasis, quotes and brackets around it, and without one full stop at its end."""
    text = text.strip().strip(WRAPPING)
    if text and "FULL STOP" in unicodedata.name(text[-1], ""):
        text = text[:-1].rstrip(WRAPPING)
    return text


def strip_invisible(text: str) -> str:
    """A text without the blank and invisible signs at its ends."""
    start = skip_invisible(text, 0)
    end = len(text)
    while start < end and _is_invisible(text[end - 1]):
        end -= 1
    return text[start:end]


def skip_invisible(text: str, start: int) -> int:
    """The position of the first visible sign, from ``start`` on."""
    while start < len(text) and _is_invisible(text[start]):
        start += 1
    return start


def _ends_sentence(text: str) -> bool:
    """Whether the stops at the end of a text come after something, but not after a colon, a comma or a question mark."""
    before = without_end(text)[-1:]
    return bool(before) and _OPEN_END.search(unicodedata.name(before, "")) is None


def _is_stop(sign: str) -> bool:
    if not sign or not unicodedata.category(sign).startswith("P"):
        return False
    name = unicodedata.name(sign, "")
    return _STOP.search(name) is not None and _OPEN_END.search(name) is None


def _is_closing(sign: str) -> bool:
    return sign in WRAPPING or sign in _FILLERS or unicodedata.category(sign) in _CLOSING


def _is_invisible(sign: str) -> bool:
    return sign in _FILLERS or unicodedata.category(sign) in _INVISIBLE


# --- what is around a reply -------------------------------------------------------------------------------------

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|chain_of_thought|antThinking|seed:think"
_REASONING_START = re.compile(
    rf"<({_NAMES})>|\[(THINK)\]|◁(think)▷|<\|(begin_of_thought)\|>", re.IGNORECASE
)
_REASONING_END = re.compile(
    rf"</(?:{_NAMES})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>", re.IGNORECASE
)
_CLOSING_TAGS = ("</{}>", "[/{}]", "◁/{}▷", "<|end_of_thought|>")  # by the group of the opening tag
_UNASKED_REASONING = re.compile(
    r"[<\[◁][/|]?(?:(?:ant|seed:)?think|(?:(?:begin|end)_of_)?thought)", re.IGNORECASE
)
_CHANNEL = "<|channel|>"
_FINAL_CHANNEL = re.compile(r"final(?: ?<\|constrain\|>json)?<\|message\|>", re.IGNORECASE)
_START = "<|start|>assistant"
_WHOLE_CHANNEL = re.compile(r"(?:(?!<\|start\|>).)*<\|end\|>(?:<\|start\|>assistant)?", re.DOTALL)
_END_OF_FINAL = ("<|return|>", "<|end|>")
_END_TOKENS = ("<|eot_id|>", "<|im_end|>", "<|end|>", "</s>")  # of chat templates
# A fence with its content. What stands on the opening line is content only if it is an object, or if there is no other line.
_FENCE = re.compile(
    r"(`{3,}|~{3,})(?:(?:json|text)?[ \t]*(?=[\n{])|(?=[^\n]*\Z))\s*(.*?)\s*\1",
    re.DOTALL | re.IGNORECASE,
)
_ELEMENT = re.compile(
    r"<(answer|verdict|result|output|final|json)>(.*)</\1>", re.DOTALL | re.IGNORECASE
)


def peel_reply(reply: str) -> str:
    """A reply without what is around the whole of it; its lines end in LF.

    End token, reasoning, channels, and a fence or an element are taken away in this order, each once.
    """
    text = strip_invisible(reply.replace("\r\n", "\n").replace("\r", "\n"))
    text = strip_invisible(_without_end_token(text, _END_TOKENS))
    text = _final_channel(_without_reasoning(text))
    if text[:1] in "`~":
        return unfence(text)
    element = _ELEMENT.fullmatch(text)
    return strip_invisible(element[2]) if element else text


def has_reasoning_sign(text: str) -> bool:
    """Whether a text contains the end of reasoning, or a channel: signs by which ``peel_reply`` takes something away."""
    return _CHANNEL in text or _REASONING_END.search(text) is not None


def is_reasoning(text: str) -> bool:
    """Whether a text is reasoning that a model wrote unasked, finished or not, with nothing after it."""
    if not _UNASKED_REASONING.search(text):
        return False
    rest = _without_reasoning(strip_invisible(text))
    return not rest or (
        _REASONING_START.match(rest) is not None and not _REASONING_END.search(rest)
    )


def unfence(text: str) -> str:
    """The content of a text that is one fence, without a label or with `json` or `text`; any other text as it is."""
    fence = _FENCE.fullmatch(text)
    return strip_invisible(fence[2]) if fence else text


def _without_end_token(text: str, tokens: tuple[str, ...]) -> str:
    """A text without the first of these tokens that it ends with."""
    for token in tokens:
        if text.endswith(token):
            return text.removesuffix(token)
    return text


def _without_reasoning(text: str) -> str:
    """A text after its finished reasoning."""
    start = 0
    while opening := _REASONING_START.match(text, start):
        group = opening.lastindex or 1
        closing_tag = _CLOSING_TAGS[group - 1].format(opening[group])
        closing = re.compile(re.escape(closing_tag), re.IGNORECASE).search(text, opening.end())
        if closing is None:
            break
        start = skip_invisible(text, closing.end())
    if start or text[:1] == "{":
        return text[start:]

    # The prompt's template may contain the opening tag: then there is one closing tag, and no other tag.
    closing_tags = _REASONING_END.findall(text)
    if len(closing_tags) != 1 or _REASONING_START.search(text):
        return text
    return strip_invisible(text.partition(closing_tags[0])[2])


def _final_channel(text: str) -> str:
    """The channel `final` of a text in channels, if it is the last and the only one of that name."""
    start, *channels = text.split(_CHANNEL)
    if start not in ("", _START) or not channels:
        return text

    *earlier, last = channels
    for channel in earlier:
        if channel.startswith("final") or not _WHOLE_CHANNEL.fullmatch(channel):
            return text
    final = _FINAL_CHANNEL.match(last)
    if final is None:
        return text
    return strip_invisible(_without_end_token(last[final.end() :], _END_OF_FINAL))
