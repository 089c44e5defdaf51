"""Writes the files that are made from the code and from packages; with --check, says which of them are stale."""

import csv
import io
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import price_table
import yaml

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.cli.commands.schema import schema
from gradegate.core.options import SWITCH, Option, resolve_option_names
from gradegate.core.settings import OPTIONS
from gradegate.planning.binding.unknown_types import foreign_types
from gradegate.providers.api.provider import PROVIDERS
from gradegate.security.vendors import Vendor

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PRICES = ROOT / "src" / "gradegate" / "providers" / "api" / "prices.yaml"


def action() -> str:
    """action.yml with the inputs that the table of options has; all else in it is written by hand."""
    head, rest = (ROOT / "action.yml").read_text().split("inputs:\n", 1)
    outputs = rest[rest.index("outputs:\n") :]
    inputs = {
        option.name: {
            "description": description(option),
            "required": False,
            "default": option.shown_default if option.written is None else option.written,
        }
        for option in OPTIONS
        if not option.no_input
    }
    made = dump({"inputs": inputs})
    return f"{head}{made}\n{outputs}"


def dump(data: object) -> str:
    """As YAML, with texts of several lines as blocks."""

    class Dumper(yaml.SafeDumper):
        """One of our own, so that nobody else's changes."""

    Dumper.add_representer(
        str,
        lambda dumper, text: dumper.represent_scalar(
            "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
        ),
    )
    return yaml.dump(data, Dumper=Dumper, sort_keys=False, width=1000)


def description(option: Option) -> str:
    """What an input does, in sentences."""
    default = f"Default is {option.otherwise}." if option.otherwise else ""
    form = (
        "`true` or `false`."
        if option.kind is SWITCH
        else "One per line."
        if option.kind.gather
        else ""
    )
    sentences = [
        f"{option.help[:1].upper()}{option.help[1:]}.",
        form,
        option.kind.about,
        option.more,
        default,
    ]
    return " ".join(filter(None, sentences))


def page() -> str:
    """The inputs and outputs of action.yml as a page."""
    written = yaml.safe_load(action())
    lines = [
        "# Action inputs and outputs",
        "",
        "The command line has most of them too: `gradegate run --help`. An unknown input is a mistake that names what to write.",
        "",
    ]
    lines += ["| input | default | meaning |", "|---|---|---|"]
    for name, keys in written["inputs"].items():
        default = " ".join(
            f"`{line}`" for line in str(keys.get("default") or "").split("\n") if line
        )
        lines.append(f"| `{name}` | {default} | {keys['description']} |")
    lines += ["", "| output | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {keys['description']} |" for name, keys in written["outputs"].items()]
    return "\n".join(lines) + "\n"


def in_container() -> str:
    """The action for jobs in a container: the same inputs and outputs, started by the runner itself."""
    written = yaml.safe_load(action())
    image = written["runs"]["steps"][0]["env"]["GRADEGATE_IMAGE"] or "../Dockerfile"
    outputs = {
        name: {"description": keys["description"]} for name, keys in written["outputs"].items()
    }
    runs = {"using": "docker", "image": image}
    text = dump({**written, "outputs": outputs, "runs": runs})
    local = "image: ../Dockerfile"  # whose base is pinned
    text = text.replace(local, f"{local} # zizmor: ignore[unpinned-images]")
    return f"# Made from ../action.yml by `make generated`.\n{text}"


def deepeval_metrics() -> str:
    """The metrics of DeepEval, each with what to write here, as a table that GitHub shows."""
    metrics = [it for it in foreign_types() if it.tool == "DeepEval"]
    rows = [
        (it.name, resolve_option_names(it.cure, inputs=False).replace("`", "")) for it in metrics
    ]
    return csv_table(("DeepEval", "gradegate"), rows)


def key_requests() -> str:
    """The requests that each vendor's key signs, as a table that GitHub shows.

    A vendor's row has the kinds of providers that make the requests, the variables with its key,
    its hosts, the variables with an address of it, and the requests. A name in braces is one part of
    a path.
    """
    kinds: dict[Vendor, list[str]] = {}
    for name, build in PROVIDERS:
        kinds.setdefault(getattr(build, "vendor", Vendor()), []).append(name)
    rows = []
    for vendor, names in sorted(kinds.items(), key=lambda item: item[1]):
        if vendor.keys:
            hosts = [*vendor.hosts, *vendor.addresses]
            if vendor.forms:
                hosts.append("any region")
            rows.append([", ".join(it) for it in (names, vendor.keys, hosts, vendor.requests)])
    heads = ("kinds of providers", "variables with a key", "hosts and addresses", "requests")
    return csv_table(heads, rows)


def csv_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([heads, *rows])
    return text.getvalue()


def providers() -> str:
    """Every id of a provider as a table: its kinds, keys, addresses, and the options that its `config` takes."""
    rows = [("id", "kinds", "keys", "addresses", "options")]
    for name, build in PROVIDERS:
        vendor = getattr(build, "vendor", Vendor())
        addresses = [getattr(build, "base_address", ""), *vendor.hosts, *vendor.addresses]
        if addresses[0]:
            addresses = [addresses[0], *vendor.addresses]
        kinds = getattr(build, "kinds", None) or [
            kind for kind, served in (("text", build.chats), ("embedding", build.embeds)) if served
        ]
        options = getattr(build, "options", None) or ()
        columns = (kinds, vendor.keys, addresses, sorted(set(options)))
        rows.append((name, *(" ".join(filter(None, column)) for column in columns)))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


INDEX = """\
# Assertions

An assertion checks an answer or a conversation. It passes, fails, or is an error if there is no verdict.

## Which one when

Begin with this for a RAG pipeline, and change one line at a time:

```yaml
defaultTest:
  options: {provider: openai:chat:MODEL} # the model that grades
tests:
  - description: approval limit
    vars: {query: "What needs no approval?", context: file://docs/reimbursement.md}
    assert:
      - {type: contains, value: "$500"} # exact, and without a call
      - {type: context-faithfulness, threshold: 0.9} # says nothing beyond the context
      - {type: factuality, value: Purchases up to $500 need no approval.} # says what you expect
```

Use the first row that fits:

| you want to know whether | take | you must give | calls |
|---|---|---|--:|
| the answer contains a word, a number or a link | [contains, icontains](text.md#contains-contains-any-contains-all-icontains-icontains-any-icontains-all), [regex](text.md) | the text | 0 |
| the answer is valid JSON of a given shape | [is-json](json.md) | a JSON Schema | 0 |
| an agent called the right tools with the right arguments | [tool calls](tool-calls.md), [trajectory](tool-calls.md) | the tools | 0 |
| the answer is short, quick or cheap enough | [length and ending](text.md#word-count-levenshtein-finish-reason), [cost and latency](budget.md) | a limit | 0 |
| the answer states the same facts as an expected answer | [factuality](factuality.md) | the expected answer | 1 |
| the answer means about the same as an expected text | [similar](similar.md) | the text, an embedding model | 1 |
| the answer meets one criterion, yes or no | [model-graded-closedqa](llm-rubric.md#model-graded-closedqa) | the criterion | 1 |
| the answer meets a rubric, with points between | [llm-rubric](llm-rubric.md) | the rubric | 1 |
| the answer meets criteria that take several steps to check | [g-eval](g-eval.md) | criteria | 2 each |
| the answer is about the question | [answer-relevance](answer-relevance.md) | the question, an embedding model | 4 |
| the answer keeps to its documents | [faithfulness](faithfulness.md) | the documents | 1 to 3; more for turns |
| the claims of the answer are true, by what a model knows | [factfulness](factfulness.md) | a source for claims that the model does not know | 4 to 7 |
| retrieval finds what an answer needs | [context-recall](context.md#context-recall) | documents, the expected answer | 1 |
| retrieval finds little else | [context-relevance](context.md#context-relevance) | documents, the question | 1 |
| retrieval puts helpful documents first | [contextual-precision](context.md#contextual-precision) | documents, the expected answer | 1 |
| each turn of a conversation fits what came before | [conversation-relevance](conversation.md#conversation-relevance) | a conversation | 1 an exchange |
| the assistant remembers what the user said | [knowledge-retention](conversation.md#knowledge-retention) | a conversation | 1 to 2 an exchange |
| the user got what they wanted | [conversation-completeness](conversation.md#conversation-completeness) | a conversation | 1 + 1 an intention |
| an agent reached its goal | [goal-accuracy](agents.md#goal-accuracy) | a conversation | 2 a task |
| one answer is the best of several | [select-best](select-best.md) | a criterion | 1 |
| something else that you can compute | [javascript](code.md#javascript), [python](code.md#python) | code | 0 |
"""
COMMON = """
## Keys of every assertion

| key | default | meaning |
|---|---|---|
| `threshold` | on the page | the score from which it passes |
| `weight` | 1 | in the score of the case; 0: reported, never fails |
| `metric` | | a name for reports and gate rules |
| `blocking` | `true` | `false`: reported, never fails the check |
| `provider` | [the grader](../providers.md#which-model-grades) | the model that grades, or one for each of `text`, `embedding`, `classification`, `moderation` |
| `rubricPrompt` | our prompt | the prompt of the grader |

CSV cells without a threshold (`similar:text`) take promptfoo's default, which may differ.

## Opposites

With `not-` before a type, what passes fails, and what fails passes. The score is 1 - score, within 0 to 1. An error stays an error.

## Grader replies

A grader replies with a JSON object: a reason, then the verdict under the keys on the page. Where the page says so, a last line also counts.
[Verdicts](../verdicts.md#reading-a-graders-reply) has the rules.

- `config.language` sets the language of the reasons.
- `rubricPrompt` is a text, chat messages, or `file://...`. It sees the test's variables and those on the page. For several steps it is a
  mapping from the steps on the page to prompts.
- Calls are counted without re-asks.

## Context

`context-faithfulness`, `context-recall` and `context-relevance` need the variable `context`: a text, or a list of texts. A recorded answer
may bring it as `retrieval_context`. DeepEval's assertions take the `retrieval_context` of each answer; if there is none, the variable
`retrieval_context`, then `context`.

- A list in `vars` makes one test for each item, as in promptfoo. `options.disableVarExpansion: true` keeps it together.
- `contextTransform` on the assertion finds the texts with [JavaScript](../code.md#javascript): `context.metadata.documents`,
  `JSON.parse(output).citations.map(c => c.text)`. If the target or its transform gave data, `output` is that data: `output.citations`.
- No `context` is a mistake before the run if the config shows it. Otherwise, absent texts are an error.

## DeepEval options

DeepEval's assertions take these options in `config`:

| option | default | meaning |
|---|---|---|
| `include_reason` | `true` | a reason made from the verdicts; `llm`: in a model's words, for one more call; `false`: none |
| `strict_mode` | `false` | score 1 for a perfect result, else 0; the threshold is 1 |
| `verbose_mode` | `false` | prints the steps and keeps them in the evidence |
| `async_mode` | `true` | `false`: the calls of an assertion run one after another |
| `model`, `threshold` | | as `provider` and `threshold` of the assertion, which win; a model without a prefix is OpenAI's |
"""


class Section(NamedTuple):
    """A part of a page about the types that its heading names; its anchor is empty for a whole page."""

    types: tuple[str, ...]
    anchor: str
    text: str


TYPES = {*EVALUATORS.names(), "assert-set"}


def sections(page: Path) -> list[Section]:
    """The sections of a page of level 1 or 2 with headings that list types."""
    found = []
    for level, heading, text in SECTION.findall(page.read_text()):
        types = tuple(heading.split(", "))
        if TYPES.issuperset(types):
            anchor = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") if level == "##" else ""
            found.append(Section(types, anchor, text))
    return found


SECTION = re.compile(r"^(##?) (.+)\n((?:(?!##? ).*\n?)*)", re.MULTILINE)


def assertions() -> str:
    """The index of the assertions' pages: their types and first paragraphs, apart by whether a model is called."""
    lists: dict[str, list[str]] = {"Deterministic": [], "Model-graded": []}
    for page in sorted((DOCS / "assertions").glob("*.md")):
        for section in sections(page):
            graders = [grader for grader in map(EVALUATORS.find, section.types) if grader]
            calls_models = any(grader.requires.models for grader in graders)
            sentence = " ".join(section.text.strip().split("\n\n")[0].split())
            link = f"{page.name}#{section.anchor}" if section.anchor else page.name
            line = f"- [{', '.join(section.types)}]({link}): {sentence}\n"
            lists["Model-graded" if calls_models else "Deterministic"].append(line)
    return (
        INDEX
        + "".join(f"\n## {title}\n\n{''.join(lines)}" for title, lines in lists.items())
        + COMMON
    )


FILES = {
    ROOT / "action.yml": action,
    DOCS / "action.md": page,
    ROOT / "container" / "action.yml": in_container,
    DOCS / "deepeval-metrics.csv": deepeval_metrics,
    DOCS / "key-requests.csv": key_requests,
    DOCS / "providers.csv": providers,
    DOCS / "assertions" / "README.md": assertions,
    DOCS / "config.schema.json": lambda: schema("config"),
    DOCS / "results.schema.json": lambda: schema("results"),
    PRICES: lambda: price_table.text(PRICES),
}


def main(arguments: list[str]) -> int:
    """Write what is stale; with --check, exit with 1 instead."""
    stale = [
        path for path, make in FILES.items() if not path.exists() or path.read_text() != make()
    ]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.name} is stale -> make generated", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(FILES[path]())
        print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
