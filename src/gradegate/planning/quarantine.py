"""Which tests are in quarantine and until when, as every report says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradegate.access.hiding import excerpt
from gradegate.planning.job import Job
from gradegate.values.figures import many
from gradegate.values.suite import Case, Note, Quarantine

SOON = 7  # days before its end from which reports say that it ends
_NAMED = 20  # tests that a note names


def quarantines(jobs: Iterable[Job]) -> Iterator[Note]:
    """A note for each day on which a quarantine ends, at the first of its tests."""
    cases = {(job.suite, job.number): job.case for job in jobs if job.case.quarantine}
    by_day: dict[Quarantine, list[Case]] = {}
    for case in cases.values():
        if case.quarantine:
            by_day.setdefault(case.quarantine, []).append(case)
    for quarantine, together in sorted(by_day.items(), key=lambda item: item[0].until):
        names = ", ".join(f"`{excerpt(case.description or str(case.origin), 80)}`" for case in together[:_NAMED])
        more = f" and {len(together) - _NAMED:,} more" if len(together) > _NAMED else ""
        yield Note(f"{_state(quarantine)}: {names}{more}", together[0].origin)


def _state(quarantine: Quarantine) -> str:
    if not quarantine.in_force:
        return f"the quarantine ended on {quarantine.until}, so these tests count again; mend them, and remove `flaky`"
    ends = f"; it ends in {many(quarantine.days, 'day')}, and then they count again" if quarantine.days <= SOON else ""
    return f"in quarantine until {quarantine.until}, so failures of these tests only advise{ends}"
