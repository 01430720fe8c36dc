"""Two workers on hosts of their own, as network namespaces: one is cut off for longer than a lease, and comes back."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.hosts import ip, why_not
from tests.faults.proxy import Command, Cut, Proxy, delay
from tests.faults.yard import CHUNKS, PACE, SETTINGS, START_SECONDS, Trial, Yard, make_spec
from tests.servers import RunningWorker, poll

NETWORK = "10.213.77"


@dataclass
class Host:
    """A network namespace with a cable to this machine."""

    number: int

    @property
    def name(self) -> str:
        """The namespace; its cable's end on this machine has the same name."""
        return f"by{os.getpid()}-{self.number}"

    @property
    def gateway(self) -> str:
        """This machine's address as the host sees it."""
        return f"{NETWORK}.{4 * self.number + 1}"

    def make(self) -> None:
        """Makes it and plugs it in."""
        ip("netns", "add", self.name)
        ip("link", "add", self.name, "type", "veth", "peer", "name", "uplink", "netns", self.name)
        ip("address", "add", f"{self.gateway}/30", "dev", self.name)
        ip("-n", self.name, "address", "add", f"{NETWORK}.{4 * self.number + 2}/30", "dev", "uplink")
        ip("-n", self.name, "link", "set", "lo", "up")
        ip("-n", self.name, "link", "set", "uplink", "up")
        ip("link", "set", self.name, "up")

    def remove(self) -> None:
        """Takes it away, its cable too."""
        ip("netns", "delete", self.name)

    def pull(self) -> None:
        """Pulls the cable: packets are lost, nobody is told."""
        ip("-n", self.name, "link", "set", "uplink", "down")

    def plug(self) -> None:
        """Puts the cable back."""
        ip("-n", self.name, "link", "set", "uplink", "up")

    def start_worker(self, url: str, folder: Path) -> RunningWorker:
        """A worker with one playing process on this host."""
        name = f"host-{self.number}"
        environment = os.environ | {f"BLOCKYARD_{setting.upper()}": str(value) for setting, value in SETTINGS.items()}
        log = folder / f"{name}.log"
        with log.open("wb") as said:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.name, sys.executable, "-c",
                 f"from workers.app import run_worker; run_worker(1, {name!r})"],
                env=environment | {"BLOCKYARD_REDIS_URL": url}, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            )  # fmt: skip
        return RunningWorker(name, process, log)


@pytest.fixture
def hosts() -> Iterator[list[Host]]:
    """Two hosts."""
    reason = why_not()
    if reason:
        pytest.skip(f"network cuts are proved at the proxy alone: {reason}")
    with ExitStack() as made:
        hosts = [Host(1), Host(2)]
        for host in hosts:
            host.make()
            made.callback(host.remove)
        yield hosts


def test_a_host_cut_off_and_back_loses_and_doubles_nothing(yard: Yard, hosts: list[Host], tmp_path: Path) -> None:
    with ExitStack() as running:
        workers, proxies = [], []
        for host in hosts:
            proxy = Proxy(yard.server.port, host.gateway)
            running.callback(proxy.close)
            proxy.observers.append(yard.witness)
            proxy.at("record", "before", delay(2 * PACE), times=10**9)
            proxies.append(proxy)
            workers.append(host.start_worker(proxy.url, tmp_path))
            running.callback(workers[-1].stop)
        cut_off, other = (worker.name for worker in workers)
        poll(lambda: len(yard.ledger.workers()) == 2, START_SECONDS)
        spec = make_spec(5)
        trial = Trial(yard.ledger, spec, yard.ledger.submit(spec)[0].id, yard.ledger.figures(), yard.witness)
        trial.until_recorded(CHUNKS // 8)
        assert {worker.name for worker in yard.ledger.workers() if worker.chunks} == {cut_off, other}

        def pull(_: Command) -> None:
            """The cable is pulled while a chunk is played there and not recorded."""
            hosts[0].pull()
            raise Cut

        proxies[0].at("record", "before", pull)
        # Its lease runs out, its name too; the other host goes on meanwhile.
        poll(lambda: (yard.ledger.sweep(), trial.count("abandoned"))[1] >= 1)
        poll(lambda: [worker.name for worker in yard.ledger.workers()] == [other])
        assert not yard.ledger.job(trial.job_id).is_finished
        hosts[0].plug()
        trial.prove()
        # It is there again, and plays again.
        poll(lambda: {worker.name for worker in yard.ledger.workers()} == {cut_off, other}, 60)
        shares = {worker.name: worker.chunks for worker in yard.ledger.workers()}
        spec = make_spec(6)
        trial = Trial(yard.ledger, spec, yard.ledger.submit(spec)[0].id, yard.ledger.figures(), yard.witness)
        trial.prove()
        assert all(worker.chunks > shares[worker.name] for worker in yard.ledger.workers())
