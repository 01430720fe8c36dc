"""Celery: the queue that carries permits to workers.

Messages may be lost or doubled when processes are killed; the ledger's sweep and generations make both harmless.
"""

from threading import Lock
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from celery import Celery
from kombu import Queue

from workers.engine.play import ENGINE_VERSION
from workers.jobs.keys import ROOT, queue_name
from workers.jobs.ledger import Ledger
from workers.jobs.records import Permit
from workers.jobs.store import connect
from workers.settings import Settings

PERMIT: Final = "workers.permit"
"""The name of the one task."""


def make_app(settings: Settings) -> Celery:
    """A Celery application with the settings that were shown to survive restarts of Redis and killed workers."""
    app = Celery("blockyard", broker=settings.redis_url, set_as_current=False, include=["workers.tasks"])
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        task_queues=[Queue(queue_name(ENGINE_VERSION), routing_key=queue_name(ENGINE_VERSION))],
        task_default_queue=queue_name(ENGINE_VERSION),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,
        broker_transport_options={
            "visibility_timeout": 60,
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            "unacked_mutex_expire": 5,
            "unacked_key": f"{ROOT}:unacked",
            "unacked_index_key": f"{ROOT}:unacked_index",
            "unacked_mutex_key": f"{ROOT}:unacked_mutex",
            "socket_timeout": settings.redis_timeout_seconds,
            "socket_connect_timeout": settings.redis_timeout_seconds,
            "socket_keepalive": True,
        },
        broker_use_ssl=_verified_tls(settings.redis_url),
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
        event_queue_exclusive=False,
    )
    return app


def _verified_tls(url: str) -> dict[str, Any] | None:
    """Celery by itself would take any certificate of a `rediss` server whose address does not ask for more: here one has to
    ask for less, with `?ssl_cert_reqs=none`."""
    parts = urlsplit(url)
    if parts.scheme != "rediss":
        return None
    asked = dict(parse_qsl(parts.query))
    return {"ssl_cert_reqs": "required", **{name: value for name, value in asked.items() if name.startswith("ssl_")}}


class PermitSender:
    """Sends permits over one connection of its own, so that a fork shares nothing with its parent. Threads may share it."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._lock = Lock()
        self._connection: Any = None
        self._producer: Any = None

    def __call__(self, permit: Permit) -> None:
        """Sends it once; raises whatever the broker raises."""
        queue = queue_name(permit.version)
        with self._lock:
            try:
                if self._producer is None:
                    self._connection = self._app.connection_for_write()
                    self._producer = self._app.amqp.Producer(self._connection, auto_declare=False)
                self._app.send_task(
                    PERMIT, (permit.slot, permit.generation), queue=queue, producer=self._producer, retry=False,
                    ignore_result=True,
                )  # fmt: skip
            except Exception:
                self._close()
                raise

    def _close(self) -> None:
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            connection.release()


def open_ledger(settings: Settings | None = None) -> Ledger:
    """A ledger that can wake the workers; nothing is asked of Redis yet. Raises `InvalidInput` for a bad address."""
    settings = settings or Settings()
    redis = connect(settings.redis_url, settings.redis_timeout_seconds)
    return Ledger(redis, send=PermitSender(make_app(settings)), settings=settings)
