"""How many workers one Redis bears: measured costs of the ledger's commands, and a simulation of more workers than there are.

`python -m deploy.scale` from the repository's root measures, checks the simulation against real workers and prints the tables
of `deploy/OPERATIONS.md`.
"""
