"""gradegate: gates pull requests on LLM evals. As a library, it decides about results (docs/library.md)."""

from importlib import import_module

__version__ = "0.1.0"
REPOSITORY = (
    "OWNER/gradegate"  # every other file repeats it: `make owner OWNER=NAME` writes all of them
)
# What the library has, and where. `__init__.pyi` says the same to type checkers.
_MODULES = {
    "Policy": "core.policy",
    "Rule": "core.policy",
    "Select": "core.policy",
    "decide": "gate.decision",
    "load_results": "results.results_file",
}


def __getattr__(name: str) -> object:
    """Import what somebody uses, and only then: workers and ``--version`` need none of it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
