"""The ways of `gradegate calibrate` and `gradegate cases` through a session, neither of which gates: labels, asks, figures, reports."""

import json
import textwrap
from collections.abc import Iterable, Iterator
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
    ASKS,
    FEW,
    NOISE,
    VOTES,
    Agreement,
    Calibration,
    Judged,
    Share,
)
from gradegate.gate.exit_codes import INCONCLUSIVE, INTERRUPTED, MISTAKE, PASS, TERMINATED
from gradegate.planning.identity import planned_calls
from gradegate.planning.planner import MAX_REPEATS
from gradegate.planning.recorded_answers import describe_call
from gradegate.reports.delivery.deliver import write_documents
from gradegate.reports.delivery.redact import conceal
from gradegate.reports.delivery.report import Console, Document, data_file
from gradegate.reports.format.escape import OLD, clip, harmless, one_line
from gradegate.reports.view.wording import called, name, no_model, place
from gradegate.results.encoding import plain
from gradegate.results.grades import Outcome
from gradegate.runner.calibration import drift, labels
from gradegate.runner.session import Progress, Session
from gradegate.security.redaction import unchanged
from gradegate.structs import FrozenStruct, NamedTexts, replace

VERSION = 1  # of the JSON
_HEADER = (
    *("Assertion", "Labels", "Agree", "Kappa", "Good ones passed (TPR)", "Bad ones failed (TNR)"),
    *("Minority votes", "No verdict"),
)
_CELLS = ("both_pass", "person_pass_grader_fail", "person_fail_grader_pass", "both_fail")
_SHORT = 500  # characters of one text
_MOST = 1000  # outputs of one kind in a log
_RATES = (0.8, 0.9, 0.95)


def as_json(calibration: Calibration) -> Document:
    """Everything, for programs: strings, finite numbers, lists and objects; docs/calibrate.md says what the keys mean."""
    run, usage = calibration.run, asdict(calibration.run.grader_usage)
    content = {
        "version": VERSION,
        "made": run.made,
        "asks": calibration.asks,
        "outputs_graded": len(calibration.judged),
        "noise": calibration.noise,
        "noise_bound": calibration.noise_bound,
        "overall": _counted(calibration.overall),
        "assertions": [
            {"assertion": it.assertion, "metric": it.metric, **_counted(it)}
            for it in calibration.assertions
        ],
        "interrupted": run.interrupted,
        "notes": [note.text for note in run.notes],
        "models": list(map(str, run.models)),
        "keys": run.keys,
        "hidden": run.hidden,
        "grader": {
            "cost_usd": run.grader_usage.known_cost,
            "known_usd": usage.pop("cost"),
            **usage,
        },
        "seconds": run.seconds,
        "outputs": list(map(_judged, calibration.judged)),
    }
    return data_file([json.dumps(plain(content), ensure_ascii=False, indent=1), "\n"])


def console(calibration: Calibration) -> Console:
    """The text for people on standard output, line by line harmless to a runner."""
    return Console(harmless(text + "\n") for text in _texts(calibration))


def _texts(calibration: Calibration) -> Iterator[str]:
    run = calibration.run
    for sign, judged in (
        ("DIFFERS", [it for it in calibration.judged if it.differs]),
        ("NO VERDICT", [it for it in calibration.judged if it.first.has_error]),
    ):
        for it in judged[:_MOST]:
            yield f"{sign}  {place(it.origin)}  {name(it.rows[0])}  {called(it.first.assertion)}  {_votes(it)}"
            for label, text in (("got", it.rows[0].output), ("why", it.first.reason)):
                told = clip((text or "(empty)").strip(), _SHORT).replace("\n", "\n  ")
                yield textwrap.indent(f"{label}: {told}", "  ")
            yield ""
        if len(judged) > _MOST:
            yield f"{sign}  {format_count(len(judged) - _MOST, 'more output')}; the JSON report has all of them\n"
    several = calibration.assertions if len(calibration.assertions) > 1 else ()
    whole = _cells(calibration.overall, "all" if several else _name(calibration.assertions[0]))
    yield from _columns([_HEADER, *(_cells(it, _name(it)) for it in several), whole])
    yield ""
    table = calibration.overall.table
    passes, fails = (f"{table.pp:,}", f"{table.pf:,}"), (f"{table.fp:,}", f"{table.ff:,}")
    yield from _columns(
        [("", "grader: pass", "grader: fail"), ("person: pass", *passes), ("person: fail", *fails)]
    )
    yield ""
    yield from (f"{text}." for text in _remarks(calibration))
    yield from (f"note: {one_line(note.text, _SHORT)}" for note in run.notes)
    yield f"models: {', '.join(one_line(str(model), 120) for model in run.models)}"
    yield from (f"key: {one_line(str(use))}" for use in run.keys)
    if text := no_model(run.models):
        yield f"{text}."
    if run.interrupted:
        yield f"The run stopped early: {run.interrupted}"
    yield f"grader: {describe_usage(run.grader_usage)}; {run.seconds:,.1f} s"
    if calibration.noise is not None:
        minority, votes = calibration.overall.flips
        why = f"{minority:,} of {votes:,} votes went against the majority, so at most {format_percent(calibration.noise_bound)} do (95 %)"
        yield f"{why}. Copy into the config:\n\ngate:\n  reask: {{ask: grader, noise: {format_number(calibration.noise, 2)}}}\n"
    share = calibration.overall.agreement
    if share.count:
        yield f"Grader and people agree on {_share(share)}: {share.hits:,} of {format_count(share.count, 'labelled output')}"
    else:
        yield f"Inconclusive: the grader gave no verdict on {format_count(len(calibration.judged), 'labelled output')}"


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    cells = [[one_line(cell, 100) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _name(agreement: Agreement) -> str:
    return (
        f"{agreement.assertion} ({agreement.metric})" if agreement.metric else agreement.assertion
    )


def _cells(agreement: Agreement, name: str) -> tuple[str, ...]:
    kappa, few, counted = agreement.kappa, agreement.too_few, agreement.flips
    return (
        name,
        f"{sum(agreement.table):,}",
        _share(agreement.agreement),
        f"{kappa.value:.2f} ({kappa.interval.low:.2f} to {kappa.interval.high:.2f})"
        if kappa
        else "none",
        _share(agreement.tpr) + (", too few" if "pass" in few else ""),
        _share(agreement.tnr) + (", too few" if "fail" in few else ""),
        f"{counted.minority:,} of {counted.votes:,}",
        f"{agreement.errors:,}",
    )


def _share(share: Share) -> str:
    if share.value is None or share.interval is None:
        return "none"
    low, high = (
        format_percents(end, share.value)[0] for end in share.interval
    )  # 99.98% must not read 100%
    return f"{format_percent(share.value)} ({low} to {high})"


def _votes(judged: Judged) -> str:
    """``person: pass, grader: fail, 2 of 3 asks failed``."""
    passes, fails = judged.votes
    count, said, verb = {
        Outcome.PASS: (passes, "pass", "passed"),
        Outcome.FAIL: (fails, "fail", "failed"),
        Outcome.ERROR: (len(judged.rows) - passes - fails, "no verdict", "gave no verdict"),
    }[judged.first.outcome]
    asks = f"{count} of {format_count(len(judged.rows), 'ask')} {verb}"
    return f"person: {'pass' if judged.passes else 'fail'}, grader: {said}, {asks}"


def _remarks(calibration: Calibration) -> Iterator[str]:
    """What is to be said of the figures, a sentence each."""
    overall = calibration.overall
    if overall.too_few:
        kinds = " and of ".join(f"`{name}`" for name in overall.too_few)
        yield f"Too few labels of {kinds}: with fewer than {FEW}, their figures mean little"
    if overall.errors:
        yield f"{format_count(overall.errors, 'output')} got no verdict at the first ask, and no table counts them"
    rates = [(rate, overall.corrected(rate)) for rate in _RATES]
    told = [
        f"{format_percent(real)} where it measures {format_percent(rate)}"
        for rate, real in rates
        if real is not None
    ]
    if told:
        yield f"Corrected for its mistakes (Rogan and Gladen), a pass rate of this grader means {', '.join(told)}"
    needed = f"`noise` is suggested from {VOTES} votes on outputs that mostly pass"
    if calibration.asks < ASKS:
        yield f"{needed}, and with --asks {ASKS} or more: a flip is a vote against a majority"
    elif calibration.noise is None:
        yield f"{needed}, and there are {overall.flips.votes:,}: label more outputs, or ask more often with --asks"
    elif calibration.noise_bound > NOISE[1]:
        most = format_percent(calibration.noise_bound)
        yield f"The grader may flip in {most} of its votes, more than a gate takes: improve the rubric or change the model first"
    if calibration.unmoved:
        yield "All asks of each output gave the same reason and score (temperature 0, a cache?), so they say nothing about noise"


def _counted(agreement: Agreement) -> dict[str, Any]:
    table, tpr, tnr = agreement.table, agreement.tpr, agreement.tnr
    figures = {"agreement": agreement.agreement, "kappa": agreement.kappa, "tpr": tpr, "tnr": tnr}
    return {
        "labels": sum(table),
        **dict(zip(_CELLS, table, strict=True)),
        "errors": agreement.errors,
        **{name: it and it.value for name, it in figures.items()},
        **{f"{name}_interval": it and it.interval for name, it in figures.items()},
        "a": None if tpr.value is None else table.pf / tpr.count,
        "b": None if tnr.value is None else table.fp / tnr.count,
        "too_few": agreement.too_few,
        **agreement.flips._asdict(),
    }


def _judged(judged: Judged) -> dict[str, Any]:
    row, first = judged.rows[0], judged.first
    return {
        "description": row.description,
        "vars": row.vars,
        "prompt": row.prompt,
        "assertion": first.assertion.type,
        "metric": first.metric,
        "output": row.output,
        "label": "pass" if judged.passes else "fail",
        "outcome": first.outcome.value,
        "differs": judged.differs,
        "asks": [
            {"outcome": grade.outcome.value, "score": grade.score, "reason": grade.reason}
            for grade in judged.grades
        ],
        "source": judged.origin,
    }


class Calibrated(FrozenStruct):
    """A calibration; its text for people, in parts; why a report file could not be written, by its path."""

    calibration: Calibration
    text: Iterable[str]
    failures: NamedTexts


def calibrate(context: Context, path: str, asks: int, progress: Progress) -> Calibrated:
    """Have labelled outputs graded, each ``asks`` times, and write the reports. Raises ConfigError."""
    settings = context.settings
    if wrong_outputs := [path for path in settings.outputs if not path.endswith(".json")]:
        what = "no report of a calibration is written as `{}`"
        raise ConfigError(
            *(Mistake(what.format(path), None, "end it with .json") for path in wrong_outputs)
        )
    kept = settings.write_labels
    if asks > MAX_REPEATS:
        raise ConfigError.at(
            f"`--asks` is more than {MAX_REPEATS:,}", None, "ask less often; 3 to 10 show the noise"
        )
    selected = list[labels.Selected]()

    def choose(suites: list[SuiteFile]) -> list[SuiteFile]:
        found, wrong = labels.read(path, context)
        selection = labels.select(found, suites, asks)
        selected.extend(selection.labels)
        first, *others = selection.suites
        mistakes = (*first.suite.mistakes, *wrong, *selection.mistakes)
        suite = replace(first.suite, mistakes=mistakes)
        return [replace(first, suite=suite), *others]

    session = Session.begin(
        context,
        [*settings.outputs, kept] if kept else settings.outputs,
        choose,
        inputs=[(context.cwd / path).resolve()],
    )
    # Without a rule nothing is asked again: each ask is to be held against its label.
    plan = replace(
        session.prepared.plan,
        jobs=labels.jobs_of(session.prepared.plan, selected, asks),
        policies=(),
    )
    asked = [
        any("text" in bound.models for bound in job.assertions[0].bounds)
        for job in plan.jobs[: len(selected)]
    ]
    if kept and sum(asked) < drift.LEAST:
        what = f"a model grades {format_count(sum(asked), 'labelled output')}, and a file for `labels` has at least {drift.LEAST}"
        raise ConfigError.at(what, Origin("<--write-labels>"), "label more outputs")
    prepared = replace(session.prepared, plan=plan)
    run = session.run(prepared, progress)
    judged = []
    for number, it in enumerate(selected):
        origin = conceal(it.label.origin, prepared.hide)
        judged.append(
            Judged(it.label.passes, origin, run.rows[number :: len(selected)], asked[number])
        )
    found = Calibration(tuple(judged), asks, run)
    documents = dict.fromkeys(settings.outputs, partial(as_json, found))
    if kept and found.overall.agreement.count:
        documents[kept] = partial(drift.labels_file, found, selected)
    failures = write_documents(documents, session.where, prepared.seal)
    return Calibrated(found, map(prepared.seal, console(found).parts), failures)


def exit_code(calibration: Calibration) -> int:
    """0 where something could be held against a label, else 3, or 2 for a wrong key or model; 130, 143 interrupted."""
    if calibration.run.interrupted:
        return TERMINATED if calibration.run.interrupted == "terminated" else INTERRUPTED
    if sum(calibration.overall.table):
        return PASS
    return MISTAKE if calibration.run.has_setup_error else INCONCLUSIVE


def cases(context: Context, output: str) -> Iterator[str]:
    """Every planned call to a target as a JSON line, written to ``output`` or, where that is empty, given.

    No key is needed, and nothing is asked. Raises ConfigError.
    """
    settings = replace(context.settings, listing=True, base_checkout="")
    context = replace(context, settings=settings, keyless=True)
    session = Session.begin(context, [output] if output else [])
    hide = session.prepared.hide
    texts = (
        json.dumps({"id": call.id, **conceal(plain(describe_call(call)), hide)})
        for call in planned_calls(session.prepared.plan.jobs)
    )
    # ASCII alone, and no workflow command, so that neither a terminal nor a reader of lines finds anything in it.
    lines = (OLD.sub(r"#\\u0023", text) + "\n" for text in texts)
    if not output:
        return lines
    for failure in write_documents(
        {output: lambda: data_file(lines)}, session.where, unchanged
    ).values():
        raise ConfigError.at(failure, None, "name another file")
    return iter(())
