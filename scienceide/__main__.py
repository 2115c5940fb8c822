"""`python -m scienceide`."""

from scienceide.cli import main

main()
