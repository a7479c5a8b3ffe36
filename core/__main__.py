"""`python -m core COMMAND`: translate, convert, explain, score and others."""

import sys

from core.cli.commands import main

if __name__ == "__main__":
    sys.exit(main())
