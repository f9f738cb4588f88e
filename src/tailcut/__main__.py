"""``python -m tailcut`` is the command ``tailcut``, for environments where the command is not on the PATH."""

from tailcut.cli import main

main()
