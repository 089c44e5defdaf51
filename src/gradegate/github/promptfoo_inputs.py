"""Inputs of promptfoo's action as those of gradegate's: in words, and as the changes of a workflow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradegate.files.document import table
from gradegate.options import RUNS
from gradegate.values.settings import ACTION_OPTIONS

_TABLE = table("github", "promptfoo_action.yaml")
_ANSWERS: Mapping[str, Mapping[str, str]] = _TABLE["answers"]
VARIABLES: Mapping[str, str] = _TABLE["variables"]  # that decide in promptfoo, with what to write here
_PATHS = next(option for option in ACTION_OPTIONS if option.field == "paths")
_IN_WORKSPACE = re.compile(r"(?:\$\{\{ *github\.workspace *\}\}/)?(\.?[\w-][\w./-]*)")
_BOTH = "promptfoo also required {0}% of all single runs to pass; here every case must pass {1} of its runs, and single runs do not count"
_PROMPTS = "promptfoo ran changed prompt files instead of those in the config; here the prompts of the config run"


def answers() -> dict[str, str]:
    """What to write in place of each input, for a person."""
    return {name: _words(entry) for name, entry in _ANSWERS.items()}


def _words(entry: Mapping[str, str]) -> str:
    name, say = entry.get("as", ""), entry.get("say", "")
    if entry["do"] == "leave":
        return f"leave it out: {say}"
    given = f"set the variable by `env:` of the step: `{name}: ${{{{ secrets.{name} }}}}`" if entry["do"] == "env" else f"give `{name}`"
    return "; ".join(filter(None, (given, say))) if name else say


@dataclass
class Moved:
    """Changes of the inputs of a step, of its ``env`` and of the gate; ``left`` is what is to be known or done of an input."""

    drop: set[str] = field(default_factory=set)
    put: dict[str, Any] = field(default_factory=dict)
    rename: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    share: float = 1.0  # of the cases that have to pass
    left: list[tuple[str, str, str]] = field(default_factory=list)  # the input, what is wrong, and the cure


def moved(given: Mapping[str, Any]) -> Moved:
    """What a step gives to promptfoo's action, as what it is to give here. What no machine can change stays: a mistake of the step."""
    texts = {key.lower(): str(value).strip() if not isinstance(value, bool) else str(value).lower() for key, value in given.items()}
    runs = f"{texts.get('repeat-min-pass', '')}/{texts.get('repeat', '')}"
    found, least = Moved(), RUNS.read(runs)
    for key in given:
        entry, text = _ANSWERS.get(key.lower(), {}), texts[key.lower()]
        do, new = entry.get("do"), entry.get("as", "")
        if do == "name":
            found.rename[key] = new
        elif do == "paths":
            _paths(key, text, texts, found)
        elif do == "env":
            found.env[new] = text
        elif do == "write" and text in ("true", "false"):
            found.put |= dict([new.split(": ")]) if text == "true" else {}
        elif do == "runs" and least:
            found.put["runs"] = runs
            found.drop |= {it for it in given if it.lower() == "repeat"}
        elif do == "gate" and re.fullmatch(r"\d{1,2}(\.\d+)?|100", text):
            if least is None:
                found.share = float(text) / 100
                if 0 < found.share < 0.01:
                    found.left.append(
                        (key, f"`{key}: {text}` means {text} % in both tools", f"write `min-pass-rate: {text}` if you meant a share")
                    )
            elif float(text) * least[1] > 100 * least[0]:  # beside `repeat-min-pass` promptfoo's action wants both
                cure = "raise the first number of `runs` if that matters"
                found.left.append((key, _BOTH.format(text, "{} of {}".format(*least)), cure))
        elif do == "cache":
            inside = None if ".." in text or ("{" in text and "working-directory" in texts) else _IN_WORKSPACE.fullmatch(text)
            found.put |= {"cache": inside[1]} if inside else {}
            found.left += [] if inside else [(key, f"replies were kept in {text}, and are no longer kept", _words(entry))]
        elif do != "leave":
            continue
        found.drop |= {key} - found.rename.keys()
    return found


def _paths(key: str, text: str, texts: Mapping[str, str], found: Moved) -> None:
    """Where promptfoo's action looks for changes, and what it runs then."""
    if texts.get("use-config-prompts") != "true":
        found.left.append((key, _PROMPTS, "list the prompts to test in the config"))
    if texts.get("force-run") == "true":
        return
    found.put["only-changed"] = True
    if all(map(_PATHS.kind.read, filter(None, map(str.strip, text.splitlines())))) and "working-directory" not in texts:
        found.rename[key] = "paths"
    else:
        found.left.append((key, f"`{text}` is not a pattern for `paths`", f"give {_PATHS.kind.needs}, if other files count, too"))
