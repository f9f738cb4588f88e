"""``python -m tailcut.cli`` is the command ``tailcut``."""

from tailcut.cli import main

main()
