"""Whether a labelled line before an object says something else than the object: ``Final verdict: FAIL`` before a pass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import labels, values

UNDECIDED = "undecided"
_NOUNS = labels.NOUNS | frozenset("pass passed status verdicts results résultat".split())
_FILLERS = frozenset("for each statement statements claim claims all in order both every overall whole".split())
_YES = frozenset(
    "pass passes passed yes y true met meets satisfied satisfies accepted accept approved correct ok bestanden erfüllt ja wahr richtig oui vrai réussi sí si verdadero aprobado sim aprovado passou sì vero superato geslaagd waar tak да пройдено верно 通过 通過 合格 是 はい 合格です 합격 통과 예 نعم ناجح".split()
)
_NO = frozenset(
    "fail fails failed failing failure no n false unmet rejected reject incorrect wrong falsch nein durchgefallen non faux échec échoué échoue falso reprobado rechazado suspenso não nao reprovado falhou bocciato fallito nee gezakt onvoldoende nie nej нет провал провалено неверно 失败 失敗 不合格 不通过 不通過 否 いいえ 불합격 실패 아니요 لا راسب".split()
)
_OPEN = frozenset(
    "undecided unclear unknown inconclusive pending uncertain undetermined indeterminate unsure unresolved tbd n/a abstain abstained unentschieden unklar offen indécis indéterminé indeciso indefinido onbeslist неясно 未定 不明 미정".split()
)
_NEGATED = re.compile(
    r"(?:(?:is|was|does|do|has|did|it|ist|wurde|est)\s+)?(?:(?:not|nicht|non|no|ne|não|niet|inte|ikke|nie|не)\s+(?:yet\s+)?|[未没沒不])(?P<word>[^\W\d_]+)"
    r"|(?:doesn|isn|hasn|didn)['’]t\s+(?P<short>\w+)|(?P<open>(?:can|could)(?:not|n?['’]t|\s+not)\b)",
    re.IGNORECASE,
)
_FIRST = re.compile(r"[^\w\n]{0,12}(?P<word>[^\W\d_]+(?:/a\b)?)(?P<choice>\s*(?:/|\||\bor\b)\s*[a-z])?", re.IGNORECASE)
_UNSURE = frozenset("decided determined clear known sure certain conclusive judged entschieden klar".split())
_TICKS = {"✅": True, "✔": True, "☑": True, "❌": False, "✘": False, "✗": False, "❎": False}
_MARKS: Mapping[str, bool | str] = {
    "attributed": True,
    "not attributed": False,
    "idk": UNDECIDED,
    "borderline": UNDECIDED,
}
_LONGEST = 300  # characters of a line that can be a label and a value
_MOST_VALUE = 40  # characters of a value on the line after its label
# "Verdict - FAIL", "| Verdict | FAIL |", "The verdict is FAIL"
_APART = re.compile(r"\s[-–—]{1,3}\s|[|→⇒➜]|[-=]>|\s(?P<says>is|ist|est|es|é|è)\s")
_SPOKEN = frozenset(
    "verdict decision judgement judgment grade conclusion urteil verdicto veredicto verdetto oordeel".split()
)


def said(text: str) -> Iterator[tuple[bool | str, str]]:
    """What each labelled line of a text says, True, False or UNDECIDED, with the line; lines that say neither are left out."""
    for label, value, nouns in _labelled(text):
        meaning = meant(value)
        if meaning is not None and labels.is_label(label, nouns, _FILLERS):
            yield meaning, f"{label}: {value}"


def _labelled(text: str) -> Iterator[tuple[str, str, frozenset[str]]]:
    yield from ((label, value, _NOUNS) for label, value in labels.labelled(text))
    label = ""
    for line in text.splitlines():
        if len(line) > _LONGEST:
            label = ""
            continue
        row = line.strip()
        if label and row and len(row) <= _MOST_VALUE:
            yield label, row, _NOUNS
        label = row.strip("#*_|>-:： \t") if row else label
        bare = row.strip("#*_|>- \t")
        apart = _APART.search(bare)
        if apart:
            yield bare[: apart.start()].strip("*_ "), bare[apart.end() :], _SPOKEN if apart["says"] else _NOUNS


def meant(value: str) -> bool | str | None:
    """Whether what follows a label means pass (True), fail (False) or that nothing is decided; None for all else."""
    first = _FIRST.match(value)
    if first is None:
        return _TICKS.get(value.strip(" *_|")[:1])
    negated = _NEGATED.match(value, first.start("word"))
    if negated and not negated["open"]:
        word = (negated["word"] or negated["short"]).lower()
        return UNDECIDED if word in _UNSURE else False if word in _YES else True if word in _NO else None
    word = first["word"].lower()
    if first["choice"]:
        return None  # "yes/no"
    return UNDECIDED if negated or word in _OPEN else True if word in _YES else False if word in _NO else None


def hold(text: str, verdict: Mapping[str, Any]) -> None:
    """Raise Unreadable where a labelled line of a text says something else than the object that follows it."""
    truths = _truths(verdict) if text else None
    if not truths:
        return
    if text.count("\n") > labels.MOST_LINES:
        raise Unreadable(f"it has more than {labels.MOST_LINES} lines")
    for meaning, line in said(text):
        if meaning not in truths:
            raise Unreadable(f"it says {line[:60]!r} and then something else; give one verdict")


def _truths(item: Mapping[str, Any]) -> frozenset[bool | str]:
    """What an object says: of a list of verdicts, whatever its items say; empty for one that is no verdict."""
    if "pass" in item:
        return _truth(item["pass"])
    if isinstance(item.get("verdicts"), list):
        verdicts = [row.get("verdict") for row in item["verdicts"] if isinstance(row, Mapping)]
        return frozenset().union(*map(_truth, verdicts))
    if "verdict" in item:
        return _truth(item["verdict"])
    if isinstance(item.get("category"), str):
        return frozenset({item["category"].strip("()[]. ").lower() != "d"})
    score = values.number(item.get("score"))
    if score is not None:
        return frozenset({score >= 5, score >= 0.5} if score <= 1 else {score >= 5})  # of ten, or of one
    return frozenset({True}) if "index" in item else frozenset({bool(item["sentences"])} if "sentences" in item else ())


def _truth(value: Any) -> frozenset[bool | str]:
    word = (
        value.replace("_", " ")
        if isinstance(value, str)
        else "yes"
        if value is True
        else "no"
        if value is False
        else ""
    )
    written = word.strip("[]() ").lower()
    meaning = _MARKS[written] if written in _MARKS else meant(word)
    return frozenset() if meaning is None else frozenset({meaning})
