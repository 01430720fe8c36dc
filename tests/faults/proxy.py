"""A proxy before Redis that reads what passes and, at a chosen moment, makes something happen: no hook is in the product.

Commands of a connection pass one by one: the next is forwarded only after the answer to the one before was passed on. So
"after the answer to record, before the next claim" is a moment even where both were sent in one go.
"""

import os
import select
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Final, Literal

import psutil

from tests.servers import PATIENCE, poll, runs
from workers.jobs.store import script_digest

Moment = Literal["before", "after"]
"""Before a command is forwarded, or after its answer came and before that is passed on."""

BUFFER: Final = 1 << 16
BLOCKING: Final = ("brpop", "blpop", "bzpopmin", "subscribe", "psubscribe")
"""Commands whose answer may take long; any other is answered at once, and witnessed even where its sender is gone."""


class Cut(Exception):
    """The connection is to end here."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command on its way. `name` is a script's where one is run, else the command in lower case."""

    name: str
    arguments: tuple[bytes, ...]
    peer: tuple[str, int]
    answer: bytes = b""
    """Redis's answer, where that has come."""

    def sender(self) -> int:
        """The process that sent it."""
        for connection in psutil.net_connections("tcp"):
            if connection.laddr == self.peer and connection.pid is not None:
                return connection.pid
        raise Cut  # it has ended in the meantime


Action = Callable[[Command], bytes | None]
"""What is to happen; it may raise `Cut`, or answer with bytes that the sender gets instead of an answer of Redis."""


@dataclass
class Rule:
    """At a moment of commands of a name, something happens. `hits` counts how often it began, `done` how often it is over."""

    name: str
    moment: Moment
    action: Action
    times: int
    after: int
    """Such commands that pass before the first is hit."""
    where: Callable[[Command], bool]
    """Commands that it does not hold for are not meant."""
    hits: int = 0
    done: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def act(self, command: Command) -> bytes | None:
        """Lets it happen to a command that was taken."""
        try:
            return self.action(command)
        finally:
            with self._lock:
                self.done += 1

    def takes(self, command: Command, moment: Moment) -> bool:
        """Whether it is this command's turn."""
        with self._lock:
            if (self.name, self.moment) != (command.name, moment) or self.hits >= self.times or not self.where(command):
                return False
            if self.after > 0:
                self.after -= 1
                return False
            self.hits += 1
            return True


def kill_sender(command: Command) -> None:
    """SIGKILL to whoever sent it; it gets no answer any more."""
    sender = command.sender()
    with suppress(ProcessLookupError):
        os.kill(sender, signal.SIGKILL)
    poll(lambda: not runs(sender))
    raise Cut


def cut(_: Command) -> None:
    """The connection breaks."""
    raise Cut


def grants_work(command: Command) -> bool:
    """Whether a claim got a chunk."""
    return command.answer.startswith(b"*") and b"\r\nwork\r\n" in command.answer


def refuse(error: str) -> Action:
    """Redis answers with an error, and does nothing."""
    return lambda _: f"-{error}\r\n".encode()


def delay(seconds: float, is_over: threading.Event | None = None) -> Action:
    """It takes a while longer, or until `is_over`: this slows play down without burning a core."""
    over = is_over or threading.Event()

    def wait(_: Command) -> None:
        over.wait(seconds)

    return wait


class Proxy:
    """Listens on a port of its own and forwards to Redis at another.

    `seen` counts commands by name, `cuts` broken connections;
    `observers` are told every command with Redis's answer, whether or not the sender gets it.
    """

    def __init__(self, target: int, host: str = "127.0.0.1", target_host: str = "127.0.0.1") -> None:
        self.seen: Counter[str] = Counter()
        self.cuts = 0
        self.observers: list[Callable[[Command], None]] = []
        self._target = target_host, target
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._passing = threading.Event()
        self._passing.set()
        self._is_refusing = False
        self._is_over = False
        self._threads: list[threading.Thread] = []
        self._server = socket.create_server((host, 0))
        self.port = int(self._server.getsockname()[1])
        self.url = f"redis://{host}:{self.port}/0"
        self._run(self._listen)

    def at(
        self, name: str, moment: Moment, action: Action, times: int = 1, after: int = 0,
        where: Callable[[Command], bool] = lambda _: True,
    ) -> Rule:  # fmt: skip
        """From now on, `times` commands of this name, the first `after` left out, meet the action."""
        rule = Rule(name, moment, action, times, after, where)
        with self._lock:
            self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Forgets all rules."""
        with self._lock:
            self._rules.clear()

    def break_connections(self) -> int:
        """Cuts every open connection; new ones are welcome. Answers how many there were."""
        with self._lock:
            broken = [connection for connection in self._open if connection.fileno() >= 0]
        for connection in broken:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.cuts += len(broken)
        return len(broken)

    def refuse_connections(self) -> int:
        """Cuts every open connection, and those to come as soon as they are made, until `mend`."""
        self._is_refusing = True
        return self.break_connections()

    def turn_to(self, host: str) -> None:
        """From now on forwards to the same port of another host."""
        self._target = host, self._target[1]
        self.break_connections()

    def swallow(self) -> None:
        """Nothing passes any more, though connections stay open, as if a cable were pulled; until `mend`."""
        self._passing.clear()

    def mend(self) -> None:
        """Everything passes again."""
        self._is_refusing = False
        self._passing.set()

    def close(self) -> None:
        """Ends everything."""
        self._is_over = True
        self.clear()
        self.mend()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.break_connections()
        for thread in list(self._threads):
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a connection does not end"

    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads = [known for known in self._threads if known.is_alive()]
        self._threads.append(thread)
        thread.start()

    def _listen(self) -> None:
        while not self._is_over:
            try:
                client, peer = self._server.accept()
            except OSError:
                return
            self._run(self._serve, client, peer)

    def _serve(self, client: socket.socket, peer: tuple[str, int]) -> None:
        # A process to which something was to happen may have ended just before.
        with client, suppress(Cut, OSError, psutil.NoSuchProcess):
            if self._is_refusing:
                self.cuts += 1
                return
            with socket.create_connection(self._target, 5) as server:
                server.settimeout(None)
                for connection in (client, server):
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._open.add(client)
                try:
                    self._pass_on(client, server, peer)
                finally:
                    with self._lock:
                        self._open.discard(client)

    def _pass_on(self, client: socket.socket, server: socket.socket, peer: tuple[str, int]) -> None:
        sent, answered = Stream(client), Stream(server)
        while True:
            # What Redis says unasked comes through at once.
            while not sent.waiting and server in select.select([client, server], [], [])[0]:
                client.sendall(answered.message())
            raw = sent.message()
            self._passing.wait()
            command = read_command(raw, peer)
            self.seen[command.name] += 1
            answer = self._meet(command, "before")
            self._passing.wait()
            if is_gone(client):  # while the action took its time
                raise Cut
            if answer is None:
                server.sendall(raw)
                if command.name in BLOCKING:
                    while not answered.waiting and server not in select.select([client, server], [], [])[0]:
                        sent.fill()  # an end of the client ends the wait of Redis too
                answer = answered.message()
                command = replace(command, answer=answer)
                for observe in self.observers:
                    observe(command)
                self._passing.wait()
                answer = self._meet(command, "after") or answer
            client.sendall(answer)

    def _meet(self, command: Command, moment: Moment) -> bytes | None:
        with self._lock:
            rules = list(self._rules)
        for rule in rules:
            if rule.takes(command, moment):
                try:
                    answer = rule.act(command)
                except Cut:
                    self.cuts += 1
                    raise
                if answer is not None:
                    return answer
        return None


def is_gone(client: socket.socket) -> bool:
    """Whether the other end, or this one, has ended the connection."""
    try:
        return client in select.select([client], [], [], 0)[0] and not client.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


class Stream:
    """One direction of a connection, read message by message of Redis's protocol, either version."""

    def __init__(self, source: socket.socket) -> None:
        self._source = source
        self._bytes = bytearray()

    @property
    def waiting(self) -> bool:
        """Whether something was received that has not been read yet."""
        return bool(self._bytes)

    def fill(self) -> None:
        """Receives what there is, and waits for it where there is nothing; raises `Cut` at the end."""
        received = self._source.recv(BUFFER)
        if not received:
            raise Cut
        self._bytes += received

    def message(self) -> bytes:
        """The next whole message as it stands."""
        end = self._end(0)
        message = bytes(self._bytes[:end])
        del self._bytes[:end]
        return message

    def _end(self, at: int) -> int:
        while (line := self._bytes.find(b"\r\n", at)) < 0:
            self.fill()
        kind, size, end = self._bytes[at : at + 1], self._bytes[at + 1 : line], line + 2
        if kind in (b"$", b"=", b"!"):
            end += int(size) + 2 if int(size) >= 0 else 0
            while len(self._bytes) < end:
                self.fill()
        elif kind in (b"*", b"~", b">", b"%", b"|"):
            for _ in range(max(int(size), 0) * (2 if kind in (b"%", b"|") else 1)):
                end = self._end(end)
            if kind == b"|":
                end = self._end(end)
        return end


def read_command(raw: bytes, peer: tuple[str, int]) -> Command:
    """A command as clients send it: an array of texts."""
    words: list[bytes] = []
    at = raw.index(b"\r\n") + 2
    while at < len(raw):
        line = raw.index(b"\r\n", at)
        end = line + 2 + int(raw[at + 1 : line])
        words.append(raw[line + 2 : end])
        at = end + 2
    name = words[0].decode().lower()
    if name == "evalsha":
        name, words = script_names().get(words[1].decode(), name), words[3:]
    return Command(name, tuple(words[1:]), peer)


@cache
def script_names() -> dict[str, str]:
    """The ledger's scripts by the digests under which Redis runs them."""
    scripts = files("workers.jobs") / "scripts"
    names = [entry.name.removesuffix(".lua") for entry in scripts.iterdir() if entry.name.endswith(".lua")]
    return {script_digest(name): name for name in names if name != "prelude"}
