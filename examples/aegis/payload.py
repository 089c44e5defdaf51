"""A hosted run of Aegis as a gate: the body of `POST /runs/custom` that asks for the same again, and blocks.

usage: python payload.py run.json > gate.json

`run.json` is what `GET /runs/{id}` gives, or a `results.aegis.json` of gradegate, which has the same form.
"""

import json
import sys
from pathlib import Path
from typing import Any

FIELDS = ("prompt", "input", "context", "output", "golden_answer")


def payload(run: dict[str, Any]) -> dict[str, Any]:
    """The custom run: a block for each metric with its arguments, threshold and model, a row for each evaluation."""
    blocks: dict[str, Any] = {}
    for number, evaluation in enumerate(run.get("evaluations") or [], 1):
        if not evaluation.get("metric_shortname"):
            raise SystemExit(f"evaluation {number} of the run names no metric")
        metric = {"metric": evaluation["metric_shortname"]}
        if evaluation.get("metric_args"):
            metric["metric_args"] = evaluation["metric_args"]
        if evaluation.get("threshold") is not None:
            metric["threshold"] = whole(evaluation["threshold"])
        if evaluation.get("model_slug"):
            metric["model_slug"] = evaluation["model_slug"]
        block = blocks.setdefault(
            json.dumps(metric, sort_keys=True), {"metrics": [metric], "data": []}
        )
        block["data"].append(
            {name: evaluation[name] for name in FIELDS if evaluation.get(name) is not None}
        )
    if not blocks:
        raise SystemExit(
            "the run has no evaluations; is it finished, and does its JSON come from GET /runs/{id}?"
        )
    kept = {name: run[name] for name in ("alias", "model_slug") if run.get(name)}
    limit = {} if run.get("threshold") is None else {"threshold": whole(run["threshold"])}
    return {**kept, **limit, "is_blocking": True, "evaluations": [*blocks.values()]}


def whole(number: float) -> float:
    """A threshold without a fraction that says nothing: 80.0 is 80."""
    return int(number) if number == int(number) else number


if __name__ == "__main__":
    hosted = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    json.dump(payload(hosted), sys.stdout, indent=2, ensure_ascii=False)
