"""A shard: asks its share of a plan once and writes a part. The merge decides."""

from collections.abc import Iterable
from itertools import chain

from gradegate.config.context import Context
from gradegate.core.numbers import format_count
from gradegate.core.options import parse_whole_number
from gradegate.gate.exit_codes import INCONCLUSIVE, INTERRUPTED, PASS, TERMINATED
from gradegate.planning.groups import assign_shards
from gradegate.reports.delivery.deliver import write_documents
from gradegate.reports.delivery.report import data_file
from gradegate.results.encoding import encode
from gradegate.runner.run import Run
from gradegate.runner.session import RunHooks, Session
from gradegate.runner.shards.part_file import FOLDER, closed
from gradegate.runner.shards.records import AccountRow, AnswerRow, header_of
from gradegate.security.redaction import unchanged
from gradegate.structs import FrozenStruct, replace


class ShardReport(FrozenStruct):
    """What a shard says at its end, and its exit code. ``problem`` says why its part could not be written."""

    text: str
    code: int = PASS
    problem: str = ""


def run_shard(context: Context, hooks: RunHooks) -> ShardReport:
    """Ask this shard's share of the plan and write its part; nothing is decided. Raises ConfigError.

    If nothing needs to be asked, the merge knows the same, and then wants no part.
    """
    number, of = context.settings.shard or (1, 1)
    name = f"shard {number}/{of}"
    attempt = parse_whole_number(context.environment.run[1], 1) or 1
    path = f"{FOLDER}/part-{number}-of-{of}-attempt-{attempt}.jsonl"
    session = Session.begin(context, [path])
    prepared, jobs = session.prepared, session.prepared.plan.jobs
    if reason := hooks.spare(prepared):
        return ShardReport(f"{name}: nothing to check: {reason}")
    header = header_of(context, prepared.plan, number, of, attempt)
    if unasked := session.wait():
        # A part all the same: without it, the merge could not tell this shard from one without keys.
        problem = _write(session, path, [encode(replace(header, unasked=unasked))])
        return ShardReport(f"{name}: {unasked}", INCONCLUSIVE, problem)

    own_jobs = [index for index, owner in assign_shards(jobs, of).items() if owner == number]
    with hooks.progress(sum(jobs[index].repeats for index in own_jobs)) as watch:
        answers, account = session.evaluate(
            lambda: Run(prepared.plan, prepared.client, watch).first(own_jobs)
        )
    rows = (
        encode(AnswerRow.from_answer(answer, jobs[answer.id.case], prepared.hide))
        for answer in answers.values()
    )
    last = encode(AccountRow.from_account(account, prepared))
    problem = _write(session, path, chain([encode(header)], rows, [last]))
    failures = sum(answer.row.has_failed for answer in answers.values())
    counts = format_count(len(answers), "answer") + (
        f", {format_count(failures, 'failure')}" if failures else ""
    )
    code = {"": PASS, "terminated": TERMINATED}.get(account.stopped, INTERRUPTED)
    return ShardReport(
        f"{name}: {counts}; `gradegate merge` decides",
        INCONCLUSIVE if problem else code,
        problem,
    )


def _write(session: Session, path: str, lines: Iterable[str]) -> str:
    """Write the part with its footer; gives why that failed."""
    sealed = closed(map(session.prepared.seal, lines))
    problems = write_documents({path: lambda: data_file(sealed)}, session.where, unchanged)
    return "".join(problems.values())
