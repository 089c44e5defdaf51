"""The last part of every help page: exit codes and an example; and the text that `gradegate` alone prints."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "run": "gradegate run evals/support.yaml --grader openai:chat:MODEL -o results.json",
    "rerun": "gradegate rerun results.json --failed",
    "merge": "gradegate merge parts evals/support.yaml -o results.json",
    "validate": "gradegate validate evals/support.yaml",
    "cases": "gradegate cases evals/support.yaml -o cases.jsonl",
    "calibrate": "gradegate calibrate evals/support.yaml labels.jsonl -o calibration.json",
    "list": "gradegate list",
    "schema": "gradegate schema config > gradegate.schema.json",
    "init": "gradegate init",
    "migrate": "gradegate migrate --write",
    "view": "gradegate view results.json",
    "explain": 'gradegate explain "names the approval limit" results.json',
}
_MISTAKE = "a mistake in a config, a key or an argument"
_DECIDED = {"0": "passed, or only advice failed", "1": "blocked", "2": _MISTAKE, "3": "inconclusive, or not run"}
_DONE = {"0": "done", "2": _MISTAKE}
# The meaning of each exit code, as docs/verdicts.md has it, by command; of the command without a name what all may give.
CODES: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("", "run", "rerun", "merge", "action"), _DECIDED),
    "validate": {"0": "no mistake", "2": _MISTAKE},
    "init": {**_DONE, "3": "with --live: a model gave no answer or verdict"},
    "calibrate": {"0": "something could be held against a label", "2": _MISTAKE, "3": "nothing could"},
}
FIRST = """\
gradegate gates pull requests on LLM evals. These five commands are enough to begin:

  gradegate init             writes a first config and a workflow
  gradegate validate         finds every mistake, and says what a run would take
  gradegate run              asks, grades and decides
  gradegate rerun --failed   asks again what failed last
  gradegate explain CASE     tells the whole story of one case

All commands: gradegate --help. Options of one: gradegate run --help."""


def epilog(command: str = "") -> str:
    """The text below the options of a command, or of all commands; what is asked for most stands last, where it is in sight."""
    codes = {**CODES.get(command, _DONE), "130": "Ctrl-C", "143": "SIGTERM"}
    example = EXAMPLES.get(command or "run", f"gradegate {command}")
    table = (f"  {code:<{max(map(len, codes))}}  {meaning}" for code, meaning in codes.items())
    parts = ["exit codes:", *table, "", "environment variables: docs/terminal.md", "", "example:", f"  {example}"]
    return "\n".join(parts)
