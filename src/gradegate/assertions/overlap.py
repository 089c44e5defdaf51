"""bleu, gleu and rouge-n: how many n-grams of words the answer and a reference have in common.

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
_SMALL = 1e-7  # the precision of an order without common n-grams
# The patterns of the Penn Treebank
_QUOTE = re.compile(r"``|''|\"")
_SEPARATIONS = (  # signs that are tokens of their own
    (re.compile(r"\.{3}"), " ... "),
    (re.compile(r"[:,](?!\d)"), r" \g<0> "),
    (re.compile(r"[;@#$%&?!\[\](){}<>]"), r" \g<0> "),
    (re.compile(r"--"), " -- "),
)
# The full stop at the end of a text, but not of `U.S.`: `end.`, `end.")`
_LAST_DOT = re.compile(r"([^.])(?<!\b[A-Za-z]\.[A-Za-z])(\.)([\])}>'\s]{0,50})$")
_ENDINGS = (  # `dogs' `, `it's `, `we'll `
    (re.compile(r"([^'])' "), r"\1 ' "),
    (re.compile(r"'([smd]) ", re.IGNORECASE), r" '\1 "),
    (re.compile(r"('ll|'re|'ve|n't) ", re.IGNORECASE), r" \1 "),
)
# `cannot`, `gonna`, `'tis`: each is two tokens
_JOINED_WORDS = re.compile(
    r"(?<!\w)(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n)|(wan)(na)(?= )|('t)(is)|('t)(was))(?!\w)",
    re.IGNORECASE,
)


def grams(
    words: Sequence[str],
    order: int,
) -> Counter[tuple[str, ...]]:
    """Count the n-grams of a text, where n is the ``order``."""
    starts = range(len(words) - order + 1)
    return Counter(tuple(words[start : start + order]) for start in starts)


def bleu(answer: str, references: Sequence[str]) -> float:
    """BLEU: the geometric mean of the precisions, times a penalty for a short answer.

    Orders that the answer is too short for are left out. For each order, the best reference counts.
    """
    words = answer.lower().split()
    if not words:
        return 0.0
    reference_words = [reference.lower().split() for reference in references]

    logs = []
    for order in ORDERS:
        answer_grams = grams(words, order)
        if answer_grams:
            hits = max((answer_grams & grams(other, order)).total() for other in reference_words)
            logs.append(math.log(hits / answer_grams.total() or _SMALL))
    mean_precision = math.exp(sum(logs) / len(logs))

    # The penalty compares the answer with the reference of the nearest length. Of two, with the shorter.
    lengths = sorted(len(other) for other in reference_words)
    nearest_length = min(lengths, key=lambda length: abs(length - len(words)))
    if len(words) > nearest_length:
        return mean_precision
    return math.exp(1 - nearest_length / len(words)) * mean_precision


def gleu(answer: str, references: Sequence[str]) -> float:
    """GLEU: the smaller of precision and recall over n-grams of one to four words, for the best reference."""
    words = _words_without_stops(answer)
    if not words:
        return 0.0
    return max(_share_of_grams(words, _words_without_stops(reference)) for reference in references)


def _words_without_stops(text: str) -> list[str]:
    """The words in lower case without full stops at their ends. Empty if only full stops are left."""
    words = [word.rstrip(".") for word in text.lower().split()]
    return words if any(words) else []


def _share_of_grams(words: Sequence[str], reference: Sequence[str]) -> float:
    """The n-grams that both have in common, over the n-grams of the longer one."""
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
    """ROUGE-1: the F1 of single tokens. A token counts as often as both texts contain it."""
    answer_tokens = Counter(tokens(answer.lower()))
    reference_tokens = Counter(tokens(reference.lower()))
    hits = (answer_tokens & reference_tokens).total()
    if not hits:
        return 0.0
    return 2 * hits / (answer_tokens.total() + reference_tokens.total())


def tokens(text: str) -> list[str]:
    """The tokens of a text as in the Penn Treebank: punctuation and shortened words are separate tokens."""
    text = " ".join(text.split())
    is_open = False

    def replace_quote(match: re.Match[str]) -> str:
        nonlocal is_open
        sign_before = match.string[match.start() - 1 : match.start()]
        may_open = not is_open and (not sign_before or sign_before in " ([{<")
        is_open = match[0] == "``" or may_open
        return " `` " if is_open else " '' "

    def separate_words(match: re.Match[str]) -> str:
        words = [word for word in match.groups() if word]
        return f" {' '.join(words)} "

    text = _QUOTE.sub(replace_quote, text)
    for pattern, separation in _SEPARATIONS:
        text = pattern.sub(separation, text)
    text = _LAST_DOT.sub(r"\1 \2\3 ", text)
    text = f" {text} "
    for pattern, separation in _ENDINGS:
        text = pattern.sub(separation, text)
    return _JOINED_WORDS.sub(separate_words, text).split()


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
