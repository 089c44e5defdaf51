"""The last part of every help page: environment variables, exit codes and an example."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "run": "gradegate run evals/support.yaml --grader openai:chat:MODEL -o results.json",
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
    **dict.fromkeys(("", "run", "merge", "action"), _DECIDED),
    "validate": {"0": "no mistake", "2": _MISTAKE},
    "calibrate": {"0": "something could be held against a label", "2": _MISTAKE, "3": "nothing could"},
}
OWN: Mapping[str, str] = {
    "NO_COLOR": "no colours, whatever else is set",
    "FORCE_COLOR": "colours where nothing is a terminal, too; 0: none",
    "TERM": "dumb: no colours and no bar",
    "CI": "no bar",
    "BROWSER": "what `view` opens where DISPLAY or WAYLAND_DISPLAY is",
    "PROMPTFOO_PYTHON": "the Python for code of the repository, as --python",
    "GRADEGATE_CACHE_SECRET": "signs kept replies in place of keys; 32 characters",
    "GRADEGATE_DEBUG": "1: where in gradegate a defect is",
    "GRADEGATE_NETWORK": "set in the container image",
    "REQUESTS_CA_BUNDLE": "certificates that are trusted, as SSL_CERT_FILE",
    "SSL_CERT_FILE": "certificates that are trusted",
    "HTTPS_PROXY": "the proxy to hosts; HTTP_PROXY and NO_PROXY likewise",
}


def epilog(command: str = "") -> str:
    """The text below the options of a command, or of all commands; what is asked for most stands last, where it is in sight."""
    codes = {**CODES.get(command, _DONE), "130": "Ctrl-C", "143": "SIGTERM"}
    vendors = "  keys of vendors, such as OPENAI_API_KEY: docs/keys.md, docs/providers.md"
    parts = ["environment variables:", *_table(OWN), vendors]
    example = EXAMPLES.get(command or "run", f"gradegate {command}")
    return "\n".join([*parts, "", "exit codes:", *_table(codes), "", "example:", f"  {example}"])


def _table(rows: Mapping[str, str]) -> list[str]:
    width = max(map(len, rows))
    return [f"  {name:<{width}}  {meaning}" for name, meaning in rows.items()]
