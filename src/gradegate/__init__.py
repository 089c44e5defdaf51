"""gradegate blocks pull requests that make LLM evals worse. As a library, it decides about results (docs/library.md)."""

from importlib import import_module

# `make release` writes the version of a release; `.dev0` marks what lies before it.
__version__ = "0.2.0.dev0"
# Other files repeat the name: `make owner OWNER=NAME` writes all of them.
REPOSITORY = "OWNER/gradegate"
# The names of the library and their modules. `__init__.pyi` has them for type checkers.
_MODULES = {
    "Policy": "core.policy",
    "Rule": "core.policy",
    "Select": "core.policy",
    "decide": "gate.decision",
    "load_results": "results.results_file",
}


def __getattr__(name: str) -> object:
    """Import a name when it is used: workers and ``--version`` need none."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """The names of the library, imported or not."""
    return sorted([*_MODULES, "REPOSITORY", "__version__"])
