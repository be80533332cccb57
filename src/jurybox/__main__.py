"""`python -m jurybox`."""

from jurybox.cli import main

main()
