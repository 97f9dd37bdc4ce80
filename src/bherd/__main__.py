"""`python -m bherd`: the command line, where no `bherd` is on the path."""

import sys

from bherd.cli import main

if __name__ == "__main__":
    sys.exit(main())
