"""``python -m bracketz``."""

from bracketz.cli import main

main()
