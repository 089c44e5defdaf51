"""What a pull request does to its own gate: the differences between the snapshots of two plans that make it weaker."""
