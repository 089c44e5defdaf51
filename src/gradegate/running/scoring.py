"""The outcome of an answer from its grades: by ``conclude_case``, or by the test's ``assertScoringFunction``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.errors import NoVerdict
from gradegate.grading import program_objects
from gradegate.grading.conclude import Conclusion, conclude_case, named_scores
from gradegate.texts.script import ScriptError, of_scoring
from gradegate.values.figures import many
from gradegate.values.limits import weighted_mean
from gradegate.values.result import Grade, Outcome
from gradegate.values.suite import Case


def concluded(case: Case, grades: Sequence[Grade]) -> Conclusion:
    """A scoring function is asked only where every grade is known; what it does not say is an ERROR.

    A failure decides nothing before it: the function may overrule it.
    """
    if not case.scoring:
        return conclude_case(grades, case.threshold)
    counted = [grade for grade in grades if not grade.inner]
    errors = sum(grade.outcome is Outcome.ERROR for grade in counted)
    if errors:
        why = f"assertScoringFunction was not called: {many(errors, 'error')}"
        return Conclusion(Outcome.ERROR, None, why)
    about = {"threshold": case.threshold, "componentResults": [_component(grade) for grade in counted]}
    try:
        value = of_scoring(case.scoring).call(_named(grades), about).value
        if not isinstance(value, Mapping):
            raise NoVerdict(f"it returned {program_objects.kind(value)} instead of `{{pass, score, reason}}`")
        verdict = program_objects.verdict(value)
    except (ScriptError, NoVerdict) as e:
        return Conclusion(Outcome.ERROR, None, f"assertScoringFunction: {e}")
    outcome = Outcome.PASS if verdict.passed else Outcome.FAIL
    return Conclusion(outcome, verdict.score, verdict.reason or "assertScoringFunction decides, without a reason")


def _named(grades: Sequence[Grade]) -> Mapping[str, float]:
    """The weighted mean of each metric, as promptfoo's ``namedScores``."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for name, score, weight in named_scores(grades):
        pairs.setdefault(name, []).append((score, weight))
    return {name: float(weighted_mean(scores)) if any(w for _, w in scores) else 0.0 for name, scores in pairs.items()}


def _component(grade: Grade) -> dict[str, Any]:
    asserted = grade.assertion
    said = {"type": asserted.type, "value": asserted.value, "metric": asserted.metric, "weight": asserted.weight}
    passed = grade.outcome is Outcome.PASS
    return {"pass": passed, "score": grade.score, "reason": grade.reason, "assertion": said}
