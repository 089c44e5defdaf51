"""The files of a first gate: templates with the choices filled in, and the places where they go."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from gradegate.commands.choices import ACTION, Choices
from gradegate.errors import ConfigError
from gradegate.files.checkout import repository_of
from gradegate.files.plain_files import Place

CONFIG = "promptfooconfig.yaml"
_TEMPLATES = Path(__file__).with_name("templates")
LONGEST = 50  # letters of a folder in the name of its workflow
_LIVE = re.compile(r"^( *)# LIVE.*\n.*scripted:.*\n((?:\1# .*\n)+)", re.MULTILINE)  # what is recorded, and what takes its place
_SUFFIX = ".template"  # of a program, so that no tool takes it for one of ours


@dataclass(frozen=True, slots=True)
class Ground:
    """Where somebody starts: ``cwd``; ``root``, the repository around it, else ``cwd``; ``folder`` of the config, relative to ``cwd``."""

    cwd: Path
    root: Path
    folder: tuple[str, ...]

    @property
    def below(self) -> str:
        """The folder of the config as a workflow names it: relative to the root, empty for the root itself."""
        return "/".join((*self.cwd.relative_to(self.root).parts, *self.folder))

    @property
    def key(self) -> str:
        """What tells the workflow of this folder from others in the repository: letters, digits and hyphens."""
        words = re.sub(r"[^a-z0-9]+", "-", self.below.lower()).strip("-")
        if not 0 < len(words) <= LONGEST or not self.below.isascii():  # which cannot be told apart by their letters alone
            words = f"{words[:LONGEST]}-{sha256(self.below.encode()).hexdigest()[:8]}".strip("-")
        return f"evals-{words}" if self.below else "evals"

    @property
    def workflow(self) -> tuple[str, ...]:
        """Where GitHub looks for the workflow, from the root."""
        return ".github", "workflows", f"{self.key}.yml"


def ground(cwd: Path, folder: str) -> Ground:
    """Where somebody starts who stands in ``cwd``. Raises ConfigError for a folder that no workflow can name."""
    here = cwd.resolve()
    found = Ground(here, repository_of(here) or here, PurePosixPath(folder).parts)
    blank = found.below != found.below.strip()  # which the Action would not see
    if blank or not found.below.isprintable() or "${{" in found.below or ".git" in found.below.casefold().split("/"):
        what = f"the folder {found.below!r} cannot stand in a workflow"
        raise ConfigError.at(what, None, "start in a folder with a plain name")
    return found


def files(choices: Choices, where: Ground, keys: tuple[Sequence[str], Sequence[str]]) -> dict[Place, str]:
    """Each place with its text, the workflow last. ``keys`` are the variables that the target and the grader take."""
    folder = _TEMPLATES / choices.template
    values = _values(choices, where, keys)
    made = {}
    for path in sorted(folder.rglob("*.*"), key=lambda path: (path.name != CONFIG, path)) if choices.config else ():
        name = path.relative_to(folder).as_posix().removesuffix(_SUFFIX)
        parts = (*where.folder, *name.split("/"))
        text = _filled(path, values)
        made[Place(where.cwd, parts)] = _LIVE.sub(lambda it: re.sub("(?m)^( *)# ", r"\1", it[2]), text) if choices.live else text
    if choices.workflow:
        own = _TEMPLATES / f"workflow-{choices.template}.yml"
        path = own if own.exists() else _TEMPLATES / "workflow.yml"
        made[Place(where.root, where.workflow)] = _filled(path, values)
    return made


def _values(choices: Choices, where: Ground, keys: tuple[Sequence[str], Sequence[str]]) -> dict[str, str]:
    """What stands in the templates for what."""
    both = sorted({*keys[0], *keys[1]})
    named_keys = (choices.key_of(id_) for id_ in (choices.target, choices.judge))
    target_key, grader_key = (f", config: {{ apiKeyEnvar: {name} }}" if name else "" for name in named_keys)
    quoted = _quoted(where.below)
    named = {"provider": choices.provider, "grader": choices.grader}  # inputs, for a config that is there
    models = "".join(f"{name}: {_quoted(id_)}\n          " for name, id_ in named.items() if id_)
    return {
        "PROVIDER": choices.target,
        "GRADER": f'{{ id: "{choices.judge}"{grader_key} }}' if grader_key else f'"{choices.judge}"',
        "ACCESS": target_key,
        "TARGET_NEEDS": needs(keys[0]),
        "GRADER_NEEDS": needs(keys[1]),
        "ACTION": f"{choices.action} # put the commit of a release here" if choices.action == ACTION else choices.action,
        "PLACE": where.below or "this repository",
        "NAME": _quoted(f"evals of {where.below}") if where.below else "evals",
        "KEY": where.key,
        "FOLDER": f"working-directory: {quoted}\n          " if where.below else "",
        "MODELS": "" if choices.config else models,
        "RUN_IN": f"\n        working-directory: {quoted}" if where.below else "",
        "ANSWERS": _quoted(f"{where.below}/answers.jsonl") if where.below else "answers.jsonl",
        "UP": "../" * len(where.below.split("/")) if where.below else "",
        "COMMENT_KEY": f"\n          comment-key: {where.key}" if where.below else "",
        "ENV": "\n        ".join(_env(both, "; only needed once models are asked" if choices.config and not choices.live else "")),
    }


def _quoted(text: str) -> str:
    """A text of printable signs in YAML. Written out, since YAML knows no pairs of surrogates."""
    return json.dumps(text, ensure_ascii=False)


def needs(keys: Sequence[str]) -> str:
    """``it needs OPENAI_API_KEY``."""
    return f"it needs {' and '.join(keys)}" if keys else "it needs no key"


def _env(keys: Sequence[str], when: str) -> Iterator[str]:
    """The lines of the step that hand over keys."""
    if not keys:
        yield "# No key: nobody is asked who takes one. One goes in here as `env: { NAME: ${{ secrets.NAME }} }`."
        return
    yield f"env: # secrets of the repository{when}"
    yield from (f"  {key}: ${{{{ secrets.{key} }}}}" for key in keys)


def _filled(path: Path, values: dict[str, str]) -> str:
    return re.sub(r"__([A-Z_]+?)__", lambda found: values[found[1]], path.read_text(encoding="utf-8"))
