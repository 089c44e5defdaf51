"""Has the application answer every line of cases.jsonl, and writes answers.jsonl; needs neither keys nor gradegate."""

import json
import sys
import time
from pathlib import Path

from app import answer


def answered(case: dict) -> dict:
    """One line of answers.jsonl. What goes wrong is an error of its case, and not of the others."""
    started = time.monotonic()
    try:
        output, passages = answer(case["prompt"])
    except Exception as e:
        return {"id": case["id"], "error": f"{type(e).__name__}: {e}"}
    taken = round((time.monotonic() - started) * 1000, 1)
    return {"id": case["id"], "output": output, "retrieval_context": passages, "latency_ms": taken}


def main(cases: str, answers: str) -> None:
    """Answer the cases of one file into another."""
    lines = Path(cases).read_text(encoding="utf-8").splitlines()
    with Path(answers).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(answered(json.loads(line))) + "\n" for line in lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
