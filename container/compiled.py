"""Compiles what gradegate takes of the standard library, into a folder that is laid over the image's root.

Python's own images come without compiled files, so that every start would compile anew. By hash and not by time, and never looked at
again: no file of an image changes, and a build may set the times of all of them.
"""

import importlib
import pkgutil
import py_compile
import sys

import gradegate


def main(folder: str) -> None:
    """Import every module of gradegate, plug-ins included, and compile what came along."""
    for module in pkgutil.walk_packages(gradegate.__path__, "gradegate."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    ours = sys.prefix  # the environment, which is compiled where it lies
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    for spec in [getattr(module, "__spec__", None) for module in list(sys.modules.values())]:
        if spec and spec.has_location and spec.cached and not spec.origin.startswith(ours):
            py_compile.compile(
                spec.origin, f"{folder}{spec.cached}", doraise=True, invalidation_mode=unchecked
            )


if __name__ == "__main__":
    main(sys.argv[1])
