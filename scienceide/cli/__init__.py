"""The command line: `scienceide <command>`.

Each module here holds the commands of one noun. They parse, call the library, and print; a `Fault` from
below becomes one sentence on stderr and exit code 2 (bad input) or 3 (anything else).
"""

from __future__ import annotations

import sys

from scienceide.base.errors import Fault, UserError

BAD_INPUT = 2
FAILED = 3


def main() -> None:
    """Entry point of the `scienceide` program."""
    import logging

    from scienceide.cli.app import app
    from scienceide.cli.output import complain

    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    try:
        app()
    except Fault as fault:
        complain(str(fault))
        sys.exit(BAD_INPUT if isinstance(fault, UserError) else FAILED)
    except KeyboardInterrupt:
        complain("Stopped; what was finished is kept.")
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output went away, as `head` does; nothing is wrong.
        sys.stderr.close()
        sys.exit(0)


__all__ = ["main"]
