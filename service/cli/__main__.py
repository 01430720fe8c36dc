"""`python -m service.cli` is the command `blockyard`."""

from service.cli.main import main

main()
