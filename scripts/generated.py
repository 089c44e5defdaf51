"""Writes the files that are made from the code and from packages; with --check, says which of them are stale."""

import sys
from pathlib import Path

import price_table
import yaml

from gradegate.commands.schema import schema
from gradegate.grading.grader import GRADERS
from gradegate.options import SWITCH, Option, worded
from gradegate.planning.types import known, spelled
from gradegate.values.settings import OPTIONS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PRICES = ROOT / "src" / "gradegate" / "asking" / "prices.yaml"


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
        str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)
    )
    return yaml.dump(data, Dumper=Dumper, sort_keys=False, width=1000)


def description(option: Option) -> str:
    """What an input does, in sentences."""
    default = f"Default is {option.otherwise}." if option.otherwise else ""
    form = "`true` or `false`." if option.kind is SWITCH else "One per line." if option.kind.gather else ""
    sentences = [f"{option.help[:1].upper()}{option.help[1:]}.", form, option.kind.about, option.more, default]
    return " ".join(filter(None, sentences))


def page() -> str:
    """The inputs and outputs of action.yml as a page, and what one of the two doors lacks."""
    written = yaml.safe_load(action())
    lines = ["# Inputs and outputs of the action", "", "Made from the table of options by `make generated`.", ""]
    lines += ["| input | default | |", "|---|---|---|"]
    for name, keys in written["inputs"].items():
        default = " ".join(f"`{line}`" for line in str(keys.get("default") or "").split("\n") if line)
        lines.append(f"| `{name}` | {default} | {keys['description']} |")
    lines += ["", "| output | |", "|---|---|"]
    lines += [f"| `{name}` | {keys['description']} |" for name, keys in written["outputs"].items()]
    lines += ["", "Options that the command line alone has:", "", "| option | in the Action |", "|---|---|"]
    lines += [f"| `--{option.name}` | {option.no_input} |" for option in OPTIONS if option.no_input]
    lines += ["", "Inputs that the command line lacks:", "", "| input | why |", "|---|---|"]
    lines += [f"| `{option.name}` | {option.no_flag} |" for option in OPTIONS if option.no_flag]
    return "\n".join(lines) + "\n"


def in_container() -> str:
    """The action for jobs in a container: the same inputs and outputs, started by the runner itself."""
    written = yaml.safe_load(action())
    image = written["runs"]["steps"][0]["env"]["GRADEGATE_IMAGE"] or "../Dockerfile"
    outputs = {name: {"description": keys["description"]} for name, keys in written["outputs"].items()}
    runs = {"using": "docker", "image": image}
    text = dump({**written, "outputs": outputs, "runs": runs})
    local = "image: ../Dockerfile"  # whose base is pinned
    text = text.replace(local, f"{local} # zizmor: ignore[unpinned-images]")
    return f"# Made from ../action.yml by `make generated`.\n{text}"


def from_deepeval() -> str:
    """docs/from-deepeval.md with the metrics that the table has: names with the same words share a row."""
    head, same = "| DeepEval | here |\n|---|---|\n", "the name in kebab-case"
    before, rest = (DOCS / "from-deepeval.md").read_text().split(head, 1)
    rows: dict[str, list[str]] = {}
    for it in known():
        if it.tool == "DeepEval":
            rows.setdefault(same if it.cure == spelled(it.name) else worded(it.cure, inputs=False), []).append(f"`{it.name}`")
    made = "".join(f"| {', '.join(names)} | {way} |\n" for way, names in rows.items())
    return before + head + made + rest[rest.index("\n\n") + 1 :]


INDEX = """\
# Assertions

An assertion checks one answer, or a whole conversation. It passes, fails, or is an error when there is no verdict.

```yaml
tests:
  - vars: {question: "How much may I spend?"}
    assert:
      - {type: contains, value: '$500'}
      - {type: not-icontains, value: as an AI}
      - {type: llm-rubric, value: Names the limit and nothing else., threshold: 0.7, weight: 2}
```

Both tables are made from the pages and the code by `make generated`.
"""
COMMON = """\
## Keys of every assertion

| key | default | |
|---|---|---|
| `threshold` | on the page | the score from which the assertion passes; `none`: the score is only reported |
| `weight` | 1 | weight in the score of the case; 0: reported, never fails |
| `metric` | | a name for reports and gate rules |
| `blocking` | `true` | `false`: reported, never fails the check |
| `provider` | `options.provider` of the test, `--grader`, `defaultTest.options.provider` | the grader: a model, or one for each of `text`, `embedding`, `classification`, `moderation` |
| `rubricPrompt` | our prompt | replaces the prompt of the grader |

A threshold in a CSV cell is written as `similar(0.9):text`. Without it, promptfoo's default for cells holds, which may differ from the page.

## Opposites

Write `not-` before any type. What passes then fails, and what fails passes. The score is 1 - score, kept within 0 to 1. An error stays an error.

## Grader replies

A grader replies with a JSON object: first a reason, then the verdict. The pages name the keys. Some graders may also end a text with
a line such as `Answer: C`. A reply without a readable verdict is re-asked once (`--reask`). After that the grade is an error, never a
score. [Verdicts](../verdicts.md) has the exact rules.

- `config.language` sets the language of the reasons.
- `rubricPrompt` is a text, chat messages (a list, JSON or YAML), or `file://...`. It sees the variables of the test and those on the page.
- A grader with several steps takes a mapping from steps to prompts. The page names the steps.
- The pages count grader calls without re-asks.

## Context

`context-faithfulness`, `context-recall` and `context-relevance` need the context of the answer: a text or a list of texts in the variable
`context`. A recorded answer may bring it as `retrieval_context`.

Assertions from DeepEval use the `retrieval_context` of each answer. If no answer has any, they use the variable `retrieval_context`,
then `context`.

- A list in `vars` makes one test for each item, as in promptfoo. Set `options.disableVarExpansion: true` to keep the list together.
- `contextTransform` on the assertion takes the texts from the answer or the test. It is a path: `output.context`, `output.citations[0].text`,
  `JSON.parse(output).docs`, `context.vars.docs`, `context.metadata.sources`. `.map(x => x.text)` and `.join('\\n')` may follow. A path
  into the answer needs an answer that is JSON. Any other expression runs as [JavaScript](../javascript.md).
- An absent or empty context is a mistake before the run where the config shows it. Otherwise the grade is an error.

## DeepEval options

Assertions from DeepEval take these options in `config`:

| option | default | |
|---|---|---|
| `include_reason` | `true` | `true`: the reason is made from the verdicts, without a call; `llm`: a model words it, in one more call; `false`: no reason |
| `strict_mode` | `false` | the score is 1 for a perfect result and 0 otherwise, and the threshold is 1 |
| `verbose_mode` | `false` | prints the steps and keeps them in the evidence |
| `async_mode` | `true` | no effect: independent calls always run at once |
| `model`, `threshold` | | DeepEval's names for `provider` and `threshold`, which win. A model without a prefix is one of OpenAI |
"""


def assertions() -> str:
    """The index of the assertions' pages: their names and first paragraphs, apart by whether a model is called."""
    tables: dict[str, list[str]] = {"Deterministic": [], "Model-graded": []}
    for page in sorted((DOCS / "assertions").glob("*.md")):
        if names := names_of(page):
            graders = filter(None, map(GRADERS.find, names))
            table_of = tables["Model-graded" if any(grader.asks.models for grader in graders) else "Deterministic"]
            sentence = " ".join(page.read_text().split("\n\n")[1].split())
            table_of.append(f"| [{', '.join(names)}]({page.name}) | {sentence} |")
    lines = [f"\n## {title}\n\n| type | passes when |\n|---|---|\n" + "\n".join(rows) + "\n" for title, rows in tables.items()]
    return INDEX + "".join(lines) + "\n" + COMMON


def names_of(page: Path) -> list[str]:
    """The types that a page is about: its heading."""
    return page.read_text().partition("\n")[0].removeprefix("# ").split(", ") if page.name != "README.md" else []


FILES = {
    ROOT / "action.yml": action,
    DOCS / "action.md": page,
    ROOT / "container" / "action.yml": in_container,
    DOCS / "from-deepeval.md": from_deepeval,
    DOCS / "assertions" / "README.md": assertions,
    DOCS / "config.schema.json": lambda: schema("config"),
    DOCS / "results.schema.json": lambda: schema("results"),
    PRICES: lambda: price_table.text(PRICES),
}


def main(arguments: list[str]) -> int:
    """Write what is stale; with --check, exit with 1 instead."""
    stale = [path for path, make in FILES.items() if not path.exists() or path.read_text() != make()]
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
