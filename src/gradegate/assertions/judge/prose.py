"""How a text ends, what a text of a verdict never holds, and a reply without what is around it. No word of it is looked at."""

import re
import unicodedata

# Braces, fences, strike-through in Markdown, in signs laid over letters and of a terminal, and tags in any brackets.
_NOT_PROSE = re.compile(
    r"[{}\x1b\u0335-\u0338◁]|```|~~|[<＜](?=[^\s\d=<>-])|\[/?THINK\]", re.IGNORECASE
)
_STOP = re.compile(r"FULL STOP|EXCLAMATION MARK|ELLIPSIS|DANDA|SIGN KHAN|SIGN SECTION|MARK SHAD")
_OPEN = re.compile(r"COLON|COMMA|QUESTION|INVERTED")  # semicolons, too
RULE = re.compile(r"^[ \t]*[-*_]{3,}[ \t]*$", re.MULTILINE)
_ITEM = re.compile(
    r"\s*(?:\*\*|__)?(?:[-+*•◦▪–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))(?:\*\*|__)?(?:\s+|$)"
)
_UNSEEN = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))
_CLOSING = frozenset(("Pe", "Pf", "Pi", *_UNSEEN))
_FILLERS = "\u034f\u115f\u1160\u2800\u3164\uffa0\ufffc" + "".join(map(chr, range(0xFE00, 0xFE10)))
_QUOTES = "\"'“”‘’«»„‚"
WRAPPING = f"*_`{_QUOTES}()[]"  # emphasis, quotes and brackets


def is_plain(text: str) -> bool:
    """Whether a text holds no brace, fence, tag or strike-through."""
    return _NOT_PROSE.search(text) is None


def ends(text: str) -> bool:
    """Whether the last line of a text ends in a full stop, an exclamation mark or an ellipsis, perhaps inside closing signs.

    A heading and a row of a table are no end, and neither is a list mark alone, nor a stop behind a colon or a question mark.
    """
    lines = text.rstrip().splitlines()
    line, is_item = unmarked(lines[-1] if lines else "")
    return (
        not line.startswith(("#", "|"))
        and not (is_item and not line)
        and _is_stop(last_sign(line))
        and _settles(line)
    )


def _settles(text: str) -> bool:
    """Whether the stops at the end of a text stand behind something, and not behind a colon, a comma or a question mark."""
    before = without_end(text)[-1:]
    return bool(before) and _OPEN.search(unicodedata.name(before, "")) is None


def without_end(text: str) -> str:
    """A text without the stops and closing signs at its end."""
    end = len(text)
    while end and (_is_closing(text[end - 1]) or _is_stop(text[end - 1])):
        end -= 1
    return text[:end]


def _is_stop(sign: str) -> bool:
    name = unicodedata.name(sign, "") if unicodedata.category(sign or " ").startswith("P") else ""
    return _STOP.search(name) is not None and _OPEN.search(name) is None


def goes_on(text: str) -> bool:
    """Whether a text ends in neither a word nor a stop, perhaps inside closing signs: in a colon, a question mark, an arrow."""
    text = seen(text)
    sign = last_sign(text)
    return not sign.isalnum() and not (_is_stop(sign) and _settles(text))


def is_paired(line: str) -> bool:
    """Whether emphasis, quotes and brackets of a line are in pairs on it, and it is no line of an indented block."""
    even = (line.count("*"), line.count("_"), line.count("`"), sum(map(line.count, _QUOTES)))
    brackets = line.count("(") == line.count(")") and line.count("[") == line.count("]")
    return (
        brackets and not any(number % 2 for number in even) and not line.startswith(("    ", "\t"))
    )


def seen(text: str) -> str:
    """A text as people see it: without signs that show nothing, or that are laid over others, and those of one look as one."""
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFKC", text)
    return "".join(
        sign
        for sign in folded
        if sign.isascii() or (sign not in _FILLERS and unicodedata.category(sign)[0] not in "CM")
    )


def has_words(text: str) -> bool:
    """Whether a text shows a letter or a digit."""
    return any(map(str.isalnum, seen(text)))


def last_sign(text: str) -> str:
    """The last sign of a text before blanks, closing quotes, brackets and emphasis; empty for none."""
    end = len(text)
    while end and _is_closing(text[end - 1]):
        end -= 1
    return text[end - 1 : end]


def _is_closing(sign: str) -> bool:
    return sign in WRAPPING or sign in _FILLERS or unicodedata.category(sign) in _CLOSING


def unmarked(line: str) -> tuple[str, bool]:
    """A line without the bullet or number that it begins with, and whether it has one."""
    item = _ITEM.match(line)
    return (line[item.end() :].strip(), True) if item else (line.strip(), False)


def unwrapped(text: str) -> str:
    """A text without emphasis, quotes and brackets around it, and without one full stop at its end."""
    text = text.strip().strip(WRAPPING)
    if text and "FULL STOP" in unicodedata.name(text[-1], ""):
        text = text[:-1].rstrip(WRAPPING)
    return text


def stripped(text: str) -> str:
    """A text without the blank and invisible signs at its ends."""
    start = beginning(text, 0)
    end = len(text)
    while start < end and _is_unseen(text[end - 1]):
        end -= 1
    return text[start:end]


def beginning(text: str, start: int) -> int:
    """Where a text begins, from a place on, after blank and invisible signs."""
    while start < len(text) and _is_unseen(text[start]):
        start += 1
    return start


def _is_unseen(sign: str) -> bool:
    return sign in _FILLERS or unicodedata.category(sign) in _UNSEEN


# --- what is around a reply -------------------------------------------------------------------------------------

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|chain_of_thought|antThinking|seed:think"
_OPENING = re.compile(
    rf"<({_NAMES})>|\[(THINK)\]|◁(think)▷|<\|(begin_of_thought)\|>", re.IGNORECASE
)
_END_OF_REASONING = re.compile(
    rf"</(?:{_NAMES})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>", re.IGNORECASE
)
_OWN = re.compile(
    r"[<\[◁][/|]?(?:(?:ant|seed:)?think|(?:(?:begin|end)_of_)?thought)", re.IGNORECASE
)  # that models write unasked
_CLOSED_BY = ("</{}>", "[/{}]", "◁/{}▷", "<|end_of_thought|>")  # by the group of the opening tag
_CHANNEL = "<|channel|>"
_FINAL = re.compile(r"final(?: ?<\|constrain\|>json)?<\|message\|>", re.IGNORECASE)
_START = "<|start|>assistant"
# Another channel, whole
_ENDED = re.compile(r"(?:(?!<\|start\|>).)*<\|end\|>(?:<\|start\|>assistant)?", re.DOTALL)
_HARMONY_END = ("<|return|>", "<|end|>")
_END_TOKENS = ("<|eot_id|>", "<|im_end|>", "<|end|>", "</s>")  # of chat templates
_FENCE = re.compile(r"(`{3,}|~{3,})(?:json|text)?\s*(.*?)\s*\1", re.DOTALL | re.IGNORECASE)
_ELEMENT = re.compile(
    r"<(answer|verdict|result|output|final|json)>(.*)</\1>", re.DOTALL | re.IGNORECASE
)


def peeled(reply: str) -> str:
    """A reply without what is around the whole of it, each taken away once and in this order; its lines end in LF."""
    whole = stripped(reply.replace("\r\n", "\n").replace("\r", "\n"))
    token = next((token for token in _END_TOKENS if whole.endswith(token)), "")
    text = _answered(_reasoned(stripped(whole.removesuffix(token))))
    if text[:1] in "`~":
        return unfenced(text)
    element = _ELEMENT.fullmatch(text) if text[:1] == "<" else None
    return stripped(element[2]) if element else text


def reasons(text: str) -> bool:
    """Whether a text holds a sign by which reasoning is taken away, or a channel."""
    return _CHANNEL in text or _END_OF_REASONING.search(text) is not None


def is_reasoning(text: str) -> bool:
    """Whether a text is a model's own reasoning with nothing after it, finished or not."""
    if not _OWN.search(text):
        return False
    rest = _reasoned(stripped(text))
    return not rest or (_OPENING.match(rest) is not None and not _END_OF_REASONING.search(rest))


def unfenced(text: str) -> str:
    """The content of a text that is one fence, without a label or with `json` or `text`; any other text as it is."""
    fence = _FENCE.fullmatch(text)
    return stripped(fence[2]) if fence else text


def _reasoned(text: str) -> str:
    """A text after its finished reasoning."""
    start = 0
    while opening := _OPENING.match(text, start):
        group = next(number for number, name in enumerate(opening.groups()) if name)
        closing = re.compile(re.escape(_CLOSED_BY[group].format(opening[group + 1])), re.IGNORECASE)
        end = closing.search(text, opening.end())
        if end is None:
            break
        start = beginning(text, end.end())
    if start or text[:1] == "{":
        return text[start:]
    # The opening tag may have stood in the prompt's template: then there is one closing tag, and no other.
    closings = _END_OF_REASONING.findall(text)
    if len(closings) != 1 or _OPENING.search(text):
        return text
    return stripped(text.partition(closings[0])[2])


def _answered(text: str) -> str:
    """The channel `final` of a text in channels, where it is the last and the only one of that name."""
    first, *others = text.split(_CHANNEL)
    last = others.pop() if others else ""
    ended = all(_ENDED.fullmatch(other) and not other.startswith("final") for other in others)
    final = _FINAL.match(last)
    if first not in ("", _START) or final is None or not ended:
        return text
    answer = last[final.end() :]
    end = next((token for token in _HARMONY_END if answer.endswith(token)), "")
    return stripped(answer.removesuffix(end))
