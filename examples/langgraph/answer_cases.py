"""Has the graph answer every line of cases.jsonl, and writes answers.jsonl with all messages: the calls of tools are in them."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from graph import build
from langchain_core.messages import convert_to_openai_messages


def answered(graph: Any, case: dict) -> dict:
    """One line of answers.jsonl. What goes wrong is an error of its case, and not of the others."""
    started = time.monotonic()
    try:
        state = graph.invoke(
            {"messages": [{"role": "user", "content": case["prompt"]}]}, {"recursion_limit": 12}
        )
    except Exception as e:
        return {"id": case["id"], "error": f"{type(e).__name__}: {e}"}
    taken = round((time.monotonic() - started) * 1000, 1)
    return {
        "id": case["id"],
        "messages": convert_to_openai_messages(state["messages"]),
        "latency_ms": taken,
    }


def main(cases: str, answers: str) -> None:
    """Answer the cases of one file into another."""
    graph = build()
    lines = Path(cases).read_text(encoding="utf-8").splitlines()
    with Path(answers).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(answered(graph, json.loads(line))) + "\n" for line in lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
