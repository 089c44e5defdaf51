"""The steps of a shard and of a merge: a plan to a part, and the parts of all shards to a decision or to what is still open."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gradegate.asking import ready
from gradegate.deciding.exit import INCONCLUSIVE, INTERRUPTED, PASS, TERMINATED
from gradegate.errors import ConfigError, Origin
from gradegate.files.replacing import Place
from gradegate.planning.cache import remembered
from gradegate.planning.identity import plan_digest
from gradegate.processes import pool as programs
from gradegate.reporting.places import places
from gradegate.reporting.report import Links
from gradegate.running.run import Watch
from gradegate.steps.line_files import Damaged, checked, lines, opened, parsed, write
from gradegate.steps.merge import MOST, Merged, merged
from gradegate.steps.part_lines import OPEN, Header, OpenRecord
from gradegate.steps.parts import Collected, collect, unlike
from gradegate.steps.session import Approve, Delivered, Prepared, Progress, Spare, decided, deliver, needed, prepare
from gradegate.steps.shard_run import Found, first_round, further_round, header
from gradegate.steps.split import jobs_of
from gradegate.values.changes import Approval
from gradegate.values.figures import many
from gradegate.values.result import Decision
from gradegate.values.settings import Settings

_ROUND = "name the failures with `gradegate merge DIR --open FILE`, of the same commit and options"


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
    before, wanted = _opened(settings)
    settings = replace(settings, taken=(before.calls, before.usd)) if before else settings
    awaited = ready.read(settings.ready, settings.environ)
    prepared = prepare(settings)
    if said := spare(prepared):
        return Written(f"shard {number}/{of}: nothing to check: {said}")
    round_ = before.round if before else 1
    head = header(settings, plan_digest(prepared.plan), round_, before.basis if before else "")
    if before:
        _check(before, head, settings.open)
    path = str(Path(settings.parts) / f"part-{number}-of-{of}-round-{round_}-attempt-{head.attempt}.jsonl")
    where = places([path], settings.cwd, settings.environment)[path]
    if unasked := ready.wait(awaited, settings.environ):
        # A part all the same: without any, the merge could not tell it from a shard that was given no keys.
        head = head.model_copy(update={"unasked": unasked})
        said = f"shard {number}/{of}: {unasked}"
        return _written(where, map(prepared.seal, [head.model_dump_json()]), Written(said, path, code=INCONCLUSIVE))
    found = _found(prepared, settings, wanted, progress)
    what = many(found.answers, "answer") + (f", {many(found.failed, 'failure')}" if found.failed else "")
    stopped = found.account.stopped
    code = PASS if not stopped else TERMINATED if stopped == "terminated" else INTERRUPTED
    written = Written(f"shard {number}/{of}: {what}; `gradegate merge` decides", path, found.failed, code)
    return _written(where, map(prepared.seal, [head.model_dump_json(), *found.lines]), written)


def _written(where: Place, lines: Iterable[str], written: Written) -> Written:
    """What came of a shard once its part is there; without one, what went wrong."""
    try:
        write(where, lines)
    except OSError as e:
        problem = f"{written.path} could not be written: {e.strerror or e}"
        return Written(written.said, code=INCONCLUSIVE, problems=(problem,))
    return written


def _found(prepared: Prepared, settings: Settings, wanted: Sequence[OpenRecord] | None, progress: Progress) -> Found:
    prepared.client.replies = remembered(settings)
    gc.freeze()
    gc.enable()
    try:
        if wanted is not None:
            return further_round(prepared, settings, wanted)
        jobs = prepared.plan.jobs
        only = jobs_of(jobs, settings.shard or (1, 1))
        with progress(sum(jobs[index].repeats for index in only)) as watch:
            return first_round(prepared, settings, only, watch)
    except Damaged as e:
        raise ConfigError.at(f"the failures to ask again cannot be used: {e}", Origin(settings.open), _ROUND) from e
    finally:
        programs.end()
        if prepared.client.replies:
            prepared.client.replies.close()


def _opened(settings: Settings) -> tuple[Header | None, list[OpenRecord] | None]:
    """The first line and the failures of the file that names them; None where this is the first round. Raises ConfigError."""
    if not settings.open:
        return None, None
    try:
        with opened(settings.cwd / settings.open) as file:
            body = lines(file, checked(file).lines)
            before = parsed(Header, next(body, (1, b""))[1], 1)
            return before, [parsed(OpenRecord, line, number) for number, line in body]
    except Damaged as e:
        raise ConfigError.at(f"it names no failures to ask again: {e}", Origin(settings.open), _ROUND) from e


def _check(before: Header, own: Header, file: str) -> None:
    """Raise ConfigError where open failures are of another run."""
    wrong = "it is a part, and names no open failures" if before.gradegate != OPEN else unlike(before, own)
    if not wrong and before.of != own.of:
        wrong = f"it is of {before.of} shards, and not {own.of}"
    if wrong:
        raise ConfigError.at(wrong, Origin(file), _ROUND)


# --- a merge --------------------------------------------------------------------------------------------------


def merge(
    settings: Settings,
    names: tuple[str, ...],
    links: Links,
    progress: Progress,
    approve: Approve = Approval,
    spare: Spare = needed,
) -> Delivered:
    """The parts of all shards to a decision, with its reports; no model is asked. Raises ConfigError."""

    def evaluate(prepared: Prepared, reask: int, watch: Watch) -> Decision:
        run = _merged(prepared, settings, reask)[0].run
        programs.end()
        return decided(prepared, run, run.hidden)

    return deliver(replace(settings, cache="", ready=()), names, links, progress, approve, spare, evaluate)


def name_open(settings: Settings, spare: Spare = needed) -> Written:
    """Write the failures that the rules still need to know more of, for another round; an older file goes. Raises ConfigError."""
    prepared = prepare(replace(settings, cache=""))
    if said := spare(prepared):
        return Written(f"nothing to check: {said}")
    where = places([settings.open], settings.cwd, settings.environment)[settings.open]
    found, collected = _merged(prepared, settings, settings.reask)
    programs.end()
    failures = sum(len(it.positions) for it in found.opened)
    problems = tuple(map(prepared.hide, collected.problems[:MOST]))
    head = _head(prepared, settings, collected)
    try:
        if failures:
            write(where, map(prepared.seal, [head.model_dump_json(), *(it.model_dump_json() for it in found.opened)]))
        else:
            _remove(where)
    except OSError as e:
        what = f"{settings.open} could not be written: {e.strerror or e}"
        return Written("", code=INCONCLUSIVE, problems=(*problems, what))
    said = f"{many(failures, 'failure')} to ask again" if failures else "nothing to ask again"
    return Written(said, settings.open if failures else "", failures, PASS, problems)


def _remove(where: Place) -> None:
    where.path.unlink(missing_ok=True)


def _merged(prepared: Prepared, settings: Settings, reask: int) -> tuple[Merged, Collected]:
    own = header(settings, plan_digest(prepared.plan))
    collected = collect(settings.cwd / settings.merge, prepared.plan, own)
    return merged(prepared, collected, reask), collected


def _head(prepared: Prepared, settings: Settings, collected: Collected) -> Header:
    """The first line of a file with open failures."""
    taken = collected.accounts.values()
    own = header(settings, plan_digest(prepared.plan), collected.rounds + 1, collected.basis)
    spent = {"calls": sum(it.calls for it in taken), "usd": sum(it.usd for it in taken)}
    return own.model_copy(update={"gradegate": OPEN, "of": collected.of, **spent})
