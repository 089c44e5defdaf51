"""An application that is started as a command: the prompt is its first argument."""

import sys

print(f"Shop: {sys.argv[1]}")
