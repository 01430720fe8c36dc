"""The operators' documentation: what it tells to type exists, and what it names is there."""

import re
import subprocess

from service.settings import ServiceSettings
from tests.deploy.manifests import PREVIOUS, SECRETS, documents
from tests.deploy.watching import ROOT, check_command, program
from workers.jobs.keys import LEASE_TERMS

TEXT = (ROOT / "deploy/OPERATIONS.md").read_text()
SHELL = re.findall(r"^ *```sh\n(.*?)^ *```$", TEXT, re.M | re.S)
INLINE = [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.S))]
WORD = re.compile(r"[\w./=-]+")


def test_shell_can_be_read() -> None:
    assert len(SHELL) >= 5
    for script in SHELL:
        said = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stderr


def test_the_image_of_ones_own_is_made_of_this_one() -> None:
    (own,) = re.findall(r"```dockerfile\n(.*?)```", TEXT, re.S)
    said = subprocess.run([program("hadolint"), "-"], input=own, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    image = (ROOT / "deploy/Dockerfile").read_text()
    users = re.findall(r"^USER (\S+)$", own, re.M)
    assert users[-1:] == re.findall(r"^USER (\S+)$", image, re.M)
    (tag,) = re.findall(r"^FROM (\S+)$", own, re.M)
    assert tag in (ROOT / "deploy/compose.yaml").read_text()


def test_commands_exist() -> None:
    lines = [line.strip() for script in SHELL for line in script.splitlines()] + INLINE
    commands = [line.removeprefix("blockyard ") for line in lines if line.startswith("blockyard ") and line[10:11].isalpha()]
    assert len(commands) > 15
    for command in commands:
        words = re.split(r" [|#]|[;>$]", command)[0].split()
        if words[-1] == "--state":
            words.append("running")  # a loop's variable
        assert all(WORD.fullmatch(word) for word in words), command
        check_command(words)


def test_what_is_named_is_there() -> None:
    for name in set(re.findall(r"\bBLOCKYARD_([A-Z_]+)\b", TEXT)) - {"URL", "KEY"}:
        assert name.lower() in ServiceSettings.model_fields, name
    for path in set(re.findall(r"\b((?:deploy|k8s|tests)/[\w./-]*\w)", TEXT)):
        assert (ROOT / path).exists(), path
    assert f"'{LEASE_TERMS}'" in TEXT
    assert all(f"`{secret}`" in TEXT for secret in SECRETS)
    there = {
        (document["kind"].lower(), document["metadata"]["name"])
        for overlay in ("production", PREVIOUS) for document in documents(overlay)
    }  # fmt: skip
    for kind, names in re.findall(r"\b(deployment|scaledobject|statefulset|cronjob)[ /]([a-z][a-z ]*)", "\n".join(SHELL)):
        if kind == "scaledobject":
            names = names.split()[0]  # what follows is an annotation
        for name in names.split():
            assert (kind, name) in there, f"{kind} {name}"
    for name in re.findall(r"exec (?:-i )?deployment/(\w+)", TEXT):
        assert ("deployment", name) in there


def test_what_stands_in_the_text_is_what_is_set() -> None:
    (worker,) = [
        item for item in documents("production") if item["kind"] == "Deployment" and item["metadata"]["name"] == "worker"
    ]
    assert worker["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 12 * 60
    assert "grace period of twelve minutes" in " ".join(TEXT.split())
