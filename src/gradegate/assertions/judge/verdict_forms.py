"""The forms that several graders read: a verdict, a list of verdicts, a score, a list of texts."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from gradegate.assertions.judge import form
from gradegate.assertions.judge.form import Form, Object
from gradegate.assertions.judge.last_line import LastLine, WordLine
from gradegate.assertions.judge.lines import parse_items
from gradegate.assertions.judge.rubric import list_schema, object_schema
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
    ("answer", "verdict", "result", "criterion met"),
    ("yes", "no", "y", "n"),
    meanings=YES_NO,
)


class Judgement(PartlyEqual, Generic[T]):
    """A verdict as it was read, with the grader's reason; two with the same verdict are equal, whatever the reasons.

    ``verdict`` is a word, a letter, a truth, a score or an index; ``reason`` is empty where the grader gave none.
    """

    not_compared = ("reason",)
    verdict: T
    reason: str = ""

    def row(self, **about: Any) -> dict[str, Any]:
        """Evidence: what was judged, the verdict and the reason."""
        return {**about, "verdict": self.verdict, "reason": self.reason}


Judgements = tuple[Judgement[str], ...]


def verdict_form(
    words: NamedTexts = YES_NO, last_line: LastLine | None = None
) -> Form[Judgement[str]]:
    """The one verdict of ``{"reason", "verdict"}``, or of a last line."""
    return Form(_schema(words), partial(parse_judgement, words=words), last_line)


def verdict_list_form(words: NamedTexts = YES_NO, *, count: int) -> Form[Judgements]:
    """Exactly ``count`` verdicts, in order."""

    def read(found: Object) -> Judgements:
        items = form.required_list(found, "verdicts")
        if len(items) != count:
            raise Unreadable(
                f"it holds {format_count(len(items), 'verdict')} where {count} were asked for"
            )
        # Nobody asked for an id, but it says which part is meant.
        if any(isinstance(item, Mapping) and "id" in item for item in items):
            return _in_order(found, count, words)
        return tuple(parse_judgement(item, words) for item in items)

    return Form(list_schema("verdicts", _schema(words), count), read)


def numbered_verdicts_form(words: NamedTexts, count: int) -> Form[Judgements]:
    """One verdict on each of ``count`` parts that the grader was shown under numbers from 1; in the order of the numbers."""
    read = partial(_in_order, count=count, words=words)
    return Form(verdicts_schema(range(1, count + 1), words), read)


def _in_order(found: Object, count: int, words: NamedTexts) -> Judgements:
    by_id = verdicts_by_id(found, range(1, count + 1), words)
    return tuple(by_id[number] for number in range(1, count + 1))


def verdicts_schema(ids: Sequence[int], words: NamedTexts) -> Object:
    """JSON Schema of one verdict for each of these ids."""

    def item(*ids: int) -> Object:
        return object_schema(id={"type": "integer", "enum": [*ids]}, **_properties(words))

    return list_schema("verdicts", item(*ids), len(ids), [item(number) for number in ids])


def verdicts_by_id(
    found: Object, ids: Collection[int], words: NamedTexts
) -> Mapping[int, Judgement[str]]:
    """``{"verdicts": [{"id", "reason", "verdict"}]}``, each id exactly once. Raises Unreadable."""
    by_id = {}
    for item in form.required_list(found, "verdicts"):
        number = form.parse_number(item.get("id")) if isinstance(item, Mapping) else None
        if number is None or number not in ids:
            listed = ", ".join(map(str, sorted(ids)))
            raise Unreadable(f"a verdict has no id, or one that is not one of {listed}")
        if int(number) in by_id:
            raise Unreadable(f"there are two verdicts with the id {int(number)}")
        by_id[int(number)] = parse_judgement(item, words)
    if lacking := sorted(set(ids) - by_id.keys()):
        raise Unreadable(f"there is no verdict with the id {', '.join(map(str, lacking))}")
    return by_id


def choice_form(key: str, choices: Sequence[str]) -> Form[Judgement[str]]:
    """The choice of ``{"reason", key}``, in the case in which it was given, or of a last line."""
    known = {form.parse_word(choice): choice for choice in choices}

    def read(item: Object) -> Judgement[str]:
        written = form.required_value(item, key)
        word = form.parse_word(written)
        if word not in known:
            raise Unreadable(
                f"`{key}` {excerpt(str(written), 40)!r} is not one of the choices", choices
            )
        return Judgement(known[word], form.reason_of(item))

    schema = object_schema(reason=TEXT, **{key: {**TEXT, "enum": list(choices)}})
    return Form(
        schema,
        read,
        WordLine(key, ("answer", "verdict", "category", "option", "choice"), tuple(choices)),
    )


def texts_form(key: str) -> Form[tuple[str, ...]]:
    """The texts of ``{key: [text, ...]}``; there may be none."""
    return Form(list_schema(key, TEXT), partial(form.required_texts, key=key))


def items_form(key: str, least: int = 1) -> Form[tuple[str, ...]]:
    """The texts of ``{key: [text, ...]}``, of a JSON list, or one to a line; at least so many. They are no verdicts."""

    def read(found: Object) -> tuple[str, ...]:
        listed = form.required_texts(found, key)
        if len(listed) < least:
            raise Unreadable(f"it holds no {key}")
        return listed

    return Form(
        list_schema(key, TEXT),
        read,
        read_lines=lambda text: {key: parse_items(text)},
        texts_key=key,
    )


def score_form(best: int, last_line: LastLine | None = None) -> Form[Judgement[float]]:
    """The score of ``{"reason", "score"}`` from 0 to ``best``, or of a last line."""

    def read(item: Object) -> Judgement[float]:
        number = form.parse_number(form.required_value(item, "score"))
        if number is None or not 0 <= number <= best:
            raise Unreadable(f"`score` is not a number from 0 to {best}")
        return Judgement(number, form.reason_of(item))

    schema = object_schema(reason=TEXT, score={"type": "integer", "minimum": 0, "maximum": best})
    return Form(schema, read, last_line)


def parse_judgement(item: Any, words: NamedTexts) -> Judgement[str]:
    """What ``{"reason", "verdict"}`` says. Raises Unreadable."""
    if not isinstance(item, Mapping):
        raise Unreadable("a verdict is not a JSON object with the key `verdict`")
    value = form.required_value(item, "verdict")
    word = form.parse_word(value)
    if word not in words:
        raise Unreadable(
            f"the verdict {excerpt(str(value), 40)!r} is not one of the allowed words",
            _asked_for(words),
        )
    return Judgement(words[word], form.reason_of(item))


def _schema(words: NamedTexts) -> Object:
    return object_schema(**_properties(words))


def _properties(words: NamedTexts) -> Object:
    return {"reason": TEXT, "verdict": {**TEXT, "enum": _asked_for(words)}}


def _asked_for(words: NamedTexts) -> list[str]:
    meant = dict.fromkeys(words.values())
    return [*meant] if meant.keys() <= words.keys() else [*words]
