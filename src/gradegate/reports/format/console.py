"""A run as lines for a terminal or a log: how much is shown, how wide, and in which colours.

``templates/console.txt`` has the text. It marks words with the tones that it gets as functions, and ``console_lines`` makes a
``Line`` of each line. ``write_line`` writes it without secrets.
"""

import enum
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TextIO

from gradegate.reports.delivery.report import Links
from gradegate.reports.format.escape import harmless, one_line
from gradegate.reports.format.plain import PLAIN, Plain, plain
from gradegate.reports.format.streams import has_rich, uses_colours
from gradegate.reports.format.verdict_line import fit_verdict_line
from gradegate.reports.view import wording
from gradegate.reports.view.findings import (
    Effect,
    count_cases,
    findings_to_read,
    iterate_cases,
    merge_similar,
)
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, RuleResult
from gradegate.security.redaction import Redact
from gradegate.structs import FrozenStruct, replace

_LEAST_COLUMNS = 40  # a narrower line of the list would say nothing
# A line that may begin with words in a tone, as `_paint` writes them: "\x1b[1;31mFAILED\x1b[0m  refund"
_PAINTED = re.compile(r"(?:\x1b\[([\d;]+)m([^\x1b]*)\x1b\[0m)?(.*)")


class Tone(enum.Enum):
    """How a line is meant. The value is the number of a colour, which the user of a terminal has chosen."""

    PLAIN = ""
    GOOD = "32"  # green
    BAD = "1;31"  # bold red
    UNSURE = "33"  # yellow
    FAINT = "2"


class Line(FrozenStruct):
    """Text that may have several lines. Only ``head``, words of ours before the text, has the tone."""

    text: str
    tone: Tone = Tone.PLAIN
    head: str = ""


class View(FrozenStruct):
    """How much is shown."""

    evidence: int = 20  # cases of one effect that are shown with evidence
    text: int = 500  # characters of each text
    columns: int = 0  # width of a line of the list, 0 for any width
    passed: bool = False
    quiet: bool = False
    more: str = "-v shows all of them, and -o results.json keeps them"  # how to see the rest


LOG = View(evidence=1000, more="")  # where nobody can ask for more afterwards
WHOLE = View(evidence=sys.maxsize, text=sys.maxsize, passed=True)
QUIET = View(quiet=True)


def fit_terminal(view: View, stream: TextIO) -> View:
    """Make the list as wide as the terminal. Elsewhere lines have any length."""
    if not stream.isatty() or not has_rich():
        return view
    return replace(view, columns=max(_LEAST_COLUMNS, shutil.get_terminal_size().columns))


def write_line(line: Line, hide: Redact, stream: TextIO | None = None) -> None:
    """Write a line without secrets. What is not our own word is harmless, and has no colour of its own."""
    stream = stream or sys.stdout
    head = hide(line.head)
    text = hide(line.text)
    if line.tone.value and uses_colours(stream):
        text = f"\x1b[{line.tone.value}m{harmless(head)}\x1b[0m{harmless(text)}"
    else:
        text = harmless(head + text)
    stream.write(text + "\n")


def console_lines(
    decision: Decision, view: View, links: Links, written: Sequence[str] = ()
) -> Iterator[Line]:
    """Yield the lines, the decision as the last one. ``written`` are the reports that were written."""
    values = _template_values(decision, view, written)
    rest = ""  # the beginning of a line that the next piece goes on with
    for piece in PLAIN.stream("console.txt", links=links, **values):
        *whole_lines, rest = (rest + piece).split("\n")
        yield from map(_parse_line, whole_lines)
    yield _parse_line(rest)


def _paint(tone: Tone, text: str) -> Plain:
    """A word of ours with its tone at the beginning of a line, where ``_parse_line`` finds it."""
    return Plain(f"\x1b[{tone.value}m{plain(text)}\x1b[0m")


def _parse_line(text: str) -> Line:
    match = _PAINTED.fullmatch(text)
    assert match is not None, "a line has no line feed"
    tone, head, rest = match.groups()
    return Line(rest, Tone(tone or ""), head or "")


def _template_values(decision: Decision, view: View, written: Sequence[str]) -> dict[str, Any]:
    """What ``templates/console.txt`` knows, by the names there."""
    run = decision.run
    groups = findings_to_read(decision)
    blocking = [finding.row for finding in groups[Effect.BLOCKS]]
    passed = []
    if view.passed:
        passed = [row for _, row in iterate_cases(run.rows) if row.has_passed]
    else:
        groups = {effect: merge_similar(findings) for effect, findings in groups.items()}
    return {
        "decision": decision,
        "run": run,
        "view": view,
        # Functions that give words a tone: plain, good, bad, unsure and faint
        **{tone.name.lower(): partial(_paint, tone) for tone in Tone},
        # Cases
        "groups": groups,
        "has_list": sum(map(len, groups.values())) > 1,
        "most_listed": LOG.evidence,
        "blocking": blocking,
        "passed": passed,
        "count_cases": count_cases,
        "names": _list_names,
        # The run
        "rules": sorted(decision.rules, key=_rank_rule),
        "verdict": fit_verdict_line(decision, written, view.columns, view.quiet),
    }


def _list_names(rows: Sequence[Row], most: int, limit: int) -> str:
    """The ``most`` first names of cases: ``Ohio (2 cases), Utah and 3 more``.

    Cases of several models, prompts or repeats may have one name.
    """
    counts = Counter(one_line(wording.visible_name(row), limit) for row in rows)
    texts = []
    more = len(rows)
    for name in list(counts)[:most]:
        count = counts[name]
        texts.append(f"{name} ({count:,} cases)" if count > 1 else name)
        more -= count
    names = ", ".join(texts)
    return f"{names} and {more:,} more" if more else names


def _rank_rule(result: RuleResult) -> int:
    """0 for a rule that is met, 3 for one that is missed and blocks: the last rule is next to the verdict."""
    if result.has_failed:
        return 3 if result.rule.blocking else 1
    return 0 if result.has_passed else 2
