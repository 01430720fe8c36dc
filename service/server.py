"""One API process: uvicorn on the application of `service.app`, told to let go of its streams before it waits for them."""

import asyncio
import gc
import socket
from typing import Final

import uvicorn

from service.access.opening import check_address
from service.app import create_app
from service.events import Feeds
from service.local.errors import LocalError
from service.local.ports import listen
from service.settings import ServiceSettings
from workers.logs import log_in_lines

KEEP_ALIVE_SECONDS: Final = 75
"""How long an idle connection is kept: longer than proxies keep theirs, a minute by default, or one of them is closed just as a
request comes."""
COLLECTED_AFTER: Final = (50_000, 20, 50)
"""Objects, and rounds of each age, after which garbage is collected: the small change of some hundred requests."""


class Server(uvicorn.Server):
    """A server that ends its open event streams as soon as it shuts down; other requests may finish."""

    def __init__(self, config: uvicorn.Config, feeds: Feeds) -> None:
        super().__init__(config)
        self._feeds = feeds

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: streams first, which would go on for a minute."""
        await self._feeds.close()
        await super().shutdown(sockets)


def serve(host: str | None, port: int | None, descriptor: int | None = None, *, insecure: bool = False) -> None:
    """Answer requests until SIGTERM or SIGINT. `host`, `port` and `insecure` override the settings.

    `descriptor` is a socket that listens already, handed down by a supervisor that keeps it open across restarts. Raises
    `LocalError` where the port is taken, `OpenToStrangers` where anybody could come in from the address.
    """
    settings = ServiceSettings()
    host, port = host or settings.host, settings.port if port is None else port
    settings = settings.model_copy(update={"host": host, "port": port, "insecure": insecure or settings.insecure})
    log_in_lines(settings.log_format)
    check_address(settings)
    server_socket = socket.socket(fileno=descriptor) if descriptor is not None else listen(port, host)
    if server_socket is None:
        raise LocalError(f"port {port} on {host} is taken; choose another with --port")
    app = create_app(settings)
    config = uvicorn.Config(
        app, host=host, port=port, timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.shutdown_seconds, server_header=False, log_config=None, access_log=False,
    )  # fmt: skip
    # What is there now stays: without this the collector looks at hundreds of thousands of objects again and again, and every
    # request waits for it.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)
    with server_socket, asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(Server(config, app.state.service.feeds).serve(sockets=[server_socket]))
