"""HTTP: requests to models and to GitHub, at the pace of their host, within deadlines, retries and budget.

A ``Client`` sends an ``HttpRequest`` with a ``Credential`` and returns a ``Response``. A ``Guard`` checks each request once
more before it leaves. A ``Budget`` reserves each call. A ``Lane`` lets a call to its host leave when the ``Pace`` allows it,
and records answers and refusals. ``Deadlines`` cut a call that is late. A ``MintedToken`` mints its token when a request needs
one. A ``Crew`` runs work in threads.
"""
