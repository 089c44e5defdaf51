"""One config through two tools: a model that answers both by a fixed rule, what each asked and decided, what differs."""

import json
import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from support.loopback import JsonHandler, listening

FOLDER = Path(__file__).resolve().parents[1] / "side_by_side"
CONFIGS = FOLDER / "configs"
EXPECTED = FOLDER / "expected.json"
INTENDED = FOLDER / "intended.yaml"
ROWS = FOLDER / "rows.yaml"
ALLOWED = ("--allowed-env", "PRODUCT")  # promptfoo shows every text the whole environment
CODE = "code-"  # a config of this name has code of the repository run
MARK = re.compile(r"<<(.*?)>>", re.DOTALL)
CALL = re.compile(r"CALL (\w+) (\{.*\})")


def flags(name: str) -> tuple[str, ...]:
    """What gradegate is told on the command line about the config of this name."""
    return (*ALLOWED, "--allow-exec") if name.startswith(CODE) else ALLOWED


# --- the model ------------------------------------------------------------------------------------------------


def answer(text: str) -> str:
    """What a target says: the last ``<<mark>>`` of the question, else the question itself."""
    marks = MARK.findall(text)
    return marks[-1] if marks else f"You said: {text}"


def judgement(model: str, text: str) -> str:
    """What a judge says, by its name (``judge-KIND``): the mark ``GRADE-LOW`` in what it reads makes it strict."""
    low = "GRADE-LOW" in text
    asked = {"question": "Which lamp is bright?", "evades": False}
    mark = "not attributed" if low else "attributed"
    # The sentences that gradegate numbers; promptfoo has the grader find them.
    verdicts = [{"id": int(number), "reason": "so it is", "verdict": mark} for number in re.findall(r"<sentence (\d+) ", text)]
    return {
        "judge-rubric": json.dumps({"reason": "so it is", "pass": not low, "score": 0.2 if low else 0.9}),
        "judge-factuality": json.dumps({"reason": "so it is", "category": "D" if low else "C"}),
        "judge-closedqa": "It was weighed.\nN" if low else "It was weighed.\nY",
        "judge-select": _chosen(text),
        "judge-geval": json.dumps(
            {"steps": ["Look."], **({"score": 2 if low else 8} if '"score"' in text else {}), "reason": "so"}, separators=(",", ":")
        ),
        "judge-conversation": json.dumps({"verdict": "no" if low else "yes", "reason": "so it is"}),
        "judge-question": json.dumps(asked) if "evades" in text else asked["question"],
        "judge-recall": json.dumps({"verdicts": verdicts}) if verdicts else f"A lamp gives light. [{mark.title()}]",
        "judge-relevance": "Insufficient Information" if low else "A lamp gives light.",
        "judge-faithful": (
            f"Final verdict for each statement in order: {'No' if low else 'Yes'}. Yes."
            if "verdict" in text.lower()
            else "A lamp gives light.\nIt is sold."
        ),
    }[model]


def _chosen(text: str) -> str:
    """The index of the second output of the config, wherever it stands: gradegate asks in every order, promptfoo in that one."""
    outputs = re.findall(r"<output (\d+) \w+>\n(.*?)\n</output", text, re.DOTALL)
    return next((index for index, output in outputs if output.startswith(("second", "Buy"))), "1")


def calls(said: str) -> list[dict[str, Any]]:
    """The tool calls of an answer that is written ``CALL name {"argument": 1}``, a line each, in OpenAI's form."""
    return [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(CALL.findall(said))
    ]


def vector(text: str) -> list[float]:
    """How often each letter occurs, as a vector of length 1: the same text gives the same vector."""
    counts = [float(text.lower().count(chr(code))) for code in range(ord("a"), ord("z") + 1)]
    length = math.hypot(*counts) or 1.0
    return [count / length for count in counts]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content)


def _reply_text(body: Any, model: str) -> str:
    if not isinstance(body, Mapping):
        return answer(str(body))
    messages = body.get("messages") or body.get("input") or body.get("contents") or body.get("prompt") or ""
    if isinstance(messages, str):
        return judgement(model, messages) if model.startswith("judge") else answer(messages)
    texts = [_text(item.get("content", item.get("parts", ""))) for item in messages if isinstance(item, Mapping)]
    if model == "judge-faithful":  # asked twice, told apart by what the last message wants
        return judgement(model, texts[-1])
    return judgement(model, "\n".join(texts)) if model.startswith("judge") else answer(texts[-1] if texts else "")


def _model(path: str, body: Any) -> str:
    in_path = re.search(r"/(?:models|deployments)/([^/:]+)", path)
    return in_path[1] if in_path else str(body.get("model", "")) if isinstance(body, Mapping) else ""


def reply(path: str, body: Any) -> Any:
    """The JSON that a vendor's endpoint of this path answers with."""
    model = _model(path, body)
    if path.endswith("/embeddings"):
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        rows = [{"object": "embedding", "index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
        return {"object": "list", "data": rows, "model": model, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    if path.endswith("/moderations"):
        flagged = "GRADE-LOW" in str(body["input"])
        result = {"flagged": flagged, "categories": {"violence": flagged}, "category_scores": {"violence": 0.9 * flagged}}
        return {"id": "m", "model": model, "results": [result]}
    if path == "/labels":
        return [[{"label": "kind", "score": 0.8}, {"label": "rude", "score": 0.2}]]
    if path.startswith("/app"):
        asked = body.get("question", json.dumps(body)) if isinstance(body, Mapping) else str(body)
        said = answer(asked or path)
        return {"answer": said, "sources": ["terms.md", "prices.md"], "choices": [{"message": {"content": said}}]}
    said = _reply_text(body, model)
    if path.endswith("/chat/completions"):
        called = calls(said)
        message = {"role": "assistant", "content": None, "tool_calls": called} if called else {"role": "assistant", "content": said}
        usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
        choice = {"index": 0, "finish_reason": "tool_calls" if called else "stop", "message": message}
        return {"id": "c", "object": "chat.completion", "created": 0, "model": model, "choices": [choice], "usage": usage}
    if path.endswith("/responses"):
        part = {"type": "output_text", "text": said, "annotations": []}
        message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
        usage = {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}
        return {"id": "r", "object": "response", "status": "completed", "model": model, "output": [message], "usage": usage}
    if path.endswith("/messages"):
        usage = {"input_tokens": 5, "output_tokens": 5}
        content = [{"type": "text", "text": said}]
        return {
            "id": "m", "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": "end_turn", "stop_sequence": None, "usage": usage,
        }  # fmt: skip
    if "generateContent" in path:
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10}
        content = {"role": "model", "parts": [{"text": said}]}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
    end = {"model": model, "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": "stop"}
    if path.endswith("/api/chat"):
        return {**end, "message": {"role": "assistant", "content": said}}
    if path.endswith("/api/generate"):
        return {**end, "response": said}
    return {"error": {"message": f"no such path: {path}"}}


@dataclass
class Model:
    """The server at ``base``; ``asked`` holds every request: method, path and body (JSON, or text where it is none).

    ``sent`` has the same requests with their headers.
    """

    base: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)

    def environ(self) -> dict[str, str]:
        """Where each vendor's API is, and what the configs read from the environment."""
        vendors = "OPENAI ANTHROPIC GOOGLE MISTRAL AZURE OPENROUTER GROQ XAI DEEPSEEK"
        keys = [*(f"{vendor}_API_KEY" for vendor in vendors.split()), "HF_TOKEN", "HF_API_TOKEN"]
        return {
            **dict.fromkeys(keys, "key-of-nobody"),
            "OPENAI_BASE_URL": f"{self.base}/v1",
            "ANTHROPIC_BASE_URL": self.base,
            "OLLAMA_BASE_URL": self.base,
            "MODEL_URL": self.base,
            "PRODUCT": "Lantern",
        }

    def of_targets(self) -> list[dict[str, Any]]:
        """What targets were asked, in an order that does not depend on who came first."""
        rows = [row for row in self.asked if row["path"] != "/labels" and not _model(row["path"], row["body"]).startswith("judge")]
        return sorted(rows, key=_canonical)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


class _Handler(JsonHandler):
    model: Model
    lock: threading.Lock

    def respond(self) -> None:
        text = self.read().decode()
        try:
            body = json.loads(text) if text else None
        except ValueError:
            body = text
        with self.lock:
            request = {"method": self.command, "path": self.path, "body": body}
            self.model.asked.append(request)
            self.model.sent.append({**request, "headers": {name.lower(): value for name, value in self.headers.items()}})
        self.answer(200, reply(self.path.partition("?")[0], body))


@contextmanager
def serve() -> Iterator[Model]:
    """The model on a loopback port."""
    model = Model()
    with listening(_Handler, model=model, lock=threading.Lock()) as port:
        model.base = f"http://127.0.0.1:{port}"
        yield model


# --- what a tool did ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """What one tool asked its targets, and the verdict of each case: [outcome, [[assertion, outcome], ...]].

    ``metrics`` are the derived ones: [name, value], of each prompt and target in turn.
    """

    requests: list[dict[str, Any]]
    cases: list[Any]
    refused: str = ""  # why the tool did not run the config at all
    metrics: list[Any] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """As JSON, without what a tool says about this machine."""
        derived = {"metrics": self.metrics} if self.metrics else {}
        return {"requests": self.requests, "cases": self.cases, **derived}


def verdicts_of_gradegate(results: Mapping[str, Any]) -> list[Any]:
    """Of results.json, in the order of its cases; without the grades of an error, which promptfoo does not tell."""
    return [[case["outcome"], [*_grades(case)] if case["outcome"] != "error" else []] for case in results["cases"]]


def _grades(case: Mapping[str, Any]) -> Iterator[list[str]]:
    for grade in case["grades"]:
        if grade["assertion"]["type"] != "assert-set":
            yield [grade["assertion"]["type"], grade["outcome"]]


def verdicts_of_promptfoo(results: Mapping[str, Any]) -> list[Any]:
    """Of its JSON output, by test and prompt."""
    rows = sorted(results["results"]["results"], key=lambda row: (row["testIdx"], row["promptIdx"]))
    return [[_outcome(row), [*_components(row)]] for row in rows]


def _outcome(row: Mapping[str, Any]) -> str:
    return "pass" if row["success"] else "error" if row.get("failureReason") == 2 else "fail"


def _components(row: Mapping[str, Any]) -> Iterator[list[str]]:
    parts = iter((row.get("gradingResult") or {}).get("componentResults") or ())
    for part in parts:
        kind = (part.get("assertion") or {}).get("type")
        if kind and kind != "assert-set":
            yield [kind, "pass" if part["pass"] else "fail"]
            for _ in part.get("componentResults") or ():  # what a script's result is made of comes after it
                next(parts, None)


def metrics_of_gradegate(results: Mapping[str, Any]) -> list[Any]:
    """Of results.json."""
    return [[line["name"], _rounded(line["value"])] for line in results["derived"]]


def metrics_of_promptfoo(results: Mapping[str, Any]) -> list[Any]:
    """Of its JSON output, where they are among the scores of a prompt; true is 1."""
    names = [metric["name"] for metric in results["config"].get("derivedMetrics") or ()]
    prompts = [prompt["metrics"]["namedScores"] for prompt in results["results"]["prompts"]]
    return [[name, _rounded(scores[name])] for scores in prompts for name in names]


def _rounded(value: Any) -> Any:
    return round(float(value), 12) if isinstance(value, int | float) else value


# --- what differs ---------------------------------------------------------------------------------------------


@cache
def load_intended_differences() -> Mapping[str, Any]:
    """The differences that are meant, each with its reason."""
    return yaml.safe_load(INTENDED.read_text())


def plain_requests(requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Requests without what the intended differences leave out: members of these values, other names, text in parts."""
    rows = [json.loads(json.dumps(row)) for row in requests]
    for row in rows:
        for rule in load_intended_differences()["requests"]:
            body = row["body"]
            if not isinstance(body, dict) or not re.search(rule["path"], row["path"]):
                continue
            if re.search(rule.get("model", ""), _model(row["path"], body)):
                _without(body, rule.get("without", {}))
                for name, other in rule.get("named", {}).items():
                    if name in body:
                        body[other] = body.pop(name)
                row["body"] = _joined(body) if rule.get("parts") else body
    return sorted(rows, key=_canonical)


def _joined(value: Any) -> Any:
    """Lists of text parts as one text."""
    if isinstance(value, dict):
        return {key: _joined(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if value and all(isinstance(part, dict) and set(part) == {"type", "text"} for part in value):
        return "\n\n".join(part["text"] for part in value)
    return [_joined(item) for item in value]


def _without(body: dict[str, Any], members: Mapping[str, Any]) -> None:
    for name, value in members.items():
        if isinstance(value, Mapping) and isinstance(body.get(name), dict):
            _without(body[name], value)
            if not body[name]:
                del body[name]
        elif name in body and body[name] == value:
            del body[name]


def differences(left: Sequence[Any], right: Sequence[Any]) -> list[str]:
    """What is only on one side, counted, a line each: ``-`` for the first, ``+`` for the second."""
    ones, others = [_canonical(item) for item in left], [_canonical(item) for item in right]
    only = [item for item in ones if item not in others or ones.count(item) > others.count(item)]
    also = [item for item in others if item not in ones or others.count(item) > ones.count(item)]
    return [f"- {item}" for item in dict.fromkeys(only)] + [f"+ {item}" for item in dict.fromkeys(also)]
