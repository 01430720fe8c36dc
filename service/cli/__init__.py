"""The command line: `blockyard`. Each module holds commands that belong together; `main` puts them together."""
