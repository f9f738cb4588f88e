"""``python -m tailcut`` is the command ``tailcut``, for where the command itself is not on the path."""

from tailcut.cli import main

main()
