"""``python -m gradegate``."""

from gradegate.cli import script

if __name__ == "__main__":
    script()
