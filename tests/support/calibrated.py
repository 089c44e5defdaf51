"""Labelled outputs through `gradegate calibrate`, graded by a model on loopback that follows a script."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gradegate import cli

VERDICTS = {"P": True, "F": False}


@dataclass(frozen=True)
class Calibrated:
    code: int
    out: str
    err: str
    data: dict[str, Any]
    folder: Path

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


class Scripted:
    """What the grader says errors in each answer, ask by ask: P, F, or E for a reply; the last repeats."""

    def __init__(self, **said: str) -> None:
        self.said = said
        self.asked: list[str] = []  # the answers, in the order of the asks

    def __call__(self, path: str, body: dict) -> Any:
        prompt = "\n".join(message["content"] for message in body["messages"])
        output = next(name for name in self.said if re.search(rf"\banswer-{name}\b", prompt))
        self.asked.append(output)
        word = self.said[output][: Counter(self.asked)[output]][-1]
        if word not in VERDICTS:
            return "I would rather not say."
        return json.dumps({"reason": f"ask {len(self.asked)}", "pass": VERDICTS[word], "score": float(VERDICTS[word])})


def config(llm, *tests: dict, **keys: Any) -> dict:
    """A config whose target has no key, so that it cannot be asked."""
    tests = tests or (case("case"),)
    options = {"options": {"provider": llm.spec()}}
    return {"prompts": ["{{q}}"], "providers": ["openai:chat:m"], "defaultTest": options, "tests": list(tests), **keys}


def case(description: str, *assertions: dict, **keys: Any) -> dict:
    asserted = list(assertions) or [{"type": "llm-rubric", "value": "is polite"}]
    return {"description": description, "vars": {"q": "why?"}, "assert": asserted, **keys}


def label(answer: str, word: str = "pass", **keys: Any) -> dict:
    output = f"answer-{answer}"
    return {"description": "case", "assertion": "llm-rubric", "output": output, "label": word, **keys}


def lines(*labels: dict | str) -> str:
    return "".join((it if isinstance(it, str) else json.dumps(it)) + "\n" for it in labels)


def run(
    folder: Path, capsys: Any, written: dict, labels: str, *arguments: str, name: str = "labels.jsonl", report: str = "calibration.json"
) -> Calibrated:
    """The command in-process, with its JSON report; retries are off, and unreadable graders are asked once."""
    (folder / "c.yaml").write_text(yaml.safe_dump(written, sort_keys=False, allow_unicode=True), encoding="utf-8")
    (folder / "calibration.json").unlink(missing_ok=True)
    (folder / name).write_text(labels, encoding="utf-8")
    options = ["-o", report, "--retries", "0", "--reask", "0", *arguments]
    code = cli.main(["calibrate", "c.yaml", name, *options])
    captured = capsys.readouterr()
    there = report != name and (folder / report).exists()
    data = json.loads((folder / report).read_text(encoding="utf-8")) if there else {}
    return Calibrated(code, captured.out, captured.err, data, folder)
