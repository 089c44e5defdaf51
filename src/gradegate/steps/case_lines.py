"""The cases for an application to answer: every planned call to a target, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from gradegate.access.hiding import unchanged
from gradegate.errors import ConfigError
from gradegate.planning.identity import calls
from gradegate.planning.recordings import line
from gradegate.reporting.deliver import write_documents
from gradegate.reporting.redact import conceal
from gradegate.reporting.report import Document, Sink
from gradegate.reporting.visible import OLD
from gradegate.results.mapping import plain
from gradegate.steps.session import Session
from gradegate.values.settings import Settings


def cases(settings: Settings, output: str) -> Iterator[str]:
    """Every planned call to a target as a JSON line, written to ``output`` or, where that is empty, given.

    No key is needed, and nothing is asked. Raises ConfigError.
    """
    session = Session.begin(replace(settings, listing=True, ready=()), [output] if output else [])
    hide = session.prepared.hide
    texts = (json.dumps({"id": call.id, **conceal(plain(line(call)), hide)}) for call in calls(session.prepared.plan.jobs))
    # ASCII alone, and no workflow command, so that neither a terminal nor a reader of lines finds anything in it.
    lines = (OLD.sub(r"#\\u0023", text) + "\n" for text in texts)
    if not output:
        return lines
    for failure in write_documents({output: lambda: Document(Sink.FILE, lines)}, session.where, unchanged).values():
        raise ConfigError.at(failure, None, "name another file")
    return iter(())
