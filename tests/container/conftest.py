"""Leaves the container test out where it cannot run, and says so; GRADEGATE_CONTAINER=required makes that a failure."""

import os

import pytest

from support import builder

REQUIRED = os.environ.get("GRADEGATE_CONTAINER") == "required"
collect_ignore = ["test_container.py"] if builder.missing() and not REQUIRED else []


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if collect_ignore:
        terminalreporter.write_line(f"LEFT OUT: the container test, because: {builder.missing()}", yellow=True)
