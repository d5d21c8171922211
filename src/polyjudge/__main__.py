"""`python -m polyjudge` is the `polyjudge` command."""

from polyjudge.cli import main

main()
