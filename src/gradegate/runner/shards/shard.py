"""Runs a shard: asks its share of a plan once and writes a part. The merge decides."""

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
from gradegate.runner.shards.part_file import FOLDER, with_footer
from gradegate.runner.shards.records import AccountRow, AnswerRow, make_header
from gradegate.security.redaction import unchanged
from gradegate.structs import FrozenStruct, replace


class ShardReport(FrozenStruct):
    """The last line of a shard, and its exit code. ``problem`` says why the part could not be written."""

    text: str
    code: int = PASS
    problem: str = ""


def run_shard(context: Context, hooks: RunHooks) -> ShardReport:
    """Ask this shard's share of the plan and write its part; nothing is decided. Raises ConfigError.

    If nothing needs to be asked, there is no part: the merge finds the same and needs none.
    """
    number, shard_count = context.settings.shard or (1, 1)
    name = f"shard {number}/{shard_count}"
    attempt = parse_whole_number(context.environment.run[1], 1) or 1
    path = f"{FOLDER}/part-{number}-of-{shard_count}-attempt-{attempt}.jsonl"
    session = Session.from_context(context, [path])
    preparation = session.preparation
    plan = preparation.plan

    reason = hooks.reason_not_to_ask(preparation)
    if reason:
        return ShardReport(f"{name}: nothing to check: {reason}")

    header = make_header(context, plan, number, shard_count, attempt)
    reason = session.wait_until_ready()
    if reason:
        # Without a part, the merge would think that this shard had no keys.
        problem = _write_part(session, path, [encode(replace(header, unasked=reason))])
        return ShardReport(f"{name}: {reason}", INCONCLUSIVE, problem)

    shard_by_job = assign_shards(plan.jobs, shard_count)
    indexes = [index for index, shard in shard_by_job.items() if shard == number]
    answer_count = sum(plan.jobs[index].repeats for index in indexes)
    with hooks.progress(answer_count) as watch:
        # The run is made while the cache is open.
        answers, record = session.ask(
            lambda: Run(plan, preparation.client, watch).ask_share(indexes)
        )

    rows = (
        encode(AnswerRow.from_answer(answer, plan.jobs[answer.id.case], preparation.hide))
        for answer in answers.values()
    )
    account = encode(AccountRow.from_record(record, preparation))
    problem = _write_part(session, path, chain([encode(header)], rows, [account]))

    counts = format_count(len(answers), "answer")
    failures = sum(answer.row.has_failed for answer in answers.values())
    if failures:
        counts += f", {format_count(failures, 'failure')}"
    code = _shard_exit_code(problem, record.stopped)
    return ShardReport(f"{name}: {counts}; `gradegate merge` decides", code, problem)


def _shard_exit_code(problem: str, stopped: str) -> int:
    """The exit code of a shard that asked. ``stopped`` says why it ended early."""
    if problem:
        return INCONCLUSIVE
    if not stopped:
        return PASS
    if stopped == "terminated":
        return TERMINATED
    return INTERRUPTED


def _write_part(session: Session, path: str, lines: Iterable[str]) -> str:
    """Write the part with its footer. Gives why that failed."""
    public = with_footer(map(session.preparation.seal, lines))
    problems = write_documents({path: lambda: data_file(public)}, session.places, unchanged)
    return "".join(problems.values())
