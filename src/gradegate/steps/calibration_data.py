"""A calibration as plain data for its JSON report; docs/noise.md says what the keys mean."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gradegate.errors import Origin
from gradegate.results.jsonable import plain
from gradegate.steps.agreement import Agreement, Calibration, Judged, Share
from gradegate.values.conversation import Usage
from gradegate.values.result import Grade

VERSION = 1


def plain_calibration(calibration: Calibration) -> Any:
    """Strings, finite numbers, lists and objects."""
    run = calibration.run
    return plain(
        {
            "version": VERSION,
            "made": asdict(run.made),
            "asks": calibration.asks,
            "outputs_graded": len(calibration.judged),
            "noise": calibration.noise,
            "noise_bound": calibration.noise_bound,
            "overall": _agreement(calibration.overall),
            "assertions": [{"assertion": it.assertion, "metric": it.metric, **_agreement(it)} for it in calibration.assertions],
            "interrupted": run.interrupted,
            "notes": [note.text for note in run.notes],
            "models": [str(model) for model in run.models],
            "keys": [asdict(use) for use in run.keys],
            "hidden": run.hidden,
            "grader": _spent(run.grader_usage),
            "seconds": run.seconds,
            "outputs": [_judged(it) for it in calibration.judged],
        }
    )


def _agreement(agreement: Agreement) -> dict[str, Any]:
    table, kappa = agreement.table, agreement.kappa
    tpr, tnr = agreement.tpr.value, agreement.tnr.value
    return {
        "labels": sum(table),
        "both_pass": table.pp,
        "person_pass_grader_fail": table.pf,
        "person_fail_grader_pass": table.fp,
        "both_fail": table.ff,
        "errors": agreement.errors,
        **_share("agreement", agreement.agreement),
        "kappa": kappa and kappa.value,
        "kappa_interval": kappa and list(kappa.interval),
        **_share("tpr", agreement.tpr),
        **_share("tnr", agreement.tnr),
        "a": None if tpr is None else agreement.table.pf / agreement.tpr.count,
        "b": None if tnr is None else agreement.table.fp / agreement.tnr.count,
        "too_few": list(agreement.too_few),
        "minority": agreement.flips.minority,
        "votes": agreement.flips.votes,
    }


def _spent(usage: Usage) -> dict[str, Any]:
    counted = asdict(usage)
    return {"cost_usd": usage.known_cost, "known_usd": counted.pop("cost"), **counted}


def _share(name: str, share: Share) -> dict[str, Any]:
    return {name: share.value, f"{name}_interval": share.interval and list(share.interval)}


def _judged(judged: Judged) -> dict[str, Any]:
    row = judged.rows[0]
    return {
        "description": row.description,
        "vars": row.vars,
        "prompt": row.prompt,
        "assertion": judged.asserted.type,
        "metric": judged.asserted.metric,
        "output": row.output,
        "label": "pass" if judged.passes else "fail",
        "outcome": judged.first.outcome.value,
        "differs": judged.differs,
        "asks": [_ask(grade) for grade in judged.grades],
        "source": _source(judged.origin),
    }


def _ask(grade: Grade) -> dict[str, Any]:
    return {"outcome": grade.outcome.value, "score": grade.score, "reason": grade.reason}


def _source(origin: Origin) -> dict[str, Any]:
    return {"file": origin.file, "line": origin.line}
