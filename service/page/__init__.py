"""The dashboard: pages made on the server, with a style sheet and a small script of our own, live by server-sent events."""
