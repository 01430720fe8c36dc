"""The HTTP routes: each reads its request, makes one call, and writes the answer."""
