"""The last line of a run at a terminal: the result, its reason and the report to open, as far as there is room."""

import re
from collections.abc import Sequence

from gradegate.reports.format.escape import join_nonempty, one_line
from gradegate.reports.view import wording
from gradegate.results.run_result import Decision, GateOutcome
from gradegate.structs import FrozenStruct

_MOST_COLUMNS = 110  # characters of the last line
_LEAST_TEXT = 30  # characters that the report leaves for the text
_MOST_REASON = 500  # characters
# "3 of 12 cases failed" and "1 of 1 case block" at the beginning of a text, with the number of failures
_FAILURES = re.compile(r"([\d,]+) of [\d,]+ cases? (?:failed|block)")


class VerdictLine(FrozenStruct):
    """The last line without its headline, and what the lines before it say. Each text may be empty."""

    text: str
    why: str  # the reason, if the last line has no room for it
    written: str  # the names of all reports, unless the last line has the only one


def fit_verdict_line(
    decision: Decision, written: Sequence[str], columns: int, quiet: bool
) -> VerdictLine:
    """Fit the result, the reason and the report to open into the last line.

    ``columns``: the width of the terminal, 0 for any. ``quiet``: no line before the last one says why.
    """
    headline = wording.headline(decision)
    room = min(_MOST_COLUMNS, columns or _MOST_COLUMNS) - len(f"{headline}: ")
    result, reason = _result_and_reason(decision)

    # A path that is cut leads nowhere, so it is left out if there is no room.
    report = ""
    if written:
        pages = [path for path in written if path.endswith(".html")]
        report = f"; see {(pages or written)[0]}"
    if max(len(result), _LEAST_TEXT) + len(report) > room:
        report = ""
    room -= len(report)

    # The result says why, unless it only counts what passed in a run that did not pass.
    says_why = decision.outcome is GateOutcome.PASS or not result.endswith("passed")
    shortest = result if says_why or not quiet else ""
    texts = [
        join_nonempty("; ", result, reason),
        result if result and says_why else reason,
        shortest or one_line(reason, room - 1),
    ]
    fitting_texts = [text for text in texts if len(text) <= room]
    text = fitting_texts[0] if fitting_texts else texts[-1]

    names = [one_line(path, 300) for path in written]
    is_only_report = report and len(names) == 1
    return VerdictLine(
        text + one_line(report),
        why="" if reason in text or quiet else reason,
        written="" if is_only_report else ", ".join(names),
    )


def _result_and_reason(decision: Decision) -> tuple[str, str]:
    """The result in a few words, and the reason for the decision. Either may be empty.

    A run that passed shows only one of them: the result if all planned cases passed, else the reason.
    """
    result = wording.short_result(decision)
    reason = one_line(decision.reason, _MOST_REASON).rstrip(".")
    if result and decision.outcome is GateOutcome.PASS:
        all_passed = decision.cases.passed == decision.cases.planned
        return (result, "") if all_passed else ("", reason)

    # A reason often begins with a count of failures, too. A rule may count fewer cases than the run has, so the result's count
    # takes its place: "2 of 3 cases failed" and "2 of 2 cases failed: facts" make "2 of 3 cases failed: facts".
    count_in_result = _FAILURES.match(result)
    count_in_reason = _FAILURES.match(reason)
    if count_in_result and count_in_reason and count_in_result[1] == count_in_reason[1]:
        reason = result + reason[count_in_reason.end() :]

    # What the reason says need not be said before it. It may say "2 of 3 cases fail".
    if result.removesuffix("ed") in reason:
        result = ""
    return result, reason
