"""The texts of help pages that are not options: exit codes, examples and first steps."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "run": "gradegate run evals/support.yaml --grader openai:chat:MODEL -o results.json",
    "merge": "gradegate merge parts evals/support.yaml -o results.json",
    "validate": "gradegate validate evals/support.yaml",
    "cases": "gradegate cases evals/support.yaml -o cases.jsonl",
    "calibrate": "gradegate calibrate evals/support.yaml labels.jsonl -o calibration.json",
    "schema": "gradegate schema config > gradegate.schema.json",
    "init": "gradegate init",
    "migrate": "gradegate migrate --write",
    "view": "gradegate view",
    "explain": 'gradegate explain "names the approval limit"',
}

_MISTAKE = "a mistake in a config, a key or an argument"
_CODES_OF_A_DECISION = {
    "0": "passed, or only advice failed",
    "1": "blocked",
    "2": _MISTAKE,
    "3": "inconclusive, or not run",
}
_CODES_WITHOUT_A_DECISION = {"0": "done", "2": _MISTAKE}
# The meaning of each exit code by command, as in docs/verdicts.md. Commands without an entry decide nothing.
EXIT_CODES: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("", "run", "merge", "action"), _CODES_OF_A_DECISION),
    "validate": {"0": "no mistake", "2": _MISTAKE},
    "init": {**_CODES_WITHOUT_A_DECISION, "3": "with --live: a model gave no answer or verdict"},
    "calibrate": {
        "0": "something could be held against a label",
        "2": _MISTAKE,
        "3": "nothing could",
    },
}
FIRST_STEPS = """\
gradegate gates pull requests on LLM evals. These five commands are enough to begin:

  gradegate init             writes a first config and a workflow
  gradegate validate         finds every mistake, and says what a run would take
  gradegate run              asks, grades and decides
  gradegate run --failed     asks again what failed last
  gradegate explain          lists what failed; with a CASE, tells its whole story

All commands: gradegate --help. Options of one: gradegate run --help."""


def help_epilog(command: str = "") -> str:
    """The text below the options of a command, or of all commands.

    The example stands last, where a terminal shows it without scrolling.
    """
    codes = {
        **EXIT_CODES.get(command, _CODES_WITHOUT_A_DECISION),
        "130": "Ctrl-C",
        "143": "SIGTERM",
    }
    width = max(map(len, codes))
    lines = ["exit codes:"]
    for code, meaning in codes.items():
        lines.append(f"  {code:<{width}}  {meaning}")
    example = EXAMPLES.get(command or "run", f"gradegate {command}")
    lines += ["", "environment variables: docs/terminal.md", "", "example:", f"  {example}"]
    return "\n".join(lines)
