"""``python -m agentfp``: the command line."""

import sys

from agentfp_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
