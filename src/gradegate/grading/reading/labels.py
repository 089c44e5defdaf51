"""Labelled lines: ``Final answer: N``, ``**Category: (C)**``, ``The score is 7``; a label consists of known words alone.

A label with any other word in it ("wrong answer: yes", "The maximum score is 10") says something else, so it is not one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from gradegate.errors import Unreadable

T = TypeVar("T")

MOST_LINES = 20_000
LONGEST_LINE = 20_000
LONGEST = 200  # characters of a line that can be a label and a value

# Words that a label may have beside its noun; none of them denies, doubts or compares.
_FILLERS = frozenset(
    "the my our this a an overall is was of for on and that i it here now so therefore thus hence consequently accordingly finally conclude clearly indeed definitely must single short own following grader's judge's evaluator's grader judge evaluator"
    " der die das mein meine meiner endgültige endgültiges ist also daher somit la le les ma mon finale est donc el los las mi es final por tanto lo o os minha meu é"
    " portanto il mio mia è quindi de het mijn is dus min mitt är er jest moja мой моя итоговый итоговая окончательный это 最终 最終 我的 是 的 为 為 는 은".split()
)
# Nouns of a verdict, whatever it is on.
NOUNS = frozenset(
    "answer final verdict result conclusion decision judgment judgement outcome determination evaluation assessment classification grade response ruling finding"
    " final-answer antwort urteil ergebnis fazit entscheidung bewertung réponse verdicto veredicto respuesta resultado conclusión decisión resposta"
    " conclusão decisão risposta verdetto risultato conclusione antwoord oordeel conclusie svar resultat odpowiedź werdykt wynik odpověď výsledek"
    " cevap yanıt sonuç karar jawaban hasil kesimpulan ответ вердикт результат итог вывод заключение 答案 答え 回答 结论 結論 判定 判断 最终答案 最终结论 最终判定 最終答案 最終回答 最終判断 最終結論 结果 結果 판정 결론 답변 답 결과"
    " الإجابة الجواب النتيجة الحكم उत्तर निर्णय".split()
)
# How a line leads up to its label.
_CONNECTIVE = re.compile(
    r"\W*(?:to\s+(?:sum\s+up|conclude|summarize)|in\s+(?:conclusion|summary|short|sum|the\s+end)|all\s+in\s+all|all\s+things\s+considered|(?:based\s+on|given|considering|after|from)\s+(?:all\s+)?(?:this|that|these|the|my)"
    r"(?:\s+(?:above|analysis|reasoning|comparison|facts|steps|evaluation|assessment|evidence|points?|observations?|considerations?)){0,2}|as\s+a\s+result|for\s+(?:this|that)\s+reason|for\s+these\s+reasons)\b\W*",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"(?<![-=])>|<|[≥≤~≈±≠]|>=|!=|→.*→")
_SEPARATORS = ":=?,>→⇒➜-–—|*_’'"
_SEPARATED = re.compile(r"(?:[:=?→⇒➜|]|->|=>|\s[-–—])\s*$")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]|_")
_COMMENT = re.compile(r"[(\[][^()\[\]\n]{0,24}[)\]]")
_MARKS = re.compile(r"^(?:#{1,6}\s+|[-*•+]\s+(?!\[[ xX]?\]))*")  # not ">": what is quoted is nobody's own verdict
_AROUND = (
    ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("(", ")"),
    ("[", "]"), ("$$", "$$"), ("$", "$"), ("\\boxed{", "}"), ("\\text{", "}"), ("\\(", "\\)"), ("\\[", "\\]"),
)  # fmt: skip
# A longer run of signs means no more than this one, and a pattern that tries it at every place would take for ever.
_RUN = re.compile(r"((?:[^\w\n]|_){200})(?:[^\w\n]|_)++")
CHECKBOX = re.compile(r"\[[ xX✓✗]?\](?!\w)|[☐☒✗✘]")
_FENCE = re.compile(r"[ \t]*+(?:```++|~~~++)[ \t]*+[\w-]{0,20}+[ \t]*+$")
_TICKS = {"✅": "yes", "✔": "yes", "☑": "yes", "❌": "no", "✘": "no", "❎": "no"}


def lines(text: str) -> list[str]:
    """The lines that hold more than blanks, bare of them, but for those that open and close a code fence.

    Raises Unreadable for more of them than a grader writes.
    """
    rows = text.splitlines()
    if len(rows) > MOST_LINES:
        raise Unreadable(f"it has {len(rows)} lines, and at most {MOST_LINES} are read")
    if rows and max(map(len, rows)) > LONGEST_LINE:
        raise Unreadable(f"it has a line of more than {LONGEST_LINE} characters")
    return [short_runs(row.strip()) for row in rows if row.strip() and not _FENCE.match(row)]


def short_runs(text: str) -> str:
    """A text in which no more than 200 signs and blanks of a line stand together."""
    return _RUN.sub(r"\1", text)


def unwrapped(line: str) -> str:
    """A line without list marks, and without the quotes, brackets and asterisks around the whole of it."""
    line = _MARKS.sub("", line.strip(), count=1) if len(line) <= 2 * LONGEST else line
    while len(line) <= 2 * LONGEST:
        inner = _inner(line)
        if inner == line:
            break
        line = inner
    return line


def _inner(line: str) -> str:
    for opening, closing in _AROUND:
        if line.startswith(opening) and line.endswith(closing) and len(line) >= len(opening) + len(closing):
            inner = line[len(opening) : len(line) - len(closing)]
            if opening not in inner and closing not in inner:
                return inner.strip()
    return line


def is_quoted(line: str) -> bool:
    """Whether a line is a block quotation of Markdown, ``> text``."""
    return line.lstrip("*_-•+ \t").startswith((">", "＞"))


def plain(line: str) -> str:
    """A line without any of the asterisks and underscores that make it bold."""
    return line.replace("**", "").replace("__", "").replace("`", "").replace("：", ":").strip()


def is_label(text: str, nouns: Iterable[str], fillers: Iterable[str] = ()) -> bool:
    """Whether a text is a label and nothing else: at least one of the nouns, and no word that is not known."""
    scales = [match for match in _COMMENT.findall(text) if _is_scale(match)]
    for scale in scales:
        text = text.replace(scale, " ")
    if scales and not text.strip(" \t:=?*_"):
        return True
    if len(text) > LONGEST or _COMPARED.search(text):
        return False
    text = _CONNECTIVE.sub("", text, count=1) if _CONNECTIVE.match(text) else text
    allowed, named = frozenset(fillers), frozenset(nouns)
    words = [word.lower() for word in _WORD.findall(text)]
    rest = [word for word in words if word not in _SEPARATORS]
    if any(word not in named and word not in allowed and word not in _FILLERS for word in rest):
        return False
    if rest and rest[0] in ("is", "does", "are", "was", "do") and not _SEPARATED.search(text):
        return False  # a question that goes on
    return any(word in named for word in rest)


def _is_scale(comment: str) -> bool:
    """``(0-10)``, ``(out of 10)``, ``(Y/N)``, ``(A-E)``: what a label may say of the values that it takes."""
    inner = comment[1:-1].strip().lower()
    return bool(
        re.fullmatch(
            r"(?:out\s+of\s+|from\s+)?\d+(?:\s*(?:-|–|to|/)\s*\d+)?|y(?:es)?\s*(?:/|or)\s*n(?:o)?|a\s*[-–]\s*e", inner
        )
    )


def ticked(line: str) -> tuple[str, str]:
    """A line without a tick or a cross before it, and the word that this means; empty for neither."""
    word = _TICKS.get(line[:1], "")
    return (line[1:].lstrip("\ufe0f ").strip(), word) if word else (line, "")


_INLINE = re.compile(
    r"(?:^|(?<=[.!?\n;…]))[ \t>*_#-]*+([^\n.!?:;=：]{1,60}?)[ \t*_]{0,8}+[:=：][ \t*_]{0,8}+([^\n]{1,80})", re.MULTILINE
)


def labelled(text: str) -> Iterator[tuple[str, str]]:
    """What looks like a label and a value, at the start of a line or of a sentence: the two, in order."""
    for match in _INLINE.finditer(text):
        yield match[1].strip(), match[2].strip()


def opposed(text: str, nouns: Iterable[str], meaning: Callable[[str], T | None], verdict: T) -> str:
    """A labelled line of a text that means another verdict; empty for none."""
    named = frozenset(nouns)
    for label, value in labelled(text):
        meant = meaning(value) if is_label(label, named) else None
        if meant is not None and meant != verdict:
            return f"{label}: {value}"
    return ""
