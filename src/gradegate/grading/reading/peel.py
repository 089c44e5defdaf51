"""Takes away what is around an answer: invisible signs, one code fence, finished reasoning, retracted and commented text.

The content of an element counts only where its name says that it holds the answer (``<answer>``, ``<verdict>``) or is plain
formatting (``<b>``); that of any other element is set aside, as reasoning is.
"""

from __future__ import annotations

import re

from gradegate.errors import Unreadable

_REASONING = (
    r"(?:ant|seed:?|my|inner|internal|model|chain_of_|begin_of_|start_of_)?[-_: ]?(?:think(?:ing)?|thoughts?)(?:[-_ ]?(?:process|step|chain|out))?|reasoning(?:[-_ ]?\w+)?|reason|reflection|reflect|rationale"
    r"|scratch[-_ ]?pad|analysis|analyze|analyse|thought[-_ ]?process|chain[-_ ]of[-_ ]thoughts?|cot|(?:internal|inner)[-_ ]monologue|monologue|deliberation|planning|plan|brainstorm(?:ing)?|notes?|seed:cot\w*"
)
REASONING = re.compile(_REASONING, re.IGNORECASE)
# Signs that show nothing: controls, blanks of all widths, soft hyphens, joiners, direction marks, variation selectors.
_RANGES = ((0x00, 0x20), (0x7F, 0xA0), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0xFE00, 0xFE0F))
INVISIBLE = "\u00ad\u034f\u061c\u115f\u1160\u1680\u180e\u3000\u3164\ufeff\uffa0" + "".join(
    chr(code) for first, last in _RANGES for code in range(first, last + 1)
)
_LT = r"(?:<|＜|&lt;|&\#0*60;|&\#x0*3c;|\\u003c|◁)"
_GT = r"(?:>|＞|&gt;|&\#0*62;|&\#x0*3e;|\\u003e|▷)"
_NAME = r"[A-Za-z][\w:.-]{0,40}"
# An opener or a closer of an element, in any of the spellings of its brackets; only names of reasoning may be spaced out.
TAG = (
    rf"{_LT}(?:\s{{0,20}}+(?P<spaced_end>/?)\s{{0,20}}+(?P<spaced>{_REASONING})(?:\s[^<>\n]{{0,200}})?\s{{0,20}}|(?P<end>/?)(?P<name>{_NAME})(?:\s[^<>\n]{{0,200}})?\s?/?){_GT}"
    rf"|\[\s?(?P<square_end>/?)\s?(?P<square>think(?:ing)?|thoughts?)\s?\]"
    r"|<\|(?P<bar_end>/|end_of_|end_)?(?:begin_of_|start_of_|begin_|start_)?(?P<bar>thoughts?|thinking|think|reasoning|reflection|analysis|solution|answer|final)\|>"
)
_CONTAINERS = frozenset(
    "json sentence sentences statement statements response verdicts steps claims output_json".split()
)
_LABELS = frozenset(
    "answer verdict result output final final_answer finalanswer final-answer score rating grade category choice decision index winner conclusion judgment judgement solution evaluation".split()
)
_INLINE = frozenset("b i u em strong mark code span small big sup sub font tt kbd samp a".split())
_BLOCK = frozenset(
    "p div pre br hr ul ol li h1 h2 h3 h4 h5 h6 table tr td th thead tbody section article body html main center".split()
)

# Attributes by which an element shows nothing, or what is struck out.
_UNSEEN = re.compile(
    r"\s(?:hidden\b|aria-hidden\s*=\s*[\"']?true|style\s*=[^<>]*(?:none|hidden|line-through|opacity|collapse|(?:font-size|height|width)\s*:\s*0|clip|-\d{3}))"
    r"|\sclass\s*=[^<>]*(?:hidden|sr-only|invisible|example|quote|strike|draft)",
    re.IGNORECASE,
)
# A turn of a chat template that is not the model's own.
_ANOTHERS_TURN = re.compile(
    r"<\|(?:im_start\|>|start_header_id\|>|start\|>|header_start\|>)?\s{0,9}(?:user|human|system|developer|tool|function|observation|ipython|environment|context)\b"
    r"|<start_of_turn>\s{0,9}(?:user|system|tool)\b|\[/?INST\]\s*\S|<<SYS>>|<\|?(?:start_of_role)\|?>\s*(?:user|system|tool)|\[(?:AVAILABLE_TOOLS|TOOL_RESULTS|SYSTEM_PROMPT)\]",
    re.IGNORECASE,
)
_VOID = frozenset("input img meta link source track area base col embed wbr param".split())

_FENCE = re.compile(r"```++|~~~++")
_FENCED_LINE = re.compile(r"```(?:json|text|plaintext)?[ \t]*+(?P<inside>[^`\n]++)```")
_SHOWN_FENCE = re.compile(
    r"(?:```|~~~)[ \t]{0,9}(?:[\w-]{0,12}[ \t:_-]{1,9})?(?:examples?|samples?|templates?|quot(?:e|ed|ation)|drafts?|submission|candidate|input|prompt|context|schema|placeholder|wrong|bad|incorrect|beispiel|exemple|ejemplo|exemplo|esempio)\b",
    re.IGNORECASE,
)
_END_TOKENS = re.compile(
    r"(?:\s|<\|(?:im_end|eot_id|end|return|endoftext|end_of_text|eom_id|end_of_turn|end_of_solution)\|>|</s>|<eos>|<end_of_turn>|\[/INST\])+\Z",
    re.IGNORECASE,
)
_CHANNEL = re.compile(r"<\|channel\|>\s{0,9}([\w-]{1,40})[^<]{0,200}<\|message\|>")
_CHANNEL_END = re.compile(r"<\|(?:end|return|start|channel|call)\|>")


def stripped(text: str) -> str:
    """A text without blanks and invisible signs at its ends: byte-order marks, zero-width and direction signs."""
    return text.strip(INVISIBLE)


def outer(reply: str) -> str:
    """A reply without what is around the whole of it, and without the channels that are not the final one. Raises Unreadable."""
    if ("```" in reply or "~~~" in reply) and _SHOWN_FENCE.search(reply):
        raise Unreadable("it holds a code fence that is labelled as an example, a draft or a quotation")
    if ("<" in reply or "[" in reply) and _ANOTHERS_TURN.search(reply):
        raise Unreadable("it holds a turn of somebody else: of the user, the system or a tool")
    text = _final_channel(stripped(reply))
    match = _END_TOKENS.search(text[-200:]) if text.endswith((">", "]")) else None  # it has no blanks at its end
    if match and not ("</s>" in match[0].lower() and "<s>" in text[1:].lower()):
        text = text[: len(text) - len(match[0])]
    return unfenced(text)


def unfenced(text: str) -> str:
    """A text that is one code fence and nothing else, without the fence."""
    text = stripped(text)
    mark = _FENCE.match(text)
    if mark and text.endswith(mark[0]) and len(text) > 2 * mark.end():
        head, _, body = text[: -mark.end()].partition("\n")
        inside = not any(line.lstrip().startswith(mark[0][:3]) for line in body.split("\n"))
        if "`" not in head[mark.end() :] and body and inside:
            return stripped(body)
    match = _FENCED_LINE.fullmatch(text)
    return stripped(match["inside"]) if match else text


def _final_channel(text: str) -> str:
    if not text.startswith("<|"):
        return text
    channels = list(_CHANNEL.finditer(text))
    if not channels:
        return text
    last = channels[-1]
    if last[1].lower() != "final":
        raise Unreadable(f"it ends in its channel `{last[1]}`, without an answer")
    end = _CHANNEL_END.search(text, last.end())
    if end and not _END_TOKENS.fullmatch(text[end.start() :]):
        raise Unreadable("its final channel is followed by something else")
    return stripped(text[last.end() : end.start() if end else len(text)])


def name_of(tag: re.Match[str]) -> tuple[str, bool]:
    """The name of a tag in lower case, and whether it closes."""
    groups = tag.groupdict()
    for name, end in (("spaced", "spaced_end"), ("name", "end"), ("square", "square_end"), ("bar", "bar_end")):
        if groups[name]:
            return re.sub(r"\s", "_", groups[name].lower()), bool(groups[end])
    raise AssertionError("a tag has a name")


def is_reasoning(name: str) -> bool:
    """Whether elements of this name hold reasoning, so that one that is never closed makes the reply unfinished."""
    return REASONING.fullmatch(name) is not None


def holds_something(tag: str, name: str) -> bool:
    """Whether an element of this name has a closing tag, in HTML and wherever it is not said to be empty."""
    return name not in _VOID and not tag.rstrip(">").endswith("/")


def in_place_of(tag: str, name: str, begins: bool) -> str | None:
    """What stands for a tag whose content is read: nothing, a line end or a label; None where it is set aside.

    ``begins``: the tag begins a line or follows the end of a sentence.
    """
    if _UNSEEN.search(tag):
        return None
    if name in _LABELS:
        return ("\n" if begins else "") + name.replace("_", " ").replace("-", " ") + ": "
    if name in _CONTAINERS or name in _INLINE:
        return ""
    return None if name not in _BLOCK else "\n" if begins else ""
