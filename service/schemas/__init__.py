"""What travels over HTTP: the only place with the wire names of requests and answers."""
