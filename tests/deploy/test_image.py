"""The image and the compose file: linted and valid; the image's steps run for real, confined as in a cluster."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from service.settings import ServiceSettings
from tests.deploy.watching import ROOT, program

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


def test_compose_file_points_at_what_is_there() -> None:
    compose: dict[str, Any] = yaml.safe_load(text_of("deploy/compose.yaml"))
    assert set(compose["services"]) == {"redis", "api", "worker", "scheduler", "prometheus", "grafana"}
    for name, service in compose["services"].items():
        assert re.search(r":v?\d+\.\d+\.\d+(-\w+)?$", service["image"]), name
        assert service["restart"] == "unless-stopped", name
        assert service["cap_drop"] == ["ALL"], name
        assert set(service["networks"]) <= set(compose["networks"]), name
        assert set(service.get("depends_on", {})) <= set(compose["services"]), name
        for other in service.get("depends_on", {}):
            assert "healthcheck" in compose["services"][other], f"{name} waits for the health of {other}"
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in compose["volumes"] or (ROOT / "deploy" / source).exists(), source
    settings = compose["services"]["api"]["environment"]
    assert {name.removeprefix("BLOCKYARD_").lower() for name in settings} <= set(ServiceSettings.model_fields)
    assert "BLOCKYARD_ADMIN_KEY" in settings, "without a key it does not listen to anything but loopback"
    for port in [port for service in compose["services"].values() for port in service.get("ports", [])]:
        assert port.startswith("127.0.0.1:"), "nothing is open to the network until an operator opens it"
    assert "outside" not in compose["services"]["redis"]["networks"]
    (scrape,) = yaml.safe_load(text_of("deploy/prometheus/prometheus.yml"))["scrape_configs"]
    assert set(scrape["dns_sd_configs"][0]["names"]) <= set(compose["services"])
    (source,) = yaml.safe_load(text_of("deploy/grafana/provisioning/datasources/prometheus.yaml"))["datasources"]
    assert source["url"] == "http://prometheus:9090"


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_image_s_steps_run_and_its_kernels_play_what_these_do(tmp_path: Path) -> None:
    """Started without any privilege, so that what is not writable cannot be written to, which root could otherwise."""
    sources, target = tmp_path / "src", tmp_path / "image"
    for part in ("pyproject.toml", "README.md", "LICENSE", "deploy/requirements.lock"):
        (sources / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / part, sources / part)
    for part in ("service", "workers", "deploy/image"):
        shutil.copytree(ROOT / part, sources / part, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA", "PYTHON", "BLOCKYARD"))}
    path = f"{Path(sys.base_prefix) / 'bin'}:{environment['PATH']}"
    built = subprocess.run(
        ["sh", sources / "deploy/image/build", sources, target],
        env=environment | {"PATH": path, "NUMBA_CPU_FEATURES": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    kernels = sorted(folder.name.rsplit("-", 1)[0] for folder in (target / "kernels").iterdir())
    assert kernels == ["icelake-server", "x86-64-v2", "x86-64-v3"]
    subprocess.run(["chmod", "-R", "a-w", target], check=True)
    writable = tmp_path / "tmp"
    writable.mkdir()
    confined = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    refused = subprocess.run([*confined, "sh", "-c", ': >>"$0"', target / "start"], capture_output=True, check=False)
    assert refused.returncode != 0, "the image can be written to"
    played = ["simulate", "--policy", "heaviest", "--policy", "random", "--matches", "20000", "--seed", "7", "--json"]
    here = subprocess.run([sys.executable, "-m", "service.cli", *played], capture_output=True, text=True, check=True)
    expected = orjson.loads(here.stdout)["results"]
    for processor in ("x86-64-v2", ""):  # the plainest, and the one that it chooses itself
        if processor:
            chosen = target / "processor"
            kept = chosen.read_bytes()
            chosen.chmod(0o755)
            chosen.write_text(f"#!/bin/sh\necho {processor}\n")
        start = subprocess.run(
            [*confined, target / "start", *played],
            env={
                "PATH": "/usr/bin:/bin", "NUMBA_CPU_FEATURES": "", "BLOCKYARD_CACHE_DIR": str(writable / f"cache{processor}"),
                "TMPDIR": str(writable), "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1",
            },
            cwd=writable, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert start.returncode == 0, start.stderr
        assert "ompil" not in start.stderr, "its kernels were not found"
        assert orjson.loads(start.stdout)["results"] == expected
        if processor:
            chosen.write_bytes(kept)
