"""The ways of a run in shards: a plan to a part, and the parts of all shards to a decision or to what is still open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gradegate import __version__
from gradegate.deciding.exit import INCONCLUSIVE, INTERRUPTED, PASS, TERMINATED
from gradegate.errors import ConfigError, Origin
from gradegate.files.replacing import Place
from gradegate.options import whole_number
from gradegate.planning.identity import plan_digest
from gradegate.replies.parts import FORMAT, OPEN, PART, Damaged, Header, read, write
from gradegate.reporting.visible import one_line
from gradegate.running.run import Watch
from gradegate.steps.collection import Collected, collect
from gradegate.steps.merge import MOST, Merged, merged
from gradegate.steps.preparation import Prepared
from gradegate.steps.records import OpenRecord
from gradegate.steps.session import Progress, Session, Spare, needed
from gradegate.steps.shard_run import Found, first_round, further_round
from gradegate.steps.split import jobs_of
from gradegate.values.figures import many
from gradegate.values.result import RunResult
from gradegate.values.settings import Settings

_ROUND = "name the failures with `open` of a merge, of the same commit and options"


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a shard, or of naming open failures: a sentence, the file, how many failures it names, what to exit with."""

    said: str
    path: str = ""
    failures: int = 0
    code: int = PASS
    problems: tuple[str, ...] = ()


# --- a shard --------------------------------------------------------------------------------------------------


def ask(settings: Settings, progress: Progress, spare: Spare = needed) -> Written:
    """Ask what is this shard's and write its part; nothing is decided. Raises ConfigError.

    ``spare`` says why nothing needs to be asked; the merge, which is told the same, then wants no part.
    """
    number, of = settings.shard or (1, 1)
    before, wanted = _opened(settings) if settings.open else (None, None)
    settings = replace(settings, taken=(before.calls, before.usd)) if before else settings
    round_, basis = (before.round, before.basis) if before else (1, "")
    attempt = whole_number(settings.environment.run[1], 1) or 1
    path = str(Path(settings.parts) / f"part-{number}-of-{of}-round-{round_}-attempt-{attempt}.jsonl")
    session = Session.begin(settings, [path], spare)
    where, prepared, shard = session.where[path], session.prepared, f"shard {number}/{of}"
    if session.spared:
        return Written(f"{shard}: nothing to check: {session.spared}")
    head = _header(settings, prepared, round=round_, basis=basis, attempt=attempt)
    if before and (wrong := _unlike(before, head)):
        raise _unusable(wrong, settings)
    if unasked := session.wait():
        # A part all the same: without any, the merge could not tell it from a shard that was given no keys.
        head = head.model_copy(update={"unasked": unasked})
        return _written(where, prepared, [head.model_dump_json()], Written(f"{shard}: {unasked}", path, code=INCONCLUSIVE))
    try:
        found = session.evaluate(partial(_asked, session, wanted, progress))
    except Damaged as e:
        raise _unusable(f"the failures to ask again cannot be used: {e}", settings) from e
    what = many(found.answers, "answer") + (f", {many(found.failed, 'failure')}" if found.failed else "")
    code = PASS if not found.stopped else TERMINATED if found.stopped == "terminated" else INTERRUPTED
    written = Written(f"{shard}: {what}; `gradegate merge` decides", path, found.failed, code)
    return _written(where, prepared, [head.model_dump_json(), *found.lines], written)


def _asked(session: Session, wanted: list[OpenRecord] | None, progress: Progress) -> Found:
    prepared, settings = session.prepared, session.settings
    if wanted is not None:
        return further_round(prepared, settings, wanted)
    jobs = prepared.plan.jobs
    with progress(sum(jobs[index].repeats for index in jobs_of(jobs, settings.shard or (1, 1))), ()) as watch:
        return first_round(prepared, settings, watch)


def _opened(settings: Settings) -> tuple[Header, list[OpenRecord]]:
    """The first line and the failures of the file that names them. Raises ConfigError."""
    try:
        file = read(settings.cwd / settings.open)
        return file.header, list(file.records(OpenRecord))
    except Damaged as e:
        raise _unusable(f"it names no failures to ask again: {e}", settings) from e


def _unusable(why: str, settings: Settings) -> ConfigError:
    return ConfigError.at(one_line(why, 300), Origin(settings.open), _ROUND)


def _unlike(before: Header, own: Header) -> str:
    """Why open failures are of another run; an empty string where they are of one's own."""
    if before.gradegate != OPEN:
        return "it is a part, and names no open failures"
    return before.unlike(own) or (f"it is of {before.of} shards, and not {own.of}" if before.of != own.of else "")


def _written(where: Place, prepared: Prepared, lines: Iterable[str], written: Written) -> Written:
    """What came of it once the file is there; without one, what went wrong."""
    try:
        write(where, map(prepared.seal, lines))
    except OSError as e:
        problem = f"{written.path} could not be written: {e.strerror or e}"
        return replace(written, path="", failures=0, code=INCONCLUSIVE, problems=(*written.problems, problem))
    return written


# --- a merge --------------------------------------------------------------------------------------------------


def of_merge(settings: Settings) -> Settings:
    """The settings of a merge, which asks nobody."""
    return replace(settings, cache="", ready=())


def answered_by_parts(prepared: Prepared, settings: Settings, watch: Watch) -> RunResult:
    """Everything that is planned, as the parts of all shards have it; no model is asked. Raises ConfigError."""
    return _merged(prepared, settings)[0].run


def name_open(settings: Settings, spare: Spare = needed) -> Written:
    """Write the failures that the rules still need to know more of, for another round; an older file goes. Raises ConfigError."""
    session = Session.begin(of_merge(settings), [settings.open], spare)
    prepared, where = session.prepared, session.where[settings.open]
    if session.spared:
        return Written(f"nothing to check: {session.spared}")
    found, collected = session.evaluate(partial(_merged, prepared, settings))
    failures = sum(len(positions) for positions, _ in found.opened)
    problems = tuple(map(prepared.hide, collected.problems[:MOST]))
    if failures:
        budget = found.run.budget
        spent = {"calls": budget.calls, "usd": budget.usd} if budget else {}
        head = _header(settings, prepared, gradegate=OPEN, of=collected.of, round=collected.rounds + 1, basis=collected.basis, **spent)
        lines = [head.model_dump_json(), *(line for _, line in found.opened)]
        written = Written(f"{many(failures, 'failure')} to ask again", settings.open, failures, PASS, problems)
        return _written(where, prepared, lines, written)
    try:
        where.path.unlink(missing_ok=True)
    except OSError as e:
        what = f"{settings.open} could not be written: {e.strerror or e}"
        return Written("", code=INCONCLUSIVE, problems=(*problems, what))
    return Written("nothing to ask again", problems=problems)


def _merged(prepared: Prepared, settings: Settings) -> tuple[Merged, Collected]:
    collected = collect(settings.cwd / settings.merge, prepared.plan, _header(settings, prepared))
    return merged(prepared, collected, settings.reask), collected


def _header(settings: Settings, prepared: Prepared, **more: Any) -> Header:
    """The first line of this shard's part, or of what is the whole plan's."""
    number, of = settings.shard or (0, 1)
    own = {"gradegate": PART, "format": FORMAT, "version": __version__, "shard": number, "of": of, "round": 1, "attempt": 1}
    of_run = {"plan": plan_digest(prepared.plan), "commit": settings.commit, "run": settings.environment.run[0]}
    return Header.model_validate({**own, **of_run, **more})
