"""Which addresses are this machine's own."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a host name or address reaches this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
