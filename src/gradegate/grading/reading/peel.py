"""Takes away what is around a reply: invisible signs, finished reasoning, harmony channels, one fence or one element."""

import re

from gradegate.grading.reading.prose import beginning, stripped

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|chain_of_thought|antThinking|seed:think"
_OPENING = re.compile(rf"<({_NAMES})>|\[(THINK)\]|◁(think)▷|<\|(begin_of_thought)\|>", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{_NAMES})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>", re.IGNORECASE)
_OWN = re.compile(r"[<\[◁][/|]?(?:(?:ant|seed:)?think|(?:(?:begin|end)_of_)?thought)", re.IGNORECASE)  # that models write unasked
_CLOSED_BY = ("</{}>", "[/{}]", "◁/{}▷", "<|end_of_thought|>")  # by the group of the opening tag
_CHANNEL = "<|channel|>"
_FINAL = re.compile(r"final(?: ?<\|constrain\|>json)?<\|message\|>", re.IGNORECASE)
_START = "<|start|>assistant"
_ENDED = re.compile(r"(?:(?!<\|start\|>).)*<\|end\|>(?:<\|start\|>assistant)?", re.DOTALL)  # another channel, whole
_HARMONY_END = ("<|return|>", "<|end|>")
_FENCE = re.compile(r"(`{3,}|~{3,})(?:json|text)?[ \t]*\n(.*)\n[ \t]*\1", re.DOTALL | re.IGNORECASE)
_ELEMENT = re.compile(r"<(answer|verdict|result|output|final|json)>(.*)</\1>", re.DOTALL | re.IGNORECASE)


def peeled(reply: str) -> str:
    """A reply without what is around the whole of it, each taken away once and in this order; its lines end in LF."""
    text = _answered(_reasoned(stripped(reply.replace("\r\n", "\n").replace("\r", "\n"))))
    if text[:1] in "`~":
        return unfenced(text)
    element = _ELEMENT.fullmatch(text) if text[:1] == "<" else None
    return stripped(element[2]) if element else text


def reasons(text: str) -> bool:
    """Whether a text holds a sign by which reasoning is taken away, or a channel."""
    return _CHANNEL in text or _CLOSING.search(text) is not None


def is_reasoning(text: str) -> bool:
    """Whether a text is a model's own reasoning with nothing after it, finished or not."""
    if not _OWN.search(text):
        return False
    rest = _reasoned(stripped(text))
    return not rest or (_OPENING.match(rest) is not None and not _CLOSING.search(rest))


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
    closings = _CLOSING.findall(text)
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
