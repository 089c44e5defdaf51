"""The forms that several evaluators need: a verdict, a list of verdicts, a choice, a score, a list of texts.

A function such as ``verdict_form`` makes the form of one question. The form reads the grader's object into a ``Judgement``,
into several, or into texts. ``words`` maps each word that a grader may use to the verdict that it means.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from gradegate.assertions.judge import form
from gradegate.assertions.judge.form import Form, Object, list_schema, object_schema
from gradegate.assertions.judge.last_line import LastLine, WordLine
from gradegate.assertions.judge.lines import parse_items
from gradegate.core.numbers import format_count
from gradegate.errors import Unreadable
from gradegate.security.redaction import excerpt
from gradegate.structs import NamedTexts, PartlyEqual

T = TypeVar("T")
YES_NO: NamedTexts = {
    "yes": "yes",
    "y": "yes",
    "true": "yes",
    "no": "no",
    "n": "no",
    "false": "no",
}
YES_NO_IDK: NamedTexts = {**YES_NO, "idk": "idk", "borderline": "idk", "unknown": "idk"}
TEXT: Object = {"type": "string"}
YES_NO_LINE = WordLine(
    "verdict",
    labels=("answer", "verdict", "result", "criterion met"),
    words=("yes", "no", "y", "n"),
    meanings=YES_NO,
)


class Judgement(PartlyEqual, Generic[T]):
    """A verdict as it was read, with the grader's reason. Judgements with the same verdict are equal.

    ``verdict`` is a word, a letter, a truth, a score or an index. ``reason`` is empty if the grader gave no reason.
    """

    not_compared = ("reason",)
    verdict: T
    reason: str = ""

    def row(self, **about: Any) -> dict[str, Any]:
        """A row of evidence: ``about`` the subject, then the verdict and the reason."""
        return {**about, "verdict": self.verdict, "reason": self.reason}


Judgements = tuple[Judgement[str], ...]


def verdict_form(
    words: NamedTexts = YES_NO, last_line: LastLine | None = None
) -> Form[Judgement[str]]:
    """The form of a single verdict: ``{"reason", "verdict"}``, or a last line. ``words`` maps each word to its verdict."""
    return Form(_verdict_schema(words), partial(parse_judgement, words=words), last_line)


def verdict_list_form(words: NamedTexts = YES_NO, *, count: int) -> Form[Judgements]:
    """The form of a list of exactly ``count`` verdicts, in order: ``{"verdicts": [{"reason", "verdict"}]}``."""

    def read(item: Object) -> Judgements:
        verdicts = form.required_list(item, "verdicts")
        if len(verdicts) != count:
            number = format_count(len(verdicts), "verdict")
            raise Unreadable(f"it holds {number} where {count} were asked for")
        # Nobody asked for ids, but they say which parts are meant.
        if any(isinstance(verdict, Mapping) and "id" in verdict for verdict in verdicts):
            return _verdicts_in_order(item, count, words)
        return tuple(parse_judgement(verdict, words) for verdict in verdicts)

    return Form(list_schema("verdicts", _verdict_schema(words), count), read)


def numbered_verdicts_form(words: NamedTexts, count: int) -> Form[Judgements]:
    """The form of one verdict on each of ``count`` parts, which the grader saw under numbers from 1. In that order."""
    read = partial(_verdicts_in_order, count=count, words=words)
    return Form(verdicts_schema(range(1, count + 1), words), read)


def verdicts_schema(ids: Sequence[int], words: NamedTexts) -> Object:
    """JSON Schema of one verdict for each of these ids."""
    schema_for_each_id = [_verdict_schema(words, id_) for id_ in ids]
    return list_schema("verdicts", _verdict_schema(words, *ids), len(ids), schema_for_each_id)


def verdicts_by_id(
    item: Object, ids: Collection[int], words: NamedTexts
) -> Mapping[int, Judgement[str]]:
    """Parse ``{"verdicts": [{"id", "reason", "verdict"}]}`` into judgements by id, each id exactly once. Raises Unreadable."""
    by_id: dict[int, Judgement[str]] = {}
    for verdict in form.required_list(item, "verdicts"):
        number = None
        if isinstance(verdict, Mapping):
            number = form.parse_number(verdict.get("id"))
        if number is None or number not in ids:
            allowed_ids = ", ".join(map(str, sorted(ids)))
            raise Unreadable(f"a verdict has no id, or one that is not one of {allowed_ids}")
        id_ = int(number)
        if id_ in by_id:
            raise Unreadable(f"there are two verdicts with the id {id_}")
        by_id[id_] = parse_judgement(verdict, words)

    missing_ids = sorted(set(ids) - by_id.keys())
    if missing_ids:
        raise Unreadable(f"there is no verdict with the id {', '.join(map(str, missing_ids))}")
    return by_id


def choice_form(
    key: str,
    choices: Sequence[str],
) -> Form[Judgement[str]]:
    """The form of one of some choices: ``{"reason": ..., key: choice}``, or a last line. The verdict is spelled as in ``choices``."""
    choice_by_word = {form.parse_word(choice): choice for choice in choices}

    def read(item: Object) -> Judgement[str]:
        value = form.required_value(item, key)
        choice = choice_by_word.get(form.parse_word(value))
        if choice is None:
            shown_value = excerpt(str(value), 40)
            raise Unreadable(f"`{key}` {shown_value!r} is not one of the choices", choices)
        return Judgement(choice, form.reason_of(item))

    properties = {"reason": TEXT, key: {**TEXT, "enum": list(choices)}}
    last_line = WordLine(
        key,
        labels=("answer", "verdict", "category", "option", "choice"),
        words=tuple(choices),
    )
    return Form(object_schema(**properties), read, last_line)


def texts_form(key: str) -> Form[tuple[str, ...]]:
    """The form of a list of texts, which may be empty: ``{key: [text, ...]}``."""
    return Form(list_schema(key, TEXT), partial(form.required_texts, key=key))


def items_form(
    key: str,
    least: int = 1,
) -> Form[tuple[str, ...]]:
    """The form of at least ``least`` texts: ``{key: [text, ...]}``, a JSON list, or a list with one text to a line.

    The texts are no verdicts, so more replies are readable than for ``texts_form``.
    """

    def read(item: Object) -> tuple[str, ...]:
        texts = form.required_texts(item, key)
        if len(texts) < least:
            raise Unreadable(f"it holds no {key}")
        return texts

    return Form(
        list_schema(key, TEXT),
        read,
        read_lines=lambda text: {key: parse_items(text)},
        texts_key=key,
    )


def score_form(
    best: int,
    last_line: LastLine | None = None,
) -> Form[Judgement[float]]:
    """The form of a score from 0 to ``best``: ``{"reason", "score"}``, or a last line."""

    def read(item: Object) -> Judgement[float]:
        score = form.parse_number(form.required_value(item, "score"))
        if score is None or not 0 <= score <= best:
            raise Unreadable(f"`score` is not a number from 0 to {best}")
        return Judgement(score, form.reason_of(item))

    score_schema = {"type": "integer", "minimum": 0, "maximum": best}
    return Form(object_schema(reason=TEXT, score=score_schema), read, last_line)


def parse_judgement(item: Any, words: NamedTexts) -> Judgement[str]:
    """Parse ``{"reason", "verdict"}``. Raises Unreadable."""
    if not isinstance(item, Mapping):
        raise Unreadable("a verdict is not a JSON object with the key `verdict`")
    value = form.required_value(item, "verdict")
    word = form.parse_word(value)
    if word not in words:
        raise Unreadable(
            f"the verdict {excerpt(str(value), 40)!r} is not one of the allowed words",
            _words_to_request(words),
        )
    return Judgement(words[word], form.reason_of(item))


def _verdicts_in_order(item: Object, count: int, words: NamedTexts) -> Judgements:
    """The verdicts with the ids from 1 to ``count``, in the order of the ids. Raises Unreadable."""
    ids = range(1, count + 1)
    by_id = verdicts_by_id(item, ids, words)
    return tuple(by_id[id_] for id_ in ids)


def _verdict_schema(words: NamedTexts, *ids: int) -> Object:
    """JSON Schema of a verdict with its reason, and with one of these ids if there are any.

    The reason comes first, because the grader should think before the verdict.
    """
    properties: dict[str, Object] = {}
    if ids:
        properties["id"] = {"type": "integer", "enum": [*ids]}
    properties["reason"] = TEXT
    properties["verdict"] = {**TEXT, "enum": _words_to_request(words)}
    return object_schema(**properties)


def _words_to_request(words: NamedTexts) -> list[str]:
    """The words that a grader is asked for: one for each verdict if the verdicts are words themselves, else all."""
    verdicts = dict.fromkeys(words.values())
    return list(verdicts if verdicts.keys() <= words.keys() else words)
