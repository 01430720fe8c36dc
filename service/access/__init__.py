"""Who may come in, and for what: keys and their roles, sessions of the page, quotas, and the log of who changed what."""
