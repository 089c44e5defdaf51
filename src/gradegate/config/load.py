"""Reads the configs that a run is about into suites, each with the place that its paths are relative to."""

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from gradegate.config import code as scripts
from gradegate.config import overrides
from gradegate.config import test_files as testfiles
from gradegate.config.context import Context
from gradegate.config.dialect import DIALECTS, Source
from gradegate.config.keys import ConfigKeys, key_names
from gradegate.core.settings import Settings
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.files.git import Vouched
from gradegate.files.workspace import Workspace, absent, searched
from gradegate.registry import near_miss
from gradegate.sandbox.program import is_javascript
from gradegate.security.secrets import secrets_in_text
from gradegate.structs import FrozenStruct, replace

_ENV = re.compile(r"""\benv\s*(?:\.\s*|\[\s*\\?["'])(\w+)|apiKeyEnvar["']?\s*:\s*["']?(\w+)""")
_ENTRIES = 1000  # of a folder that are looked at, if it has no config
_MODULES = "promptfooconfig.cjs promptfooconfig.cts promptfooconfig.js promptfooconfig.mjs promptfooconfig.mts promptfooconfig.ts".split()
DEFAULT_CONFIGS = (
    "promptfooconfig.yaml",
    "promptfooconfig.yml",
    "promptfooconfig.json",
    *_MODULES,
    "gradegate.yaml",
)


class SuiteFile(FrozenStruct):
    """A suite with the place its paths are relative to; ``digest`` is the SHA-256 of its file.

    ``recorded`` are cases that bring their answers: they are planned in place of the suite's, and no target is asked.
    """

    suite: Suite
    workspace: Workspace
    folder: Path
    digest: str = ""
    recorded: tuple[Case, ...] | None = None


def load_suites(context: Context) -> list[SuiteFile]:
    """Every config that the settings name. Raises ConfigError with the mistakes of all that cannot be read."""
    suites, mistakes = [], list[Mistake]()
    strict = context.environment.vouched_only
    # The folders in which configs are looked for, where none is named or a pattern is.
    folders = [context.cwd]
    if configs := context.settings.configs:
        patterns = filter(glob.has_magic, configs)
        folders = [searched(context.cwd / pattern) for pattern in patterns]
    for folder in folders if strict else ():
        Vouched.around(folder / "*", context.environment).all_of(folder, ())
    for path in config_paths(context.settings):
        with gather_mistakes(mistakes):
            vouched = Vouched.around(path, context.environment) if strict else None
            suites.append(read_suite(path, context, vouched))
    if mistakes:
        raise ConfigError(*dict.fromkeys(mistakes))
    return suites


def read_suite(path: Path, context: Context, vouched: Vouched | None = None) -> SuiteFile:
    """One config, with the assertions that the command line adds, and of files that are vouched for. Raises ConfigError."""
    settings = context.settings
    workspace = Workspace.around(path, settings.cwd, context.environment, vouched)
    workspace = replace(workspace, instead=settings.file_overrides)
    name = workspace.name(path)
    raw = workspace.read(str(path.absolute()), path.parent, Origin(name))
    if path.suffix in testfiles.TABLES:
        content = testfiles.read_table(raw, name)
    elif is_javascript(path.name):
        content = document.resolved(
            scripts.config_from_program(path, workspace, Origin(name)), name
        )
    else:
        content = document.resolved(raw, name)
    for dialect in DIALECTS.one_by_one():
        if dialect.recognises(content):
            source = Source(
                path.absolute(),
                content,
                workspace,
                context.environment,
                settings.variables,
                settings.asks_targets,
                not settings.is_listing,
            )
            suite = overrides.with_variables(dialect.read(source), settings)
            suite = overrides.apply_overrides(suite, source, settings)
            suite = overrides.with_assertions(
                suite, settings.assertions, settings.origin_of("assert")
            )
            policy = suite.policy.with_defaults(settings.reask, bool(settings.baseline))
            digest = hashlib.sha256(raw).hexdigest()
            return SuiteFile(replace(suite, policy=policy), workspace, source.folder, digest)
    if not any(line and not line.startswith(b"#") for line in map(bytes.strip, raw.splitlines())):
        cure = "write `prompts`, `providers` and `tests` into it"
        raise ConfigError.at("the file is empty", Origin(name), cure)
    for ending, cure in document.table("config", "removed.yaml")["files"].items():
        if path.name.endswith(ending):
            raise ConfigError.at(f"`{ending}` files are not supported", Origin(name), cure)
    keys: Iterable[str] = content if isinstance(content, dict) else ()
    for key in keys:
        if meant := near_miss(key, key_names(ConfigKeys)):
            origin = document.origin_of(name, content, key)
            raise ConfigError.at(f"unknown key `{key}`", origin, f'did you mean "{meant}"?')
    formats = "; ".join(dialect.summary for _, dialect in DIALECTS)
    what = "gradegate does not know this kind of file as an eval config"
    raise ConfigError.at(what, Origin(name), f"it reads: {formats}")


def secrets_in_configs(context: Context) -> Iterator[str]:
    """The secrets that are written into the configs, as far as these can be read at all."""
    for text in _contents(context):
        yield from secrets_in_text(text)


def variables_in_configs(context: Context) -> Iterator[str]:
    """The variables of the environment that the configs and the models of the command line name anywhere."""
    settings = context.settings
    for text in (*settings.graders.values(), *settings.providers, *_contents(context)):
        yield from (first or second for first, second in _ENV.findall(text))


def _contents(context: Context) -> Iterator[str]:
    with suppress(ConfigError):
        for path in config_paths(context.settings):
            with suppress(ConfigError):
                workspace = Workspace.around(path, context.cwd, context.environment)
                raw = workspace.read(str(path.absolute()), path.parent, Origin(path.name))
                yield raw.decode("utf-8", "replace")


def config_paths(settings: Settings) -> list[Path]:
    """The config files that were named, patterns expanded, or the one in the working directory. Raises ConfigError."""
    if not settings.configs:
        return [_default(settings.cwd)]
    paths = []
    mistakes = []
    for written in settings.configs:
        whole = settings.cwd / written
        if glob.has_magic(written):
            matches = map(Path, sorted(glob.glob(str(whole), recursive=True)))  # noqa: PTH207  # may be absolute
            files = [file for file in matches if file.is_file() and not _in_base(file, settings)]
            if not files:
                what = f"the config `{written}` does not exist: no file matches"
                mistakes.append(Mistake(what, None, "correct the pattern"))
            paths += files
        elif whole.is_file():
            paths.append(whole)
        elif whole.is_dir():
            paths.append(_default(whole, written))
        else:
            what, cure = absent(written, whole, settings.cwd)
            parts, here = Path(written).parts, settings.cwd.parts
            tails = (Path(*parts[at:]) for at in range(1, len(parts)) if parts[:at] == here[-at:])
            if tail := next((it for it in tails if (settings.cwd / it).is_file()), None):
                # It names the folder once more.
                place = "the folder where the command is started"
                if settings.inputs:
                    place = "`working-directory`"
                what = f"`{written}` does not exist: it is relative to {place}"
                cure = f"write {tail.as_posix()}"
            mistakes.append(Mistake(f"the config {what}", None, cure))
    if mistakes:
        raise ConfigError(*mistakes)
    return list(dict.fromkeys(paths))


def _in_base(file: Path, settings: Settings) -> bool:
    """Whether a file belongs to another checkout below this one, which is no part of it."""
    if not settings.base_checkout:
        return False
    base = os.path.abspath(settings.cwd / settings.base_checkout)  # noqa: PTH100  # links stay as they are
    return file.is_relative_to(base) and not settings.cwd.is_relative_to(base)


def _folder_beside(folder: Path) -> str:
    """The first folder inside of this one that has a config, else the one around it; empty if none has."""
    with suppress(OSError), os.scandir(folder) as entries:
        inside = sorted(
            entry.name
            for entry in islice(entries, _ENTRIES)
            if entry.is_dir() and not entry.name.startswith(".")
        )
        for name in (*inside, ".."):
            if any((folder / name / config).is_file() for config in DEFAULT_CONFIGS):
                return name
    return ""


def _default(folder: Path, named: str = "") -> Path:
    for name in DEFAULT_CONFIGS:
        if (folder / name).is_file():
            return folder / name
    where = f"in the folder `{named}`" if named else "here"
    cure = "write one with `gradegate init`, or name yours: <--config FILE>"
    if other := _folder_beside(folder):
        cure = f"there is one in `{other}`: <--config {os.path.join(named, other)}>"  # noqa: PTH118  # `..` stays
    raise ConfigError.at(f"there is no promptfooconfig.yaml {where}", None, cure)
