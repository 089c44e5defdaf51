"""Decides what may leave the machine and what no text may show.

`Environment` and `Event` say what the runner tells of a run, and which variables a config may read. `EgressPolicy` decides which
host gets which credential: a `Host` is where a key may go, a `Vendor` declares its keys, hosts and requests. A `Redact` function
hides secrets in texts: it searches the `SecretTraces` of each secret in all readings of a text (`escapes`).
"""
