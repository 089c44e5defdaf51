"""The ways of a run in shards: a plan to a part, and the parts of all shards to a decision or to what is still open."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from gradegate.core.numbers import many
from gradegate.core.options import whole_number
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError, Origin
from gradegate.gate.exit_codes import INCONCLUSIVE, INTERRUPTED, PASS, TERMINATED
from gradegate.planning.groups import owners
from gradegate.reports.delivery.deliver import write_documents
from gradegate.reports.delivery.report import Document, Sink
from gradegate.reports.format.escape import one_line
from gradegate.results.grades import Outcome
from gradegate.results.run_result import RunResult
from gradegate.runner.conclusion import Account
from gradegate.runner.prepare import Prepared
from gradegate.runner.reasks.eligible import Askable
from gradegate.runner.run import Run, Watch
from gradegate.runner.session import Progress, Session, Spare, needed
from gradegate.runner.shards.merge import MOST, header, merged, open_rows
from gradegate.runner.shards.part_file import OPEN, Damaged, Header, closed, read
from gradegate.runner.shards.records import AccountRow, AnswerRow, AsksRow, Book
from gradegate.security.redaction import unchanged
from gradegate.structs import Struct, replace

_ROUND = "name the failures with `open` of a merge, of the same commit and options"


class Written(Struct, frozen=True):
    """What came of a shard, or of naming open failures: a sentence, the file, how many failures it names, what to exit with."""

    said: str
    path: str = ""
    failures: int = 0
    code: int = PASS
    problems: tuple[str, ...] = ()


def _written(
    session: Session,
    head: Header,
    rows: Iterable[str],
    written: Written,
    account: Account | None = None,
) -> Written:
    """What came of it once the file is there; without one, what went wrong."""
    last = [AccountRow.line_of(account, session.prepared)] if account else []
    lines = closed(map(session.prepared.seal, (head.model_dump_json(), *rows, *last)))
    problems = write_documents(
        {written.path: lambda: Document(Sink.FILE, lines)}, session.where, unchanged
    )
    if problems:
        return replace(
            written,
            path="",
            failures=0,
            code=INCONCLUSIVE,
            problems=(*written.problems, *problems.values()),
        )
    return written


# --- a shard --------------------------------------------------------------------------------------------------


_Found = tuple[
    Iterable[str], Account, int, int
]  # the rows of a part and what they took; how many answers and failures they are about


def ask(settings: Settings, progress: Progress, spare: Spare = needed) -> Written:
    """Ask what is this shard's and write its part; nothing is decided. Raises ConfigError.

    ``spare`` says why nothing needs to be asked; the merge, which is told the same, then wants no part.
    """
    number, of = settings.shard or (1, 1)
    before, rows, taken = _opened(settings) if settings.open else (None, None, (0, 0.0))
    settings = replace(settings, taken=taken)
    round_, basis = (before.round, before.basis) if before else (1, "")
    attempt = whole_number(settings.environment.run[1], 1) or 1
    path = str(
        Path(settings.parts) / f"part-{number}-of-{of}-round-{round_}-attempt-{attempt}.jsonl"
    )
    session, shard = Session.begin(settings, [path], spare), f"shard {number}/{of}"
    if session.spared:
        return Written(f"{shard}: nothing to check: {session.spared}")
    head = header(settings, session.prepared.plan, round=round_, basis=basis, attempt=attempt)
    if before:
        number_differs = f"it is for {before.of} shards, not {of}" if before.of != of else ""
        unlike = (
            before.unlike(head)
            if before.gradegate == OPEN
            else "it is a part, and names no open failures"
        )
        if wrong := unlike or number_differs:
            raise _unusable(wrong, settings)
    if unasked := session.wait():
        # A part all the same: without any, the merge could not tell it from a shard that was given no keys.
        head = head.model_copy(update={"unasked": unasked})
        return _written(session, head, (), Written(f"{shard}: {unasked}", path, code=INCONCLUSIVE))
    try:
        asked = (
            partial(_first_round, session, progress)
            if rows is None
            else partial(_further_round, session, rows)
        )
        found, account, answers, failed = session.evaluate(asked)
    except Damaged as e:
        raise _unusable(f"the failures to re-ask cannot be used: {e}", settings) from e
    what = many(answers, "answer") + (f", {many(failed, 'failure')}" if failed else "")
    code = {"": PASS, "terminated": TERMINATED}.get(account.stopped, INTERRUPTED)
    return _written(
        session,
        head,
        found,
        Written(f"{shard}: {what}; `gradegate merge` decides", path, failed, code),
        account,
    )


def _first_round(session: Session, progress: Progress) -> _Found:
    """Ask the shard's jobs once."""
    prepared, jobs, (number, of) = (
        session.prepared,
        session.prepared.plan.jobs,
        session.settings.shard or (1, 1),
    )
    mine = [index for index, owner in owners(jobs, of).items() if owner == number]
    with progress(sum(jobs[index].repeats for index in mine), ()) as watch:
        asked, account = Run(
            prepared.plan, prepared.client, session.settings.grader_retries, watch
        ).first(mine, labels=number == 1)
    rows = (
        AnswerRow.line_of(place, it, jobs[place[0]], prepared.hide) for place, it in asked.items()
    )
    return rows, account, len(asked), sum(it.row.outcome is Outcome.FAIL for it in asked.values())


def _further_round(session: Session, rows: Sequence[AnswerRow]) -> _Found:
    """Ask the shard's share of open failures again. Raises Damaged where the plan has no such answer."""
    prepared, plan, (number, of) = (
        session.prepared,
        session.prepared.plan,
        session.settings.shard or (1, 1),
    )
    book, askable = Book(plan), Askable(plan)
    planned = {
        (index, repeat) for index, job in enumerate(plan.jobs) for repeat in range(job.repeats)
    }
    mine = {
        (row.place, row.repeat): row.open
        for row in [row for row in rows if row.open][number - 1 :: of]
    }
    for row in rows:
        place = row.place, row.repeat
        if place in mine or not row.open:  # an answer of the base
            book.add_answer(row, planned, "the plan")
            if not askable.open_in(
                book.asked[place].job or plan.jobs[row.place], book.asked[place].row
            ).issuperset(row.open):
                raise Damaged(f"answer {row.place} has no such open grade")
    gathered, account = Run(plan, prepared.client, session.settings.grader_retries).again(
        book.asked, mine
    )
    return (
        (AsksRow.line_of(it, prepared.hide) for it in gathered.scheduler.said),
        account,
        len(mine),
        sum(map(len, mine.values())),
    )


def _opened(settings: Settings) -> tuple[Header, list[AnswerRow], tuple[int, float]]:
    """The first line and the failures of the file that names them, and what all shards took so far. Raises ConfigError."""
    rows: list[AnswerRow] = []
    try:
        file = read(settings.cwd / settings.open)
        budget = file.read(AnswerRow, rows.append, AccountRow).account.budget
    except Damaged as e:
        raise _unusable(f"it names no failures to re-ask: {e}", settings) from e
    return file.header, rows, (max(0, budget.calls), max(0.0, budget.usd)) if budget else (0, 0.0)


def _unusable(why: str, settings: Settings) -> ConfigError:
    return ConfigError.at(one_line(why, 300), Origin(settings.open), _ROUND)


# --- a merge --------------------------------------------------------------------------------------------------


def of_merge(settings: Settings) -> Settings:
    """The settings of a merge, which asks nobody."""
    return replace(settings, cache="", ready=())


def answered_by_parts(prepared: Prepared, settings: Settings, watch: Watch) -> RunResult:
    """Everything that is planned, as the parts of all shards have it; no model is asked. Raises ConfigError."""
    return merged(prepared, settings).run


def name_open(settings: Settings, spare: Spare = needed) -> Written:
    """Write the failures that the rules still need to know more of, for another round; an older file goes. Raises ConfigError."""
    session = Session.begin(of_merge(settings), [settings.open], spare)
    if session.spared:
        return Written(f"nothing to check: {session.spared}")
    found = session.evaluate(partial(merged, session.prepared, settings))
    failures, parts = sum(map(len, found.opened.values())), found.parts
    problems = tuple(map(session.prepared.hide, parts.problems[:MOST]))
    if failures:
        head = header(
            settings,
            session.prepared.plan,
            gradegate=OPEN,
            of=parts.of,
            round=parts.rounds + 1,
            basis=parts.basis,
        )
        written = Written(
            f"{many(failures, 'failure')} to re-ask", settings.open, failures, PASS, problems
        )
        return _written(session, head, open_rows(found, session.prepared), written, found.account)
    try:
        session.where[settings.open].path.unlink(missing_ok=True)
    except OSError as e:
        what = f"{settings.open} could not be written: {e.strerror or e}"
        return Written("", code=INCONCLUSIVE, problems=(*problems, what))
    return Written("nothing to re-ask", problems=problems)
