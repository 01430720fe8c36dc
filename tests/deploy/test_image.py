"""The image and the compose file: linted and valid; the image's steps run for real, confined as in a cluster."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from service.app import create_app
from service.client import Client, ServiceUnreachable
from service.settings import ServiceSettings
from tests.deploy.bare_root import (
    NOBODY,
    OWN_PROGRAMS,
    Mount,
    Root,
    bare_root,
    borrowed_root,
    stop,
    why_not_confined,
    why_not_made,
)  # fmt: skip
from tests.deploy.watching import ROOT, check_command, longest_chunk_without_an_alert, program
from tests.servers import free_port, poll

IMAGE = ROOT / "deploy/image"
GENERIC = "fpu sse sse2 pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm"
AVX2 = f"{GENERIC} avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
AVX512 = (
    f"{AVX2} avx512f avx512bw avx512cd avx512dq avx512vl avx512ifma avx512vbmi avx512_vbmi2 avx512_vnni avx512_bitalg"
    " avx512_vpopcntdq gfni vaes vpclmulqdq"
)


def text_of(path: str) -> str:
    return (ROOT / path).read_text()


def test_dockerfile_is_clean() -> None:
    command = [program("hadolint"), "--failure-threshold", "style", ROOT / "deploy/Dockerfile"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_dockerfile_runs_as_nobody_special_what_the_build_makes() -> None:
    text = text_of("deploy/Dockerfile")
    bases = re.findall(r"^FROM (\S+)", text, re.M)
    assert len(set(bases)) == 1, "an environment is bound to the Python that made it"
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", bases[0]), "pinned to a patch"
    assert re.search(r"^USER 10001:10001$", text, re.M)
    assert 'ENTRYPOINT ["/opt/blockyard/start"]' in text
    for variable in re.findall(r"BLOCKYARD_(\w+)=", text):
        assert variable == "CACHE_DIR" or variable.lower() in ServiceSettings.model_fields
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.M):
        for source in copied.split():
            assert (ROOT / source).exists(), source
            assert f"!{source}" in text_of(".dockerignore").split(), f"{source} is kept out of the image"


@pytest.mark.parametrize("script", ["build", "start", "processor"])
def test_scripts_are_plain_shell(script: str) -> None:
    assert os.access(IMAGE / script, os.X_OK)
    subprocess.run(["sh", "-n", IMAGE / script], check=True)
    assert "\nset -eu\n" in (IMAGE / script).read_text()


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (GENERIC, "x86-64-v2"),
        (AVX2, "x86-64-v3"),
        (AVX2.replace(" bmi2", ""), "x86-64-v2"),
        (f"{AVX2} avx512f avx512bw avx512cd avx512dq avx512vl", "x86-64-v3"),
        (AVX512, "icelake-server"),
        ("", "x86-64-v2"),
    ],
)
def test_a_container_takes_the_kernels_that_its_processor_runs(tmp_path: Path, flags: str, name: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nvmx flags\t: avx2\nflags\t\t: {flags}\nbugs\t\t:\n\nflags\t\t: {GENERIC}\n")
    said = subprocess.run(["sh", IMAGE / "processor", cpuinfo], capture_output=True, text=True, check=True)
    assert said.stdout == f"{name}\n"
    assert name in (IMAGE / "build").read_text()


def test_compose_file_is_valid() -> None:
    command = [program("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", ROOT / "deploy/compose.yaml"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


OWN = {"api", "worker", "scheduler"}
"""The services that run our image."""


def compose_file() -> dict[str, Any]:
    compose: dict[str, Any] = yaml.safe_load(text_of("deploy/compose.yaml"))
    return compose


def seconds(text: str) -> int:
    """Of a duration as the compose file has it."""
    found = re.fullmatch(r"(\d+)([sm])", text)
    assert found, text
    return int(found[1]) * {"s": 1, "m": 60}[found[2]]


def test_compose_file_points_at_what_is_there() -> None:
    compose = compose_file()
    assert set(compose["services"]) == {"redis", "prometheus", "grafana"} | OWN
    assert set(compose["networks"]) == {network for service in compose["services"].values() for network in service["networks"]}
    mounted = set()
    for name, service in compose["services"].items():
        assert re.search(r":v?\d+\.\d+\.\d+(-\w+)?$", service["image"]), name
        assert set(service.get("depends_on", {})) <= set(compose["services"]), name
        for other in service.get("depends_on", {}):
            assert "healthcheck" in compose["services"][other], f"{name} waits for the health of {other}"
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            mounted.add(source)
            assert source in compose["volumes"] or (ROOT / "deploy" / source).exists(), source
    assert set(compose["volumes"]) <= mounted
    (scrape,) = yaml.safe_load(text_of("deploy/prometheus/prometheus.yml"))["scrape_configs"]
    assert set(scrape["dns_sd_configs"][0]["names"]) <= set(compose["services"])
    assert scrape["dns_sd_configs"][0]["port"] == 8000
    (source,) = yaml.safe_load(text_of("deploy/grafana/provisioning/datasources/prometheus.yaml"))["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load(text_of("deploy/grafana/provisioning/dashboards/blockyard.yaml"))["providers"]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in compose["services"]["grafana"]["volumes"]


def test_compose_services_are_confined_and_come_back() -> None:
    services = compose_file()["services"]
    for name, service in services.items():
        assert service["restart"] == "unless-stopped", name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service.get("read_only") or name == "grafana", name
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), "nothing is open to the network until an operator opens it"
    assert compose_file()["networks"]["inside"] == {"internal": True}
    assert {name for name, service in services.items() if "outside" not in service["networks"]} == {"redis", "worker"}
    assert {name for name, service in services.items() if "healthcheck" in service} == set(services) - {"worker", "scheduler"}
    assert {
        name
        for name in services
        if any(":/data" in volume or volume.startswith(f"{name}:") for volume in services[name].get("volumes", []))
    } == {"redis", "prometheus", "grafana"}, "what has to stay lies in a volume"
    assert "dir /data\n" in text_of("k8s/base/redis/redis.conf")
    assert seconds(services["worker"]["stop_grace_period"]) > longest_chunk_without_an_alert()
    assert seconds(services["api"]["stop_grace_period"]) > 2 * ServiceSettings().shutdown_seconds


def test_compose_services_run_commands_with_settings_that_exist() -> None:
    services = compose_file()["services"]
    answered = {route.path for route in create_app(ServiceSettings()).state.routes}
    for name in OWN:
        service = services[name]
        assert service["tmpfs"] == ["/tmp"], "the one place that it writes to"
        assert {key.removeprefix("BLOCKYARD_").lower() for key in service["environment"]} <= set(ServiceSettings.model_fields)
        assert service["environment"]["BLOCKYARD_REDIS_URL"] == "redis://redis:6379/0"
        check_command(service["command"])
    assert "BLOCKYARD_ADMIN_KEY" in services["api"]["environment"], "without a key it listens to nothing but loopback"
    (asked,) = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", str(services["api"]["healthcheck"]["test"]))
    assert asked[0] == "8000"
    assert asked[1] in answered


KERNELS = ("icelake-server", "x86-64-v2", "x86-64-v3")


@pytest.mark.parametrize(("flags", "name"), [(GENERIC, "x86-64-v2"), (AVX2, "x86-64-v3"), (AVX512, "icelake-server")])
def test_a_container_starts_as_nobody_on_a_root_that_is_read_only(tmp_path: Path, flags: str, name: str) -> None:
    """The scripts alone, around a program that tells what it sees; the whole image does the same below."""
    if reason := why_not_confined():
        pytest.skip(f"the image's start is proved by the long test alone, or nowhere: {reason}")
    image, told = tmp_path / "image", tmp_path / "cpuinfo"
    for kernels in KERNELS:
        (image / "kernels" / f"{kernels}-0").mkdir(parents=True)
        (image / "kernels" / f"{kernels}-0" / "code").write_text(kernels)
    (image / "venv/bin").mkdir(parents=True)
    for script in ("start", "processor"):
        shutil.copy(IMAGE / script, image / script)
    program = image / "venv/bin/blockyard"
    program.write_text(
        '#!/bin/sh\ncat "$BLOCKYARD_CACHE_DIR/$NUMBA_CPU_NAME-0/code"; echo " $@"; id -u; ls "$BLOCKYARD_CACHE_DIR"\n'
        '(: >"$BLOCKYARD_CACHE_DIR/$NUMBA_CPU_NAME-0/new") && echo writable\n'
        'for place in / /etc /usr /opt/blockyard; do (: >"$place/new") 2>/dev/null && echo "wrote to $place"; done; exit 0\n'
    )
    program.chmod(0o755)
    (tmp_path / "root/opt/blockyard").mkdir(parents=True)
    told.write_text(f"flags\t\t: {flags}\n")
    root = borrowed_root(tmp_path / "root")
    mounts = [OWN_PROGRAMS, Mount("/opt/blockyard", image), Mount("/proc/cpuinfo", told)]
    said = root.run(mounts, ["/opt/blockyard/start", "worker", "--processes", "4"])
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == [f"{name} worker --processes 4", NOBODY, f"{name}-0", "writable"]


@dataclass(frozen=True, slots=True)
class Image:
    """What the image holds: Debian's root, and the folder that was built in it."""

    root: Root
    built: Path
    said: str

    def mounts(self, *more: Mount) -> list[Mount]:
        """The folder in its place, and more."""
        return [Mount("/opt/blockyard", self.built), *more]


IMAGE_ENVIRONMENT = {"NUMBA_CPU_FEATURES": "", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """The image's steps, run for real in a bare Debian: as nobody, who can write to the image's own folder alone."""
    if reason := why_not_made():
        pytest.skip(f"the image's steps cannot be run: {reason}")
    base = tmp_path_factory.mktemp("image")
    sources, built = base / "src", base / "built"
    kept = [line[1:] for line in text_of(".dockerignore").splitlines() if line.startswith("!")]
    for part in kept:
        (sources / part).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, sources / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, sources / part)
    built.mkdir()
    os.chown(built, int(NOBODY), int(NOBODY))
    root = bare_root(base / "root")
    try:
        build = root.run(
            [Mount("/src", sources), Mount("/opt/blockyard", built, writable=True)],
            ["sh", "/src/deploy/image/build", "/src", "/opt/blockyard"],
            IMAGE_ENVIRONMENT | {name: value for name, value in os.environ.items() if name in PIP_REACHES},
            memory="2g", network=True,
        )  # fmt: skip
        assert build.returncode == 0, build.stdout + build.stderr
        yield Image(root, built, build.stdout)
    finally:
        shutil.rmtree(root.folder)
        shutil.rmtree(built)


PIP_REACHES = ("PIP_INDEX_URL", "PIP_CERT", "PIP_DEFAULT_TIMEOUT", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
"""How pip finds the registry, where the machine says so in its environment."""


@pytest.mark.slow
@pytest.mark.timeout(2700)
def test_the_image_has_kernels_for_every_processor(image: Image) -> None:
    found = sorted(folder.name.rsplit("-", 1)[0] for folder in (image.built / "kernels").iterdir())
    assert found == list(KERNELS)
    vectors = dict(re.findall(r"^(\S+): [1-9]\d* kernels, (\S+)$", image.said, re.M))
    assert vectors == {"icelake-server": "AVX-512", "x86-64-v3": "AVX2", "x86-64-v2": "SSE"}


@pytest.mark.slow
@pytest.mark.timeout(2700)
@pytest.mark.parametrize("flags", [GENERIC, ""], ids=["the plainest processor", "this one"])
def test_the_image_plays_what_these_sources_play(image: Image, tmp_path: Path, flags: str) -> None:
    """Without network, with as little memory to write to as the manifests give."""
    played = ["simulate", "--policy", "heaviest", "--policy", "random", "--matches", "20000", "--seed", "7", "--json"]
    here = subprocess.run([sys.executable, "-m", "service.cli", *played], capture_output=True, text=True, check=True)
    more = []
    if flags:
        (tmp_path / "cpuinfo").write_text(f"flags\t\t: {flags}\n")
        more.append(Mount("/proc/cpuinfo", tmp_path / "cpuinfo"))
    there = image.root.run(image.mounts(*more), ["/opt/blockyard/start", *played], IMAGE_ENVIRONMENT)
    assert there.returncode == 0, there.stderr
    assert "ompil" not in there.stderr, "its kernels were not found"
    assert orjson.loads(there.stdout)["results"] == orjson.loads(here.stdout)["results"]


@pytest.mark.slow
@pytest.mark.timeout(2700)
def test_the_image_serves_as_api_worker_and_scheduler(image: Image, redis_url: str, tmp_path: Path) -> None:
    port, key = free_port(), "a key of at least thirty-two characters"
    settings = {"BLOCKYARD_REDIS_URL": redis_url, "BLOCKYARD_ADMIN_KEY": key, "BLOCKYARD_HOST": "127.0.0.1"}
    words = {"api": ["--port", str(port)], "worker": ["--processes", "1"], "scheduler": []}
    parts: dict[str, subprocess.Popen[bytes]] = {}
    with ExitStack() as running:
        for name, arguments in words.items():
            command = image.root.command(
                image.mounts(), ["/opt/blockyard/start", name, *arguments], IMAGE_ENVIRONMENT | settings, network=True
            )
            said = running.enter_context((tmp_path / f"{name}.log").open("wb"))
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            running.callback(stop, process)
            parts[name] = process
        client = running.enter_context(Client(f"http://127.0.0.1:{port}", key=key))

        def is_ready() -> bool:
            try:
                return len(client.workers()) == 1
            except ServiceUnreachable:
                return False

        poll(is_ready, 120)
        job = client.submit({"seed": 7, "scenarios": [{"policies": ["heaviest", "random"], "matches": 200_000}]})
        assert client.wait(job["id"])["state"] == "done"
        (result,) = client.results(job["id"])["results"]
        assert result["matches"] == 200_000
    assert {name: process.returncode for name, process in parts.items()} == dict.fromkeys(words, 0)
    assert "ompil" not in (tmp_path / "worker.log").read_text(), "its kernels were not found"
