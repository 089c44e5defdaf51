"""Finds the config files of a run and reads each of them into a suite."""

import glob
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from gradegate.config.code import config_from_program
from gradegate.config.context import Context
from gradegate.config.dialect import DIALECTS, Dialect, Source
from gradegate.config.keys import ConfigKeys, key_names
from gradegate.config.overrides import apply_overrides
from gradegate.config.test_files import TABLES, read_table
from gradegate.core.settings import Settings
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.files.patterns import folder_of_pattern
from gradegate.files.references import read_with_references
from gradegate.files.vouched import Vouched
from gradegate.files.workspace import Workspace, describe_absent_path
from gradegate.registry import near_miss
from gradegate.sandbox.program import is_javascript
from gradegate.security.secrets import secrets_in_text
from gradegate.structs import FrozenStruct, replace

DEFAULT_CONFIGS = (
    "promptfooconfig.yaml",
    "promptfooconfig.yml",
    "promptfooconfig.json",
    "promptfooconfig.cjs",
    "promptfooconfig.cts",
    "promptfooconfig.js",
    "promptfooconfig.mjs",
    "promptfooconfig.mts",
    "promptfooconfig.ts",
    "gradegate.yaml",
)
_VARIABLE = re.compile(r"""\benv\s*(?:\.\s*|\[\s*\\?["'])(\w+)|apiKeyEnvar["']?\s*:\s*["']?(\w+)""")
_MAX_ENTRIES = 1000  # entries of a folder that are searched for a config


class SuiteFile(FrozenStruct):
    """A suite, the file that it was read from, and what paths in it are relative to.

    ``digest`` is the SHA-256 of the file. ``recorded`` are cases that bring their answers: they are planned instead of the
    suite's cases, and no target is asked.
    """

    suite: Suite
    workspace: Workspace
    folder: Path
    digest: str = ""
    recorded: tuple[Case, ...] | None = None


def load_suites(context: Context) -> list[SuiteFile]:
    """Read every config that the settings name. Raises ConfigError with the mistakes of all unreadable ones."""
    vouched_only = context.environment.vouched_only
    if vouched_only:
        _check_config_folders(context)

    suites = []
    mistakes: list[Mistake] = []
    for path in config_paths(context.settings):
        with gather_mistakes(mistakes):
            vouched = Vouched.around(path, context.environment) if vouched_only else None
            suites.append(read_suite(path, context, vouched))
    if mistakes:
        raise ConfigError(*dict.fromkeys(mistakes))
    return suites


def _check_config_folders(context: Context) -> None:
    """Check the folders that are searched for configs: the commit must vouch for all files in them. Raises ConfigError."""
    folders = [context.cwd]
    if context.settings.configs:
        patterns = filter(glob.has_magic, context.settings.configs)
        folders = [folder_of_pattern(context.cwd / pattern) for pattern in patterns]
    for folder in folders:
        Vouched.around(folder / "*", context.environment).check_folder(folder, ())


def read_suite(path: Path, context: Context, vouched: Vouched | None = None) -> SuiteFile:
    """Read one config and apply the options of the command line. Raises ConfigError.

    With ``vouched``, only files that the commit vouches for are read.
    """
    settings = context.settings
    workspace = Workspace.around(path, settings.cwd, context.environment, vouched)
    workspace = replace(workspace, instead=settings.file_overrides)
    name = workspace.name(path)
    raw = workspace.read(str(path.absolute()), path.parent, Origin(name))

    if path.suffix in TABLES:
        content = read_table(raw, name)
    elif is_javascript(path.name):
        exported = config_from_program(path, workspace, Origin(name))
        content = read_with_references(exported, name)
    else:
        content = read_with_references(raw, name)

    dialect = _find_dialect(content)
    if dialect is None:
        raise _unknown_file(path, raw, content, name)
    source = Source(
        path=path.absolute(),
        content=content,
        workspace=workspace,
        env=context.environment,
        variables=settings.variables,
        asks_targets=settings.asks_targets,
        asks_graders=not settings.is_listing,
    )
    suite = apply_overrides(dialect.read(source), source, settings)
    digest = hashlib.sha256(raw).hexdigest()
    return SuiteFile(suite, workspace, source.folder, digest)


def _find_dialect(content: Any) -> Dialect | None:
    for dialect in DIALECTS.one_by_one():
        if dialect.recognises(content):
            return dialect
    return None


def _unknown_file(path: Path, raw: bytes, content: Any, name: str) -> ConfigError:
    """The error for a file that no dialect recognises: it is empty, of a removed kind, has a misspelt key, or is no config."""
    lines = [line.strip() for line in raw.splitlines()]
    if all(not line or line.startswith(b"#") for line in lines):
        cure = "write `prompts`, `providers` and `tests` into it"
        return ConfigError.at("the file is empty", Origin(name), cure)

    for ending, cure in document.table("config", "removed.yaml")["files"].items():
        if path.name.endswith(ending):
            return ConfigError.at(f"`{ending}` files are not supported", Origin(name), cure)

    if isinstance(content, dict):
        for key in content:
            meant = near_miss(key, key_names(ConfigKeys))
            if meant:
                origin = document.origin_of(name, content, key)
                return ConfigError.at(f"unknown key `{key}`", origin, f'did you mean "{meant}"?')

    formats = "; ".join(dialect.summary for _, dialect in DIALECTS)
    what = "gradegate does not know this kind of file as an eval config"
    return ConfigError.at(what, Origin(name), f"it reads: {formats}")


def secrets_in_configs(context: Context) -> Iterator[str]:
    """The secrets that are written into the configs, as far as these can be read at all."""
    for text in _config_texts(context):
        yield from secrets_in_text(text)


def variables_in_configs(context: Context) -> Iterator[str]:
    """The variables of the environment that the configs and the models of the command line name anywhere."""
    settings = context.settings
    texts = (*settings.graders.values(), *settings.providers, *_config_texts(context))
    for text in texts:
        for in_template, as_key in _VARIABLE.findall(text):
            yield in_template or as_key


def _config_texts(context: Context) -> Iterator[str]:
    with suppress(ConfigError):
        for path in config_paths(context.settings):
            with suppress(ConfigError):
                workspace = Workspace.around(path, context.cwd, context.environment)
                raw = workspace.read(str(path.absolute()), path.parent, Origin(path.name))
                yield raw.decode("utf-8", "replace")


def config_paths(settings: Settings) -> list[Path]:
    """The config files that the settings name, with patterns expanded, or the default one. Raises ConfigError."""
    if not settings.configs:
        return [_default_config(settings.cwd)]
    paths = []
    mistakes: list[Mistake] = []
    for config in settings.configs:
        path = settings.cwd / config
        if glob.has_magic(config):
            matches = map(Path, sorted(glob.glob(str(path), recursive=True)))  # noqa: PTH207  # may be absolute
            files = [file for file in matches if file.is_file() and not _is_in_base(file, settings)]
            if not files:
                what = f"the config `{config}` does not exist: no file matches"
                mistakes.append(Mistake(what, None, "correct the pattern"))
            paths += files
        elif path.is_file():
            paths.append(path)
        elif path.is_dir():
            with gather_mistakes(mistakes):
                paths.append(_default_config(path, config))
        else:
            mistakes.append(_absent_config(config, settings))
    if mistakes:
        raise ConfigError(*mistakes)
    return list(dict.fromkeys(paths))


def _is_in_base(file: Path, settings: Settings) -> bool:
    """Whether a file belongs to the base checkout below this checkout."""
    if not settings.base_checkout:
        return False
    base = os.path.abspath(settings.cwd / settings.base_checkout)  # noqa: PTH100  # links stay as they are
    return file.is_relative_to(base) and not settings.cwd.is_relative_to(base)


def _absent_config(config: str, settings: Settings) -> Mistake:
    cwd = settings.cwd
    parts = Path(config).parts

    # A path from the repository often repeats the working directory: `evals/a.yaml`, started in `evals`.
    for count in range(1, len(parts)):
        rest = Path(*parts[count:])
        if parts[:count] == cwd.parts[-count:] and (cwd / rest).is_file():
            folder = "the folder where the command is started"
            if settings.inputs:
                folder = "`working-directory`"
            what = f"the config `{config}` does not exist: it is relative to {folder}"
            return Mistake(what, None, f"write {rest.as_posix()}")

    what, cure = describe_absent_path(config, cwd / config, cwd)
    return Mistake(f"the config {what}", None, cure)


def _default_config(folder: Path, written: str = "") -> Path:
    """The default config in a folder, which a message calls ``written``. Raises ConfigError if there is none."""
    for name in DEFAULT_CONFIGS:
        if (folder / name).is_file():
            return folder / name
    where = f"in the folder `{written}`" if written else "here"
    cure = "write one with `gradegate init`, or name yours: <--config FILE>"
    neighbor = _neighbor_with_config(folder)
    if neighbor:
        cure = f"there is one in `{neighbor}`: <--config {os.path.join(written, neighbor)}>"  # noqa: PTH118  # `..` stays
    raise ConfigError.at(f"there is no promptfooconfig.yaml {where}", None, cure)


def _neighbor_with_config(folder: Path) -> str:
    """The first folder with a config: one inside of this folder, or else `..`. Empty if there is none."""
    with suppress(OSError), os.scandir(folder) as entries:
        inside = sorted(
            entry.name
            for entry in islice(entries, _MAX_ENTRIES)
            if entry.is_dir() and not entry.name.startswith(".")
        )
        for name in (*inside, ".."):
            if any((folder / name / config).is_file() for config in DEFAULT_CONFIGS):
                return name
    return ""
