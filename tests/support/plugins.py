"""Plug-ins that are not part of the package."""

import importlib.util
import sys
from pathlib import Path


def load_folder(folder: Path) -> None:
    """Import every module of a folder."""
    for path in sorted(folder.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"gradegate_plugin_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where annotations that are kept as text are looked up
        spec.loader.exec_module(module)
