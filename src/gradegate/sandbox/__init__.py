"""Separate processes for code that gradegate does not trust: of a config, and of the repository.

A ``Sandbox`` is a process without keys, files or sockets; ``evaluate`` runs a function in it and charges a ``CpuAccount``. An
``ExecPolicy`` says whether code of the repository may run. A ``Program`` is a file of such code, with a digest of all that it
runs. A ``Worker`` runs it under a keeper, which ends everything that the code starts; ``call_function`` asks a worker of the
``CodeRun``, and raises ``CodeError``. ``Isolation`` closes files to a worker that runs as another user. The harness is what a worker runs.
"""
