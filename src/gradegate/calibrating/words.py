"""The words that all reports of a calibration share."""

from __future__ import annotations

from collections.abc import Iterator

from gradegate.calibrating.agreement import ASKS, FEW, NOISE, VOTES, Agreement, Calibration, Judged, Share
from gradegate.figures import figure, many, percent, percents
from gradegate.reporting.wording import called
from gradegate.result import Outcome

HEADER = (
    "Assertion",
    "Labels",
    "Agree",
    "Kappa",
    "Good ones passed (TPR)",
    "Bad ones failed (TNR)",
    "Minority votes",
    "No verdict",
)
_SAID = {Outcome.PASS: "pass", Outcome.FAIL: "fail", Outcome.ERROR: "no verdict"}
_RATES = (0.8, 0.9, 0.95)


def headline(calibration: Calibration) -> str:
    """What came of it in a sentence."""
    share = calibration.overall.agreement
    if not share.count:
        return f"Could not tell: the grader gave no verdict on {many(len(calibration.judged), 'labelled output')}"
    return f"Grader and people agree on {_share(share)}: {share.hits:,} of {many(share.count, 'labelled output')}"


def lines(calibration: Calibration) -> list[tuple[str, ...]]:
    """The figures as cells under ``HEADER``: each assertion, and all together."""
    several = calibration.assertions if len(calibration.assertions) > 1 else ()
    return [_cells(it, _name(it)) for it in several] + [
        _cells(calibration.overall, "all" if several else _name(calibration.assertions[0]))
    ]


def _name(agreement: Agreement) -> str:
    return f"{agreement.assertion} ({agreement.metric})" if agreement.metric else agreement.assertion


def _cells(agreement: Agreement, name: str) -> tuple[str, ...]:
    kappa, few, counted = agreement.kappa, agreement.too_few, agreement.flips
    return (
        name,
        f"{sum(agreement.table):,}",
        _share(agreement.agreement),
        f"{kappa.value:.2f} ({kappa.interval.low:.2f} to {kappa.interval.high:.2f})" if kappa else "none",
        _share(agreement.tpr) + (", too few" if "pass" in few else ""),
        _share(agreement.tnr) + (", too few" if "fail" in few else ""),
        f"{counted.minority:,} of {counted.votes:,}",
        f"{agreement.errors:,}",
    )


def crossed(agreement: Agreement) -> list[tuple[str, ...]]:
    """The table of people and grader: a header and two lines."""
    table = agreement.table
    return [
        ("", "grader: pass", "grader: fail"),
        ("person: pass", f"{table.pp:,}", f"{table.pf:,}"),
        ("person: fail", f"{table.fp:,}", f"{table.ff:,}"),
    ]


def remarks(calibration: Calibration) -> Iterator[str]:
    """What is to be said of the figures, a sentence each."""
    overall = calibration.overall
    if overall.too_few:
        kinds = " and of ".join(f"`{name}`" for name in overall.too_few)
        yield f"Too few labels of {kinds}: under {FEW}, the figures that rest on them say little"
    if calibration.errors:
        yield f"{many(len(calibration.errors), 'output')} got no verdict at the first ask and are in no table"
    rates = [(rate, overall.corrected(rate)) for rate in _RATES]
    told = [f"{percent(real)} where it measures {percent(rate)}" for rate, real in rates if real is not None]
    if told:
        yield f"Corrected for its mistakes (Rogan and Gladen), a pass rate of this grader means {', '.join(told)}"
    yield from _noise(calibration)
    if calibration.unmoved:
        yield "Asking again changed no reason and no score anywhere (temperature 0, a cache): this says nothing of noise"


def _noise(calibration: Calibration) -> Iterator[str]:
    counted, needed = calibration.overall.flips, f"`noise` is suggested from {VOTES} votes on outputs that mostly pass"
    if calibration.asks < ASKS:
        yield f"{needed}, and with --asks {ASKS} or more: a flip is a vote against a majority"
    elif calibration.noise is None:
        yield f"{needed}, and there are {counted.votes:,}: label more outputs, or ask more often with --asks"
    elif calibration.noise_bound > NOISE[1]:
        most = percent(calibration.noise_bound)
        yield f"The grader may flip in {most} of its votes, more than a gate takes: mend the rubric or the model first"


def advice(calibration: Calibration) -> str:
    """The line to copy into the config's ``gate``, empty where none is suggested."""
    return "" if calibration.noise is None else f"noise: {figure(calibration.noise, 2)}"


def why_noise(calibration: Calibration) -> str:
    """Where the suggestion comes from."""
    minority, votes = calibration.overall.flips
    bound = percent(calibration.noise_bound)
    return f"{minority:,} of {votes:,} votes went against the majority, so at most {bound} do (95 %)"


def spoken(judged: Judged) -> str:
    """``person: pass, grader: fail, 2 of 3 asks fail``."""
    passes, fails = judged.votes
    first = judged.first.outcome
    count = {Outcome.PASS: passes, Outcome.FAIL: fails, Outcome.ERROR: len(judged.rows) - passes - fails}[first]
    verb = {Outcome.PASS: "pass", Outcome.FAIL: "fail", Outcome.ERROR: "give no verdict"}[first]
    asks = f"{count} of {many(len(judged.rows), 'ask')} {verb}"
    return f"person: {'pass' if judged.passes else 'fail'}, grader: {_SAID[first]}, {asks}"


def about(judged: Judged) -> str:
    """The assertion."""
    return called(judged.asserted)


def _share(share: Share) -> str:
    value, interval = share.value, share.interval
    if value is None or interval is None:
        return "none"
    low, high = (percents(end, value)[0] for end in interval)  # 99.98% must not read 100%
    return f"{percent(value)} ({low} to {high})"
