"""Inputs of promptfoo's action: what to write in place of each, for a person and for ``gradegate migrate``.

``promptfoo_action.yaml`` has an entry for each input. What no entry can say is done here.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from gradegate.core.options import MOST_RUNS, parse_part
from gradegate.core.settings import ACTION_OPTIONS
from gradegate.files.documents import table
from gradegate.reports.format.escape import join_nonempty
from gradegate.structs import JsonObject, NamedTexts, Struct

_TABLE = table("github", "promptfoo_action.yaml")
_ANSWERS: Mapping[str, NamedTexts] = _TABLE["answers"]
# Variables that decide in promptfoo, with what to write here.
PROMPTFOO_VARIABLES: NamedTexts = _TABLE["variables"]
_PATHS = next(option for option in ACTION_OPTIONS if option.field == "paths")
# A folder of the workspace, also as "${{ github.workspace }}/.cache/replies"
_IN_WORKSPACE = re.compile(r"(?:\$\{\{ *github\.workspace *\}\}/)?(\.?[\w-][\w./-]*)")
# A percentage: "80", "99.5" or "100"
_PERCENT = re.compile(r"\d{1,2}(\.\d+)?|100")
_BOTH = "promptfoo also required {0}% of all single runs to pass; here every case must pass {1} of its runs, and single runs do not count"
_PROMPTS = "promptfoo ran changed prompt files instead of those in the config; here the prompts of the config run"


def promptfoo_answers() -> dict[str, str]:
    """What to write in place of each input, for a person."""
    return {name: _describe_answer(entry) for name, entry in _ANSWERS.items()}


def _describe_answer(entry: NamedTexts) -> str:
    """What to do in place of an input, from its entry in ``promptfoo_action.yaml``."""
    name = entry.get("as", "")
    remark = entry.get("say", "")
    if entry["do"] == "leave":
        return f"leave it out: {remark}"
    if not name:
        return remark
    cure = f"give `{name}`"
    if entry["do"] == "env":
        cure = f"set the variable by `env:` of the step: `{name}: ${{{{ secrets.{name} }}}}`"
    return join_nonempty("; ", cure, remark)


class GateEntry(NamedTuple):
    """A key of a config's gate with its value."""

    key: str
    value: float | str


class InputChanges(Struct):
    """What to change in the inputs of a step, in its ``env`` and in its config."""

    drop: set[str] = set()
    put: dict[str, Any] = {}
    rename: dict[str, str] = {}  # new names by the old ones
    env: dict[str, str] = {}
    gate: GateEntry | None = None
    remarks: list[tuple[str, str, str]] = []  # the input, what is different now, and what to do


def migrate_inputs(inputs: JsonObject) -> InputChanges:
    """What a step must give here in place of the inputs of promptfoo's action.

    An input that no machine can change stays, and is a mistake of the step.
    """
    texts = {}  # by the names in lower case, as the runner compares them
    for key, value in inputs.items():
        text = str(value)
        texts[key.lower()] = text.lower() if isinstance(value, bool) else text.strip()
    runs = f"{texts.get('repeat-min-pass', '')}/{texts.get('repeat', '')}"
    least = parse_part(runs, MOST_RUNS)  # M of N runs; None if the step requires no such part

    changes = InputChanges()
    for key in inputs:
        text = texts[key.lower()]
        entry = _ANSWERS.get(key.lower(), {})
        new_name = entry.get("as", "")
        match entry.get("do"):
            case "name":
                changes.rename[key] = new_name
            case "paths":
                _migrate_paths(key, text, texts, changes)
            case "env":
                changes.env[new_name] = text
            case "write" if text in ("true", "false"):
                if text == "true":
                    name, value = new_name.split(": ")
                    changes.put[name] = value
            case "concurrency":
                what = f"`{key}: {text}` is left out"
                changes.remarks.append((key, what, concurrency_cure(text)))
            case "runs" if least:
                changes.gate = GateEntry("runs", runs)
                changes.drop |= {name for name in inputs if name.lower() == "repeat"}
            case "gate" if _PERCENT.fullmatch(text):
                _migrate_threshold(key, text, least, changes)
            case "cache":
                has_other_folder = "{" in text and "working-directory" in texts
                path = None if ".." in text or has_other_folder else _IN_WORKSPACE.fullmatch(text)
                if path:
                    changes.put["cache"] = path[1]
                else:
                    what = f"replies were kept in {text}, and are no longer kept"
                    changes.remarks.append((key, what, _describe_answer(entry)))
            case "leave":
                pass
            case _:
                continue
        if key not in changes.rename:
            changes.drop.add(key)
    return changes


def _migrate_threshold(
    key: str, text: str, least: tuple[int, int] | None, changes: InputChanges
) -> None:
    """Migrate the percentage of single runs that must pass, which is ``text``.

    ``least``: M of the N runs of a case must pass, too. None if the step does not require that.
    """
    if least is None:
        share = float(f"{text}e-2")
        changes.gate = GateEntry("min-pass-rate", share)
        if 0 < share < 0.01:
            what = f"`{key}: {text}` means {text} % in both tools"
            cure = f"write `min-pass-rate: {text}` if you meant a share"
            changes.remarks.append((key, what, cure))
    elif float(text) * least[1] > 100 * least[0]:  # promptfoo's action requires both
        cure = "raise the first number of `runs` if that matters"
        what = _BOTH.format(text, "{} of {}".format(*least))
        changes.remarks.append((key, what, cure))


def concurrency_cure(text: str) -> str:
    """What to write in a config in place of promptfoo's `max-concurrency` or `-j`."""
    return f"write `evaluateOptions: {{maxConcurrency: {text}}}` in the config"


def _migrate_paths(key: str, text: str, texts: NamedTexts, changes: InputChanges) -> None:
    """Migrate the files whose change starts a run. ``texts`` are all inputs of the step."""
    if texts.get("use-config-prompts") != "true":
        cure = "list the prompts to test in the config"
        changes.remarks.append((key, _PROMPTS, cure))
    if texts.get("force-run") == "true":
        return
    changes.put["when"] = "changed"
    patterns = [line.strip() for line in text.splitlines() if line.strip()]
    if all(map(_PATHS.kind.read, patterns)) and "working-directory" not in texts:
        changes.rename[key] = "paths"
    else:
        what = f"`{text}` is not a pattern for `paths`"
        cure = f"give {_PATHS.kind.needs}, if other files count, too"
        changes.remarks.append((key, what, cure))
