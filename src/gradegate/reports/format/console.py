"""A run as lines for a terminal or a log (``templates/console.txt``): how much is shown, how wide, and in which colours."""

import enum
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TextIO

from gradegate.reports.delivery.report import Links
from gradegate.reports.format.escape import harmless, join_nonempty, one_line
from gradegate.reports.format.plain import PLAIN, Plain, plain
from gradegate.reports.format.streams import has_rich, uses_colours
from gradegate.reports.view import wording
from gradegate.reports.view.findings import (
    Effect,
    count_cases,
    findings_to_read,
    iterate_cases,
    merge_similar,
)
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome, RuleResult
from gradegate.security.redaction import Redact
from gradegate.structs import FrozenStruct, replace

_TEXT = 500  # characters of a text
_LEAST_COLUMNS = 40  # a narrower line of the list would say nothing
_PAINTED = re.compile(r"(?:\x1b\[([\d;]+)m([^\x1b]*)\x1b\[0m)?(.*)")


class Tone(enum.Enum):
    """How a line is meant. The value is the number of a colour, which the user of a terminal has chosen."""

    PLAIN = ""
    GOOD = "32"  # green
    BAD = "1;31"  # bold red
    UNSURE = "33"  # yellow
    FAINT = "2"


class Line(FrozenStruct):
    """Text that may have several lines. Only ``head``, a word of ours before the text, has the tone."""

    text: str
    tone: Tone = Tone.PLAIN
    head: str = ""


class View(FrozenStruct):
    """How much is shown."""

    evidence: int = 20  # cases of one effect that are shown with evidence
    text: int = _TEXT  # characters of each text
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
    if not line.head:  # the whole line has the tone
        head, text = text, ""
    if line.tone.value and uses_colours(stream):
        text = f"\x1b[{line.tone.value}m{harmless(head)}\x1b[0m{harmless(text)}"
    else:
        text = harmless(head + text)
    stream.write(text + "\n")


def console_lines(
    decision: Decision, view: View, links: Links, written: Sequence[str] = ()
) -> Iterator[Line]:
    """Yield the lines, the decision as the last one. ``written`` are the reports that were written."""
    rest = ""
    for piece in PLAIN.stream(
        "console.txt", links=links, **_template_values(decision, view, written)
    ):
        *whole, rest = (rest + piece).split("\n")
        yield from map(_parse_line, whole)
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
        # Colours: good, bad, unsure and faint
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
        "rules": sorted(decision.rules, key=_gravity),
        "verdict": _fit_last_line(decision, view, written),
    }


def _list_names(rows: Sequence[Row], most: int, limit: int) -> str:
    """The names of the first cases: ``Ohio (2 cases), Utah and 3 more``.

    Cases of several models, prompts or repeats may have one name.
    """
    counts = Counter(one_line(wording.visible_name(row), limit) for row in rows)
    texts = []
    for name, count in counts.items():
        texts.append(f"{name} ({count:,} cases)" if count > 1 else name)
    names = ", ".join(texts[:most])
    more = sum(list(counts.values())[most:])
    return f"{names} and {more:,} more" if more else names


def _gravity(result: RuleResult) -> int:
    """0 for a rule that is met, 3 for one that is missed and blocks."""
    if result.has_failed:
        return 3 if result.rule.blocking else 1
    return 0 if result.has_passed else 2


# --- the last line ------------------------------------------------------------------------------------------------------

_MOST_COLUMNS = 110  # characters of the last line
_LEAST_TEXT = 30  # characters that the report leaves for the text
_FAILURES = re.compile(r"([\d,]+) of [\d,]+ cases? (?:failed|block)")


class LastLine(FrozenStruct):
    """What follows the outcome in the last line, and what the lines before it say, which may be empty."""

    text: str
    why: str
    written: str


def _fit_last_line(decision: Decision, view: View, written: Sequence[str]) -> LastLine:
    """Fit what blocks, why, and the report to open into the last line. A reason without room goes before it."""
    short, why = _result_and_reason(decision)
    is_passed = decision.outcome is GateOutcome.PASS
    says_why = is_passed or not short.endswith("passed")

    # A path that is cut leads nowhere, so it is left out if there is no room.
    head = wording.headline(decision)
    room = min(_MOST_COLUMNS, view.columns or _MOST_COLUMNS) - len(f"{head}: ")
    report = ""
    if written:
        pages = [path for path in written if path.endswith(".html")]
        report = f"; see {(pages or written)[0]}"
    if max(len(short), _LEAST_TEXT) + len(report) > room:
        report = ""
    room -= len(report)

    # Without a line before it, the last line must say why.
    shortest = short if says_why or not view.quiet else ""
    texts = [
        join_nonempty("; ", short, why),
        short if short and says_why else why,
        shortest or one_line(why, room - 1),
    ]
    fitting_texts = [text for text in texts if len(text) <= room]
    text = fitting_texts[0] if fitting_texts else texts[-1]

    names = ""
    if len(written) > (1 if report else 0):
        names = ", ".join(one_line(path, 300) for path in written)
    return LastLine(
        text + one_line(report),
        why="" if why in text or view.quiet else why,
        written=names,
    )


def _result_and_reason(decision: Decision) -> tuple[str, str]:
    """The short result and the reason. Either may be empty.

    A run that passed shows only one of them: the result if all planned cases passed, else the reason. Any other run shows both,
    without what both say.
    """
    result = wording.short_result(decision)
    reason = one_line(decision.reason, _TEXT).rstrip(".")
    if result and decision.outcome is GateOutcome.PASS:
        all_passed = decision.cases.passed == decision.cases.planned
        return (result, "") if all_passed else ("", reason)

    # A rule may count fewer cases than the run has: one count of failures is enough.
    failures_in_result = _FAILURES.match(result)
    failures_in_reason = _FAILURES.match(reason)
    if failures_in_result and failures_in_reason and failures_in_result[1] == failures_in_reason[1]:
        reason = result + reason[failures_in_reason.end() :]
    # "2 of 3 cases failed" is in "2 of 3 cases fail".
    if result.removesuffix("ed") in reason:
        result = ""
    return result, reason
