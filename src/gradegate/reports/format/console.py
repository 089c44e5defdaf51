"""A run as lines for a terminal or a log, as ``templates/console.txt`` shows it: how much of it, how wide, and in which colours."""

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
from gradegate.reports.format.streams import coloured, has_rich
from gradegate.reports.view import wording
from gradegate.reports.view.findings import Effect, count_cases, merged, sort, told
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, GateOutcome, RuleResult
from gradegate.security.redaction import Redact
from gradegate.structs import FrozenStruct, replace

_TEXT = 500  # characters of a text of the run as a whole
_NARROW = 40  # columns of a terminal; on less, a line of the list would say nothing
_PAINTED = re.compile(r"(?:\x1b\[([\d;]+)m([^\x1b]*)\x1b\[0m)?(.*)")
_FAILED = re.compile(r"([\d,]+) of [\d,]+ cases? (?:failed|block)")
_COLUMNS, _LEAST = 110, 30  # characters of the last line, and what it has beside the report


class Tone(enum.Enum):
    """How a line is meant, by the number of its colour, so that a terminal shows it as its user has chosen."""

    PLAIN = ""
    GOOD = "32"  # green
    BAD = "1;31"  # bold red
    UNSURE = "33"  # yellow
    FAINT = "2"


class Line(FrozenStruct):
    """Text that may have several lines; ``head`` is a word of ours before it, which alone has the tone."""

    text: str
    tone: Tone = Tone.PLAIN
    head: str = ""


class View(FrozenStruct):
    """How much is shown: of how many cases of a kind the evidence, and how many characters of each text.

    ``columns`` is how wide a line of the list may be, 0 for any width; ``more`` says how to get the rest.
    """

    evidence: int = 20
    text: int = _TEXT
    columns: int = 0
    passed: bool = False
    quiet: bool = False
    more: str = "-v shows all of them, and -o results.json keeps them"


LOG = View(evidence=1000, more="")  # where nobody can ask for more afterwards
WHOLE = View(evidence=sys.maxsize, text=sys.maxsize, passed=True)
QUIET = View(quiet=True)


def fitted(view: View, stream: TextIO) -> View:
    """The view, with a list as wide as the terminal; elsewhere lines are as long as they are."""
    if not stream.isatty() or not has_rich():
        return view
    return replace(view, columns=max(_NARROW, shutil.get_terminal_size().columns))


def say(line: Line, hide: Redact, stream: TextIO | None = None) -> None:
    """Write a line without secrets; what is not our own word is harmless, and has no colour of its own."""
    stream = stream or sys.stdout
    head, text = map(hide, (line.head, line.text) if line.head else (line.text, ""))
    if line.tone.value and coloured(stream):
        text = f"\x1b[{line.tone.value}m{harmless(head)}\x1b[0m{harmless(text)}"
    else:
        text = harmless(head + text)
    stream.write(text + "\n")


def lines(
    decision: Decision, view: View, links: Links, written: Sequence[str] = ()
) -> Iterator[Line]:
    """The lines, the verdict as the last; ``written`` are the reports that are there."""
    rest = ""
    for piece in PLAIN.stream("console.txt", links=links, **_values(decision, view, written)):
        *whole, rest = (rest + piece).split("\n")
        yield from map(_line_of, whole)
    yield _line_of(rest)


def _line_of(text: str) -> Line:
    match = _PAINTED.fullmatch(text)
    assert match is not None, "a line has no line feed"
    tone, head, rest = match.groups()
    return Line(rest, Tone(tone or ""), head or "")


def _paint(tone: Tone, text: str) -> Plain:
    """A word of ours with its tone, as a terminal knows it; ``_PAINTED`` finds it again at the beginning of its line."""
    return Plain(f"\x1b[{tone.value}m{plain(text)}\x1b[0m")


def _values(decision: Decision, view: View, written: Sequence[str]) -> dict[str, Any]:
    run = decision.run
    groups = sort(decision)
    blocking = [finding.row for finding in groups[Effect.BLOCKS]]
    if not view.passed:
        groups = {effect: merged(findings) for effect, findings in groups.items()}
    passed = []
    if view.passed:
        passed = [row for _, row in told(run.rows) if row.has_passed]
    return {
        "decision": decision,
        "run": run,
        "view": view,
        # Colours
        "good": partial(_paint, Tone.GOOD),
        "bad": partial(_paint, Tone.BAD),
        "unsure": partial(_paint, Tone.UNSURE),
        "faint": partial(_paint, Tone.FAINT),
        # Cases
        "groups": groups,
        "has_list": sum(map(len, groups.values())) > 1,
        "most_listed": LOG.evidence,
        "blocking": blocking,
        "passed": passed,
        "count_cases": count_cases,
        "names": _names,
        # The run
        "rules": sorted(decision.rules, key=_gravity),
        "verdict": _fit_verdict(decision, view, written),
    }


class Verdict(FrozenStruct):
    """What stands behind the outcome in the last line, and the lines before it; empty where they are not needed."""

    text: str
    why: str
    written: str


def _fit_verdict(decision: Decision, view: View, written: Sequence[str]) -> Verdict:
    """What blocks, why, and the report to open, as far as a line has room for each; else a longer reason before it."""
    head = wording.headline(decision)
    short = wording.in_short(decision)
    why = one_line(decision.reason, _TEXT).rstrip(".")
    if short and decision.outcome is GateOutcome.PASS:
        short, why = (short, "") if decision.cases.passed == decision.cases.planned else ("", why)
    # A rule may count fewer cases than the run has: one count of failures is enough.
    failed, counted = _FAILED.match(short), _FAILED.match(why)
    if failed and counted and failed[1] == counted[1]:
        why = short + why[counted.end() :]
    short = "" if short.removesuffix("ed") in why else short
    says_why = decision.outcome is GateOutcome.PASS or not short.endswith("passed")

    path = next((path for path in written if path.endswith(".html")), next(iter(written), ""))
    most = min(_COLUMNS, view.columns or _COLUMNS) - len(head) - len(": ")
    report = f"; see {path}" if path else ""
    if max(len(short), _LEAST) + len(report) > most:  # a path that is cut leads nowhere
        report = ""
    room = most - len(report)
    alone = short if short and says_why else why
    # Where nothing stands before the line, it says why.
    last = short if says_why or not view.quiet else ""
    ways = [join_nonempty("; ", short, why), alone, last or one_line(why, room - 1)]
    text = next((text for text in ways if len(text) <= room), ways[-1])
    return Verdict(
        text + one_line(report),
        why="" if why in text or view.quiet else why,
        written=", ".join(one_line(path, 300) for path in written)
        if len(written) > bool(report)
        else "",
    )


def _names(rows: Sequence[Row], most: int, limit: int) -> str:
    """The names of the first cases. One that several have, of other models, prompts or repeats, stands once with their number."""
    counts = list(Counter(one_line(wording.name(row), limit) for row in rows).items())
    names = ", ".join(
        text if count == 1 else f"{text} ({count:,} cases)" for text, count in counts[:most]
    )
    left = sum(count for _, count in counts[most:])
    return f"{names} and {left:,} more" if left else names


def _gravity(result: RuleResult) -> int:
    """0 for what is met, 3 for what is missed and blocks."""
    if result.has_failed:
        return 3 if result.rule.blocking else 1
    return 0 if result.has_passed else 2
