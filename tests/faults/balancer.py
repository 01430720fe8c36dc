"""The plain proxy before the APIs: each connection goes to the next of them, bytes pass as they are."""

import socket
import threading
from contextlib import suppress
from itertools import count

BUFFER = 1 << 16


class Balancer:
    """Listens on a port of its own. `backends`, host and port each, may be changed at any time; connections made stay."""

    def __init__(self, host: str, backends: list[tuple[str, int]]) -> None:
        self.backends = backends
        self._turns = count()
        self._server = socket.create_server((host, 0))
        self.url = f"http://{host}:{self._server.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """Takes no more connections."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        backends = list(self.backends)
        address = backends[next(self._turns) % len(backends)]
        with client, suppress(OSError), socket.create_connection(address, 5) as backend:
            backend.settimeout(None)
            back = threading.Thread(target=_pass, args=(backend, client), daemon=True)
            back.start()
            _pass(client, backend)
            back.join()


def _pass(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while received := source.recv(BUFFER):
            target.sendall(received)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
