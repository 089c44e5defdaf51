"""Takes away what is around the whole of a reply: reasoning, channels, end tokens, and one fence or element."""

import re

from gradegate.assertions.judge import prose

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|chain_of_thought|antThinking|seed:think"
# `<think>`, `[THINK]`, `◁think▷`, `<|begin_of_thought|>`
_REASONING_START = re.compile(
    rf"<({_NAMES})>|\[(THINK)\]|◁(think)▷|<\|(begin_of_thought)\|>", re.IGNORECASE
)
# `</think>`, `[/THINK]`, `◁/think▷`, `<|end_of_thought|>`
_REASONING_END = re.compile(
    rf"</(?:{_NAMES})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>", re.IGNORECASE
)
_CLOSING_TAGS = ("</{}>", "[/{}]", "◁/{}▷", "<|end_of_thought|>")  # by the group of the opening tag
# Any such tag of the kinds that models write unasked
_UNASKED_REASONING = re.compile(
    r"[<\[◁][/|]?(?:(?:ant|seed:)?think|(?:(?:begin|end)_of_)?thought)", re.IGNORECASE
)
# Harmony, the format of gpt-oss: `<|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...`
_CHANNEL = "<|channel|>"
_FINAL_CHANNEL = re.compile(r"final(?: ?<\|constrain\|>json)?<\|message\|>", re.IGNORECASE)
_START = "<|start|>assistant"
_WHOLE_CHANNEL = re.compile(r"(?:(?!<\|start\|>).)*<\|end\|>(?:<\|start\|>assistant)?", re.DOTALL)
_END_OF_FINAL = ("<|return|>", "<|end|>")
_END_TOKENS = ("<|eot_id|>", "<|im_end|>", "<|end|>", "</s>")  # of chat templates
# A fence with its content, perhaps with the label `json` or `text`. Anything else on the opening line is content only if
# it begins an object or a list, or if there is no other line.
_FENCE = re.compile(
    r"(`{3,}|~{3,})(?:(?:json|text)?[ \t]*(?=[\n{\[])|(?=[^\n]*\Z)(?:(?:json|text)\b)?)\s*(.*?)\s*\1",
    re.DOTALL | re.IGNORECASE,
)
# `<answer>(C)</answer>`
_ELEMENT = re.compile(
    r"<(answer|verdict|result|output|final|json)>(.*)</\1>", re.DOTALL | re.IGNORECASE
)


def peel_reply(reply: str) -> str:
    """A reply without what is around the whole of it; its lines end in LF.

    End token, reasoning, channels, and a fence or an element are taken away in this order, each once.
    """
    text = prose.strip_invisible(reply.replace("\r\n", "\n").replace("\r", "\n"))
    text = prose.strip_invisible(_without_end_token(text, _END_TOKENS))
    text = _final_channel(_without_reasoning(text))
    if text[:1] in "`~":
        return unfence(text)
    element = _ELEMENT.fullmatch(text)
    return prose.strip_invisible(element[2]) if element else text


def has_reasoning_sign(text: str) -> bool:
    """Whether a text contains the end of reasoning, or a channel: signs by which ``peel_reply`` takes something away."""
    return _CHANNEL in text or _REASONING_END.search(text) is not None


def is_reasoning(text: str) -> bool:
    """Whether a text is reasoning that a model wrote unasked, finished or not, with nothing after it."""
    if not _UNASKED_REASONING.search(text):
        return False
    rest = _without_reasoning(prose.strip_invisible(text))
    is_unfinished = _REASONING_START.match(rest) and not _REASONING_END.search(rest)
    return not rest or bool(is_unfinished)


def unfence(text: str) -> str:
    """The content of a text that is one fence, without a label or with `json` or `text`; any other text as it is."""
    fence = _FENCE.fullmatch(text)
    return prose.strip_invisible(fence[2]) if fence else text


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
        closing_pattern = re.compile(re.escape(closing_tag), re.IGNORECASE)
        closing = closing_pattern.search(text, opening.end())
        if closing is None:
            break
        start = prose.skip_invisible(text, closing.end())
    if start or text[:1] == "{":
        return text[start:]

    # The prompt's template may contain the opening tag: then there is one closing tag, and no other tag.
    closing_tags = _REASONING_END.findall(text)
    if len(closing_tags) != 1 or _REASONING_START.search(text):
        return text
    return prose.strip_invisible(text.partition(closing_tags[0])[2])


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
    return prose.strip_invisible(_without_end_token(last[final.end() :], _END_OF_FINAL))
