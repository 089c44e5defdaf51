"""How much of two texts is the same words: n-grams counted, as BLEU, GLEU and ROUGE-N take them.

Papineni et al. 2002 (https://doi.org/10.3115/1073083.1073135), Wu et al. 2016 (https://arxiv.org/abs/1609.08144), Lin 2004
(https://aclanthology.org/W04-1013). Where these leave a choice, it is promptfoo's (``src/assertions/bleu.ts``, ``gleu.ts``, ``rouge.ts``).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

ORDERS = (1, 2, 3, 4)
_SMALL = 1e-7  # the precision of an order of which nothing is the same
_QUOTE = re.compile(r"``|''|\"")
_APART = (  # what the Penn Treebank's tokens are parted at
    (re.compile(r"\.{3}"), " ... "),
    (re.compile(r"[:,](?!\d)"), r" \g<0> "),
    (re.compile(r"[;@#$%&?!\[\](){}<>]"), r" \g<0> "),
    (re.compile(r"--"), " -- "),
)
_LAST_DOT = re.compile(r"([^.])(?<!\b[A-Za-z]\.[A-Za-z])(\.)([\])}>'\s]{0,50})$")
_ENDINGS = (
    (re.compile(r"([^'])' "), r"\1 ' "),
    (re.compile(r"'([smd]) ", re.IGNORECASE), r" '\1 "),
    (re.compile(r"('ll|'re|'ve|n't) ", re.IGNORECASE), r" \1 "),
)
_JOINED = re.compile(
    r"(?<!\w)(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n)|(wan)(na)(?= )|('t)(is)|('t)(was))(?!\w)",
    re.IGNORECASE,
)


def grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    """How often each run of so many words is there."""
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def bleu(answer: str, references: Sequence[str]) -> float:
    """The geometric mean of the precisions that the answer is long enough for, times the penalty for being short."""
    words, others = answer.lower().split(), [reference.lower().split() for reference in references]
    if not words:
        return 0.0
    logs = []
    for order in ORDERS:
        own = grams(words, order)
        if own:
            hits = max((own & grams(other, order)).total() for other in others)
            logs.append(math.log(hits / own.total() or _SMALL))
    nearest = min((len(other) for other in others), key=lambda length: (abs(length - len(words)), length))
    penalty = 1.0 if len(words) > nearest else math.exp(1 - nearest / len(words))
    return penalty * math.exp(sum(logs) / len(logs))


def gleu(answer: str, references: Sequence[str]) -> float:
    """The smaller of precision and recall over runs of one to four words, with the reference that gives most."""
    words = _without_dots(answer)
    return max(_gleu(words, _without_dots(reference)) for reference in references) if words else 0.0


def _gleu(words: Sequence[str], other: Sequence[str]) -> float:
    if words == other:
        return 1.0
    own = [grams(words, order) for order in ORDERS]
    their = [grams(other, order) for order in ORDERS]
    most = max(sum(gram.total() for gram in own), sum(gram.total() for gram in their))
    return sum((a & b).total() for a, b in zip(own, their, strict=True)) / most


def _without_dots(text: str) -> list[str]:
    words = [word.rstrip(".") for word in text.lower().split()]
    return words if any(words) else []


def rouge(answer: str, reference: str) -> float:
    """The F1 of single tokens, each counted as often as it is in both."""
    own, other = Counter(tokens(answer.lower())), Counter(tokens(reference.lower()))
    hits = (own & other).total()
    return 2 * hits / (own.total() + other.total()) if hits else 0.0


def tokens(text: str) -> list[str]:
    """The tokens of a text as the Penn Treebank parts them: punctuation and shortened words stand alone."""
    text, opened = " ".join(text.split()), False

    def quote(match: re.Match[str]) -> str:
        nonlocal opened
        before = text[match.start() - 1 : match.start()]
        opened = match[0] == "``" or (not opened and (not before or before in " ([{<"))
        return " `` " if opened else " '' "

    parted = _QUOTE.sub(quote, text)
    for pattern, apart in _APART:
        parted = pattern.sub(apart, parted)
    parted = _LAST_DOT.sub(r"\1 \2\3 ", parted)
    parted = f" {parted} "
    for pattern, apart in _ENDINGS:
        parted = pattern.sub(apart, parted)
    return _JOINED.sub(lambda match: " " + " ".join(filter(None, match.groups())) + " ", parted).split()
