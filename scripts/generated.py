"""Writes the files that are made from the code and from packages; with --check, says which of them are stale."""

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

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
    lines += ["| input | default | |", "|---|---|---|"]
    for name, keys in written["inputs"].items():
        default = " ".join(
            f"`{line}`" for line in str(keys.get("default") or "").split("\n") if line
        )
        lines.append(f"| `{name}` | {default} | {keys['description']} |")
    lines += ["", "| output | |", "|---|---|"]
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

An assertion checks an answer or a conversation. It passes, fails, or is an error if there is no verdict, as when a check exceeds a
[limit](../gate.md#size-limits). [Which assertion when](../which-assertion.md) helps to choose.

```yaml
tests:
  - vars: {question: "How much may I spend?"}
    assert:
      - {type: contains, value: '$500'}
      - {type: not-icontains, value: as an AI}
      - {type: llm-rubric, value: Names the limit and nothing else., threshold: 0.7}
```
"""
COMMON = """
## Keys of every assertion

| key | default | |
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
[Verdicts](../verdicts.md) has the rules.

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

| option | default | |
|---|---|---|
| `include_reason` | `true` | a reason made from the verdicts; `llm`: in a model's words, for one more call; `false`: none |
| `strict_mode` | `false` | score 1 for a perfect result, else 0; the threshold is 1 |
| `verbose_mode` | `false` | prints the steps and keeps them in the evidence |
| `async_mode` | `true` | `false`: the calls of an assertion run one after another |
| `model`, `threshold` | | as `provider` and `threshold` of the assertion, which win; a model without a prefix is OpenAI's |
"""


def assertions() -> str:
    """The index of the assertions' pages: their names and first paragraphs, apart by whether a model is called."""
    lists: dict[str, list[str]] = {"Deterministic": [], "Model-graded": []}
    for page in sorted((DOCS / "assertions").glob("*.md")):
        if names := names_of(page):
            graders = [grader for grader in map(EVALUATORS.find, names) if grader]
            sentence = " ".join(page.read_text().split("\n\n")[1].split())
            list_of = lists[
                "Model-graded"
                if any(grader.requires.models for grader in graders)
                else "Deterministic"
            ]
            list_of.append(f"- [{', '.join(names)}]({page.name}): {sentence}\n")
    return (
        INDEX
        + "".join(f"\n## {title}\n\n{''.join(lines)}" for title, lines in lists.items())
        + COMMON
    )


def names_of(page: Path) -> list[str]:
    """The types that a page is about: its heading."""
    return (
        page.read_text().partition("\n")[0].removeprefix("# ").split(", ")
        if page.name != "README.md"
        else []
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
