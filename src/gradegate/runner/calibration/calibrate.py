"""Runs the two commands that do not gate.

`gradegate calibrate` grades labelled outputs and measures how often graders and people agree. `gradegate cases` lists the
calls that a plan would make.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec.structs import asdict

from gradegate.config.context import Context
from gradegate.config.load import SuiteFile
from gradegate.core.numbers import (
    describe_usage,
    format_count,
    format_number,
    format_percent,
    format_percents,
)
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.gate.calibration import (
    MIN_ASKS,
    MIN_FLIP_VOTES,
    MIN_LABELS,
    NOISE_LIMITS,
    Agreement,
    Calibration,
    JudgedOutput,
    Share,
)
from gradegate.gate.exit_codes import INCONCLUSIVE, INTERRUPTED, MISTAKE, PASS, TERMINATED
from gradegate.gate.statistics import CrossTable
from gradegate.planning.identity import planned_calls
from gradegate.planning.planner import MAX_REPEATS
from gradegate.planning.recorded_answers import describe_call
from gradegate.reports.delivery.deliver import write_documents
from gradegate.reports.delivery.redact import redact_values
from gradegate.reports.delivery.report import Console, Document, data_file
from gradegate.reports.format.escape import OLD_COMMAND, clip, harmless, one_line
from gradegate.reports.view.wording import (
    assertion_name,
    origin_text,
    recorded_models_notice,
    visible_name,
)
from gradegate.results.encoding import to_plain_data
from gradegate.results.grades import Outcome
from gradegate.results.run_result import RunResult
from gradegate.runner.calibration import drift, labels
from gradegate.runner.prepare import Preparation
from gradegate.runner.session import Progress, Session
from gradegate.security.redaction import unchanged
from gradegate.structs import FrozenStruct, NamedTexts, replace

VERSION = 1  # of the JSON
_HEADER = (
    "Assertion",
    "Labels",
    "Agree",
    "Kappa",
    "Good ones passed (TPR)",
    "Bad ones failed (TNR)",
    "Minority votes",
    "No verdict",
)
_SHORT = 500  # characters of a text
_MOST = 1000  # outputs of one kind in a log
_RATES = (0.8, 0.9, 0.95)


class CalibrationDelivery(FrozenStruct):
    """A calibration with its text for people, in parts. ``failures`` say why a report file could not be written, by its path."""

    calibration: Calibration
    text: Iterable[str]
    failures: NamedTexts


def calibrate_graders(
    context: Context, path: str, asks: int, progress: Progress
) -> CalibrationDelivery:
    """Grade the labelled outputs of a file, each ``asks`` times, and write the reports. Raises ConfigError."""
    settings = context.settings
    _check_request(settings.outputs, asks)

    # Plan the cases of the labels in place of those of the configs.
    selected: list[labels.SelectedLabel] = []

    def select_labelled(suites: list[SuiteFile]) -> list[SuiteFile]:
        lines = labels.read_labels(path, context)
        selection = labels.select_cases(lines.labels, suites, asks)
        selected.extend(selection.labels)
        # The planner reports mistakes of labels with those of the first config.
        first, *rest = selection.suites
        mistakes = (*first.suite.mistakes, *lines.mistakes, *selection.mistakes)
        return [replace(first, suite=replace(first.suite, mistakes=mistakes)), *rest]

    labels_output = settings.write_labels
    outputs = list(settings.outputs)
    if labels_output:
        outputs.append(labels_output)
    labels_path = (context.cwd / path).resolve()
    session = Session.from_context(context, outputs, select_labelled, inputs=[labels_path])

    # Without rules nothing is re-asked: each ask is compared with its label.
    jobs = labels.label_jobs(session.preparation.plan, selected, asks)
    asks_model = [drift.is_graded_by_model(job) for job in jobs[: len(selected)]]
    model_count = sum(asks_model)
    if labels_output and model_count < drift.LEAST:
        what = f"a model grades {format_count(model_count, 'labelled output')}, and a file for `labels` has at least {drift.LEAST}"
        raise ConfigError.at(what, Origin("<--write-labels>"), "label more outputs")
    plan = replace(session.preparation.plan, jobs=jobs, policies=())
    preparation = replace(session.preparation, plan=plan)
    run = session.run(preparation, progress)

    # The run has a row for each output at the first ask, then for each at the second, ...
    judged = []
    for number, labelled in enumerate(selected):
        label = labelled.label
        origin = redact_values(label.origin, preparation.hide)
        rows = run.rows[number :: len(selected)]
        judged.append(JudgedOutput(label.passes, origin, rows, asks_model[number]))
    calibration = Calibration(tuple(judged), asks, run)

    documents = dict.fromkeys(settings.outputs, partial(json_report, calibration))
    if labels_output and calibration.overall.agreement.count:
        documents[labels_output] = partial(drift.labels_file, calibration, selected)
    failures = write_documents(documents, session.places, preparation.seal)
    text = map(preparation.seal, console_report(calibration).parts)
    return CalibrationDelivery(calibration, text, failures)


def _check_request(outputs: Iterable[str], asks: int) -> None:
    """Raise ConfigError for a report that is not JSON, or for too many asks."""
    mistakes = [
        Mistake(f"no report of a calibration is written as `{output}`", None, "end it with .json")
        for output in outputs
        if not output.endswith(".json")
    ]
    if mistakes:
        raise ConfigError(*mistakes)
    if asks > MAX_REPEATS:
        what = f"`--asks` is more than {MAX_REPEATS:,}"
        raise ConfigError.at(what, None, "ask less often; 3 to 10 show the noise")


def calibration_exit_code(calibration: Calibration) -> int:
    """0 if an output could be compared with its label, else 3, or 2 for a wrong key or model; 130, 143 if interrupted."""
    if calibration.run.interrupted:
        return TERMINATED if calibration.run.interrupted == "terminated" else INTERRUPTED
    if sum(calibration.overall.table):
        return PASS
    return MISTAKE if calibration.run.has_setup_error else INCONCLUSIVE


# --- gradegate cases --------------------------------------------------------------------------------------------


def list_calls(context: Context, output: str) -> Iterator[str]:
    """Every planned call to a target as a JSON line. Writes them to ``output``, or gives them if it is empty.

    No key is needed, and nothing is asked. Raises ConfigError.
    """
    settings = replace(context.settings, is_listing=True, base_checkout="")
    context = replace(context, settings=settings, keyless=True)
    session = Session.from_context(context, [output] if output else [])
    lines = _call_lines(session.preparation)
    if not output:
        return lines
    failures = write_documents({output: lambda: data_file(lines)}, session.places, unchanged)
    for failure in failures.values():
        raise ConfigError.at(failure, None, "name another file")
    return iter(())


def _call_lines(preparation: Preparation) -> Iterator[str]:
    for call in planned_calls(preparation.plan.jobs):
        content = redact_values(to_plain_data(describe_call(call)), preparation.hide)
        # Only ASCII, and no workflow command: neither a terminal nor a reader of lines is misled.
        line = json.dumps({"id": call.id, **content})
        yield OLD_COMMAND.sub(r"#\\u0023", line) + "\n"


# --- the reports of a calibration -------------------------------------------------------------------------------


def json_report(calibration: Calibration) -> Document:
    """The calibration for programs, as JSON. docs/calibrate.md explains the keys."""
    run = calibration.run
    usage = asdict(run.grader_usage)
    known_usd = usage.pop("cost")
    content = {
        "version": VERSION,
        "made": run.made,
        "asks": calibration.asks,
        "outputs_graded": len(calibration.judged),
        "noise": calibration.noise,
        "noise_bound": calibration.noise_bound,
        "overall": _agreement_figures(calibration.overall),
        "assertions": [
            {
                "assertion": agreement.assertion,
                "metric": agreement.metric,
                **_agreement_figures(agreement),
            }
            for agreement in calibration.assertions
        ],
        "interrupted": run.interrupted,
        "notes": [note.text for note in run.notes],
        "models": list(map(str, run.models)),
        "keys": run.keys,
        "hidden": run.hidden,
        "grader": {
            "cost_usd": run.grader_usage.known_cost,
            "known_usd": known_usd,
            **usage,
        },
        "seconds": run.seconds,
        "outputs": list(map(_output_figures, calibration.judged)),
    }
    return data_file([json.dumps(to_plain_data(content), ensure_ascii=False, indent=1), "\n"])


def _agreement_figures(agreement: Agreement) -> dict[str, Any]:
    """The figures of an agreement, as in the JSON report."""
    table = agreement.table
    share = agreement.agreement
    kappa = agreement.kappa
    tpr = agreement.tpr
    tnr = agreement.tnr
    return {
        "labels": sum(table),
        "both_pass": table.pp,
        "person_pass_grader_fail": table.pf,
        "person_fail_grader_pass": table.fp,
        "both_fail": table.ff,
        "errors": agreement.errors,
        "agreement": share.value,
        "kappa": kappa.value if kappa else None,
        "tpr": tpr.value,
        "tnr": tnr.value,
        "agreement_interval": share.interval,
        "kappa_interval": kappa.interval if kappa else None,
        "tpr_interval": tpr.interval,
        "tnr_interval": tnr.interval,
        "a": None if tpr.value is None else table.pf / tpr.count,
        "b": None if tnr.value is None else table.fp / tnr.count,
        "too_few": agreement.too_few,
        **agreement.flips._asdict(),
    }


def _output_figures(output: JudgedOutput) -> dict[str, Any]:
    row = output.rows[0]
    first = output.first
    return {
        "description": row.description,
        "vars": row.vars,
        "prompt": row.prompt,
        "assertion": first.assertion.type,
        "metric": first.metric,
        "output": row.output,
        "label": _label_text(output),
        "outcome": first.outcome.value,
        "differs": output.contradicts_label,
        "asks": [
            {"outcome": grade.outcome.value, "score": grade.score, "reason": grade.reason}
            for grade in output.grades
        ],
        "source": output.origin,
    }


def console_report(calibration: Calibration) -> Console:
    """The calibration for people, on standard output. No line is a command to a runner."""
    return Console(harmless(text + "\n") for text in _render_calibration(calibration))


def _render_calibration(calibration: Calibration) -> Iterator[str]:
    """The calibration for people: outputs that need a look, tables, remarks, what it took, the conclusion."""
    contradictions = [output for output in calibration.judged if output.contradicts_label]
    without_verdict = [output for output in calibration.judged if output.first.has_error]
    yield from _render_outputs("DIFFERS", contradictions)
    yield from _render_outputs("NO VERDICT", without_verdict)
    yield from _render_agreements(calibration)
    yield ""
    yield from _render_cross_table(calibration.overall.table)
    yield ""
    for remark in _remarks(calibration):
        yield f"{remark}."
    yield from _render_run(calibration.run)
    yield from _render_conclusion(calibration)


def _render_agreements(calibration: Calibration) -> Iterator[str]:
    """A table with a line for each assertion, if there are several, and one for all of them."""
    assertions = calibration.assertions
    rows: list[tuple[str, ...]] = [_HEADER]
    if len(assertions) == 1:
        rows.append(_agreement_cells(calibration.overall, _agreement_name(assertions[0])))
    else:
        rows += [
            _agreement_cells(agreement, _agreement_name(agreement)) for agreement in assertions
        ]
        rows.append(_agreement_cells(calibration.overall, "all"))
    return _align_columns(rows)


def _render_cross_table(table: CrossTable) -> Iterator[str]:
    """What people say against what the grader says."""
    rows = [
        ("", "grader: pass", "grader: fail"),
        ("person: pass", f"{table.pp:,}", f"{table.pf:,}"),
        ("person: fail", f"{table.fp:,}", f"{table.ff:,}"),
    ]
    return _align_columns(rows)


def _render_run(run: RunResult) -> Iterator[str]:
    """Notes, models and keys of the run, and what the grader took."""
    for note in run.notes:
        yield f"note: {one_line(note.text, _SHORT)}"
    yield f"models: {', '.join(one_line(str(model), 120) for model in run.models)}"
    for use in run.keys:
        yield f"key: {one_line(str(use))}"
    notice = recorded_models_notice(run.models)
    if notice:
        yield f"{notice}."
    if run.interrupted:
        yield f"The run stopped early: {run.interrupted}"
    yield f"grader: {describe_usage(run.grader_usage)}; {run.seconds:,.1f} s"


def _render_conclusion(calibration: Calibration) -> Iterator[str]:
    """The `noise` to copy into a config, if it could be measured, and how often grader and people agree."""
    if calibration.noise is not None:
        minority, votes = calibration.overall.flips
        why = f"{minority:,} of {votes:,} votes went against the majority, so at most {format_percent(calibration.noise_bound)} do (95 %)"
        yield f"{why}. Copy into the config:\n\ngate:\n  reask: {{ask: grader, noise: {format_number(calibration.noise, 2)}}}\n"
    share = calibration.overall.agreement
    if share.count:
        yield f"Grader and people agree on {_format_share(share)}: {share.hits:,} of {format_count(share.count, 'labelled output')}"
    else:
        yield f"Inconclusive: the grader gave no verdict on {format_count(len(calibration.judged), 'labelled output')}"


def _render_outputs(sign: str, outputs: Sequence[JudgedOutput]) -> Iterator[str]:
    """A paragraph for each output, with its votes, its text and the grader's reason."""
    for output in outputs[:_MOST]:
        row = output.rows[0]
        first = output.first
        yield f"{sign}  {origin_text(output.origin)}  {visible_name(row)}  {assertion_name(first.assertion)}  {_format_votes(output)}"
        for label, text in (("got", row.output), ("why", first.reason)):
            shown = clip((text or "(empty)").strip(), _SHORT).replace("\n", "\n  ")
            yield textwrap.indent(f"{label}: {shown}", "  ")
        yield ""
    if len(outputs) > _MOST:
        yield f"{sign}  {format_count(len(outputs) - _MOST, 'more output')}; the JSON report has all of them\n"


def _align_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table. Each column is as wide as its widest cell."""
    columns = []
    for column in zip(*rows, strict=True):
        cells = [one_line(cell, 100) for cell in column]
        width = max(map(len, cells))
        columns.append([cell.ljust(width) for cell in cells])

    for row in zip(*columns, strict=True):
        yield "  ".join(row).rstrip()


def _agreement_name(agreement: Agreement) -> str:
    if agreement.metric:
        return f"{agreement.assertion} ({agreement.metric})"
    return agreement.assertion


def _agreement_cells(agreement: Agreement, name: str) -> tuple[str, ...]:
    """The cells of a line of the table, in the order of the header."""
    kappa = "none"
    if agreement.kappa:
        low, high = agreement.kappa.interval
        kappa = f"{agreement.kappa.value:.2f} ({low:.2f} to {high:.2f})"
    tpr = _format_share(agreement.tpr)
    if "pass" in agreement.too_few:
        tpr += ", too few"
    tnr = _format_share(agreement.tnr)
    if "fail" in agreement.too_few:
        tnr += ", too few"
    flips = agreement.flips
    return (
        name,
        f"{sum(agreement.table):,}",
        _format_share(agreement.agreement),
        kappa,
        tpr,
        tnr,
        f"{flips.minority:,} of {flips.votes:,}",
        f"{agreement.errors:,}",
    )


def _format_share(share: Share) -> str:
    if share.value is None or share.interval is None:
        return "none"
    # An end of 99.98% must not read 100%.
    low, high = share.interval
    low_text, _ = format_percents(low, share.value)
    high_text, _ = format_percents(high, share.value)
    return f"{format_percent(share.value)} ({low_text} to {high_text})"


def _format_votes(output: JudgedOutput) -> str:
    """``person: pass, grader: fail, 2 of 3 asks failed``."""
    passes, fails = output.votes
    match output.first.outcome:
        case Outcome.PASS:
            count, verdict, verb = passes, "pass", "passed"
        case Outcome.FAIL:
            count, verdict, verb = fails, "fail", "failed"
        case _:
            count = len(output.rows) - passes - fails
            verdict, verb = "no verdict", "gave no verdict"
    asks = f"{count} of {format_count(len(output.rows), 'ask')} {verb}"
    return f"person: {_label_text(output)}, grader: {verdict}, {asks}"


def _label_text(output: JudgedOutput) -> str:
    return "pass" if output.passes else "fail"


def _remarks(calibration: Calibration) -> Iterator[str]:
    """Remarks about the figures, a sentence each."""
    overall = calibration.overall
    if overall.too_few:
        kinds = " and of ".join(f"`{name}`" for name in overall.too_few)
        yield f"Too few labels of {kinds}: with fewer than {MIN_LABELS}, their figures mean little"
    if overall.errors:
        yield f"{format_count(overall.errors, 'output')} got no verdict at the first ask, and no table counts them"
    corrections = []
    for rate in _RATES:
        corrected = overall.correct_pass_rate(rate)
        if corrected is not None:
            corrections.append(
                f"{format_percent(corrected)} where it measures {format_percent(rate)}"
            )
    if corrections:
        yield f"Corrected for its mistakes (Rogan and Gladen), a pass rate of this grader means {', '.join(corrections)}"
    needed = f"`noise` is suggested from {MIN_FLIP_VOTES} votes on outputs that mostly pass"
    if calibration.asks < MIN_ASKS:
        yield f"{needed}, and with --asks {MIN_ASKS} or more: a flip is a vote against a majority"
    elif calibration.noise is None:
        yield f"{needed}, and there are {overall.flips.votes:,}: label more outputs, or ask more often with --asks"
    elif calibration.noise_bound > NOISE_LIMITS[1]:
        most = format_percent(calibration.noise_bound)
        yield f"The grader may flip in {most} of its votes, more than a gate takes: improve the rubric or change the model first"
    if calibration.is_unmoved:
        yield "All asks of each output gave the same reason and score (temperature 0, a cache?), so they say nothing about noise"
