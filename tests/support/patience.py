"""How long a test waits before it says that something hangs."""

# Seconds: far more than a machine takes that is busy with other things, far less than what hangs here would hang (300).
PATIENCE = 150.0
