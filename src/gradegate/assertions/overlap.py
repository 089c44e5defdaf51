"""bleu, gleu and rouge-n: how much of the answer is the words of a reference, by n-grams counted.

Papineni et al. 2002 (https://doi.org/10.3115/1073083.1073135), Wu et al. 2016 (https://arxiv.org/abs/1609.08144), Lin 2004
(https://aclanthology.org/W04-1013). Where these leave a choice, it is promptfoo's (``src/assertions/bleu.ts``, ``gleu.ts``, ``rouge.ts``):
https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#bleu, #gleu and #rouge-n.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from gradegate.assertions.grading.evaluator import (
    Scoring,
    TextEvaluator,
    Verdict,
    assertion,
    options,
)
from gradegate.core.field_types import to_list

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
    words = answer.lower().split()
    others = [reference.lower().split() for reference in references]
    if not words:
        return 0.0
    logs = []
    for order in ORDERS:
        own = grams(words, order)
        if own:
            hits = max((own & grams(other, order)).total() for other in others)
            logs.append(math.log(hits / own.total() or _SMALL))
    nearest = min(
        (len(other) for other in others), key=lambda length: (abs(length - len(words)), length)
    )
    penalty = 1.0 if len(words) > nearest else math.exp(1 - nearest / len(words))
    return penalty * math.exp(sum(logs) / len(logs))


def gleu(answer: str, references: Sequence[str]) -> float:
    """The smaller of precision and recall over runs of one to four words, with the reference that gives most."""
    words = _words_without_stops(answer)
    if not words:
        return 0.0
    return max(_share_of_runs(words, _words_without_stops(reference)) for reference in references)


def _words_without_stops(text: str) -> list[str]:
    """The words in lower case without full stops at their ends. Empty if only full stops are left."""
    words = [word.rstrip(".") for word in text.lower().split()]
    return words if any(words) else []


def _share_of_runs(words: Sequence[str], reference: Sequence[str]) -> float:
    """How many runs of words both have in common, over the runs of the longer one."""
    if words == reference:
        return 1.0
    common = 0
    in_answer = 0
    in_reference = 0
    for order in ORDERS:
        answer_grams = grams(words, order)
        reference_grams = grams(reference, order)
        common += (answer_grams & reference_grams).total()
        in_answer += answer_grams.total()
        in_reference += reference_grams.total()
    return common / max(in_answer, in_reference)


def rouge(answer: str, reference: str) -> float:
    """The F1 of single tokens, each counted as often as it is in both."""
    own = Counter(tokens(answer.lower()))
    other = Counter(tokens(reference.lower()))
    hits = (own & other).total()
    return 2 * hits / (own.total() + other.total()) if hits else 0.0


def tokens(text: str) -> list[str]:
    """The tokens of a text as the Penn Treebank parts them: punctuation and shortened words stand alone."""
    text = " ".join(text.split())
    opened = False

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
    return _JOINED.sub(
        lambda match: " " + " ".join(filter(None, match.groups())) + " ", parted
    ).split()


@options
class _Overlap(TextEvaluator):
    scoring = Scoring(0.5)
    measure: ClassVar[Callable[[str, Sequence[str]], float]]

    value: Annotated[list[str], BeforeValidator(to_list), Field(min_length=1)]
    """The reference, or a list of references of which the best counts."""

    def check(self, output: str) -> Verdict:
        score = type(self).measure(output, self.value)
        return Verdict(score, None, f"{type(self).measure.__name__.upper()} is {score:.4f}")


@assertion("bleu")
class Bleu(_Overlap):
    """The answer has the words of a reference in runs of up to four (BLEU)."""

    measure = bleu  # of several references, the best of each order counts


@assertion("gleu")
class Gleu(_Overlap):
    """The answer and a reference have runs of up to four words in common (GLEU)."""

    measure = gleu  # of several references, the best counts


@assertion("rouge-n")
class RougeN(TextEvaluator):
    """The answer and a reference have tokens in common (ROUGE-1, F1)."""

    scoring = Scoring(0.75)

    value: str
    """The reference."""

    def check(self, output: str) -> Verdict:
        score = rouge(output, self.value)
        return Verdict(score, None, f"ROUGE-N is {score:.4f}")
