"""The head of a page on GitHub: outcome, commit, run and report, a weakened gate, the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gradegate.reporting.failing import is_fixed
from gradegate.reporting.findings import told
from gradegate.reporting.markdown import code, details, fit, inline, link, sentence
from gradegate.reporting.report import Links
from gradegate.reporting.wording import HEADS, changed, compared, cure, headline, in_short, name, no_model, place, recorded, subjects, tally
from gradegate.values.changes import GUARD, GateChanges, done, guarded
from gradegate.values.figures import many
from gradegate.values.result import Decision, GateOutcome, Outcome
from gradegate.values.suite import Note

_SHORT = 7  # characters of a commit
_TITLES = 2  # configs that the first line names
_OPEN = 5  # findings about the gate that are in sight
_FIXED = 5  # fixed cases that are named


def opening(outcome: str, words: str, links: Links, titles: Iterable[str] = (), commit: str = "", what: str = "") -> str:
    """The outcome with ``what`` in a few words, and below it whose gate it is (``titles``), commit and links.

    ``outcome`` is a key of ``HEADS``; what is not known is left out.
    """
    named = list(dict.fromkeys(filter(None, titles)))
    shown = [inline(title, 80) for title in named[:_TITLES]]
    more = f" and {len(named) - _TITLES:,} more" if len(named) > _TITLES else ""
    commit = links.commit or commit
    short = commit[:_SHORT]
    first = [f"{HEADS[outcome].sign} gradegate: {words.upper()}", inline(what)]
    parts = [
        ", ".join(shown) + more,
        code(links.key, 80) if links.key else "",
        link(code(short), links.head) if short else "",
        link("run", links.run) if links.run else "",
        link("report", links.page) if links.page else "",
    ]
    second = " · ".join(filter(None, parts))
    return f"### {' · '.join(filter(None, first))}\n\n" + (f"{second}\n\n" if second else "")


def opened(decision: Decision, links: Links) -> str:
    """The head of a decision: configs are named by their descriptions, else by their files."""
    made = decision.run.made
    return opening(decision.outcome.value, headline(decision), links, subjects(decision), made.commit, in_short(decision))


def verdict(decision: Decision, links: Links, room: int, measure: Callable[[str], int], ruled: bool) -> str:
    """What stands below the first line: a weakened gate first, then why. ``ruled``: a table of the rules follows."""
    worse, other = decision.changes.parts
    warning = weakened(worse, links, room // 2, measure) if worse.found else ""
    reason = sentence(why(decision, ruled), 600)
    lines = [warning, f"{reason}\n\n" if reason else ""]
    if other.found:
        lines.append(_other(other, links, room // 2, measure, "" if worse.found else cure(other)))
    if decision.run.interrupted:
        lines.append(f"**The run stopped early:** {inline(decision.run.interrupted, 300)}\n\n")
    if unasked := no_model(decision.run.models):
        lines.append(f"**{inline(unasked, 400)}.**\n\n")
    if said := recorded(decision.run.made):
        lines.append(f"{inline(said, 1200)}.\n\n")
    return "".join(lines)


def tallied(decision: Decision) -> str:
    """How many, and what changed against the base."""
    return f"{tally(decision)}.{_against(decision)}\n\n"


def why(decision: Decision, ruled: bool) -> str:
    """Why, without what the table of rules (``ruled``) or the warning about the gate says already."""
    missed = any(result.rule.blocking and result.outcome is Outcome.FAIL for result in decision.rules)
    if ruled and (missed or decision.outcome is GateOutcome.PASS):
        return ""
    if not decision.changes.weakened:
        return decision.reason
    said = decision.reason
    for text in (f"{GUARD}: {guarded(decision.changes)}", done(decision.changes)):
        said = said.replace(text, "")
    return said.strip("; ")


def _against(decision: Decision) -> str:
    """What changed against the base, with the names of some cases that are fixed."""
    said = compared(decision.run.baseline)
    if not said:
        return ""
    fixed = [name(row) for _, row in told(decision.run.rows) if is_fixed(row)]
    names = ", ".join(inline(text, 60) for text in fixed[:_FIXED])
    more = f" and {len(fixed) - _FIXED:,} more" if len(fixed) > _FIXED else ""
    return f"<br>{inline(said, 400)}.{f' Fixed: {names}{more}.' if names else ''}"


# --- what the pull request does to its gate ---------------------------------------------------------------------


def weakened(changes: GateChanges, links: Links, room: int, measure: Callable[[str], int]) -> str:
    """A warning, with the first findings in sight and the rest folded."""
    lines = _fitted(changes, links, room, measure)
    shown, rest = [*lines[:_OPEN]], lines[_OPEN:]
    advice = sentence(cure(changes), 600)
    parts = [f"**{inline(changed(changes), 400)}**\n\n", *shown, f"\n{advice}\n" if advice else ""]
    quoted = "".join(f"> {line}".rstrip() + "\n" for line in "".join(parts).rstrip().split("\n"))
    folded = details(f"{len(changes.found) - len(shown):,} more changes of the gate", "".join(rest)) + "\n"
    return f"> [!WARNING]\n{quoted}\n" + (folded if rest else "")


def _other(changes: GateChanges, links: Links, room: int, measure: Callable[[str], int], said: str) -> str:
    """The findings that make the gate only other than before; ``said`` is what to do."""
    advice = sentence(said, 600)
    lines = "".join(_fitted(changes, links, room, measure))
    return f"{inline(changed(changes), 400)}:\n\n{lines}" + (f"\n{advice}\n\n" if advice else "\n")


def _fitted(changes: GateChanges, links: Links, room: int, measure: Callable[[str], int]) -> list[str]:
    lines = fit((note(Note(f"{change.kind.value}: {change.text}", change.origin), links) for change in changes.found), room, measure)
    left = len(changes.found) - len(lines)
    return [*lines, *([f"- {left:,} more in results.json\n"] if left else [])]


def note(said: Note, links: Links) -> str:
    """A note as an item of a list, with the line that it is about."""
    where = place(said.origin)
    url = links.line(said.origin.file, said.origin.line) if said.origin else ""
    return f"- {sentence(said.text, 400)}" + (f" ({link(inline(where, 300), url)})" if where else "") + "\n"


def notes(said: Sequence[Note], links: Links, room: int, measure: Callable[[str], int], most: int) -> str:
    """Notes of a run: a few are in sight, many are folded."""
    lines = fit((note(one, links) for one in said), room, measure)
    if len(said) > len(lines):
        lines.append(f"- {many(len(said) - len(lines), 'more note')} in results.json\n")
    text = "".join(lines)
    return "" if not lines else f"{text}\n" if len(said) <= most else details(many(len(said), "note"), text) + "\n"
