"""Makes the PrometheusRule of k8s/base/monitoring from the rules beside this file: `python deploy/prometheus/kubernetes.py`."""

import sys
from pathlib import Path
from typing import Any, Final

import yaml

HERE: Final = Path(__file__).parent
TARGET: Final = HERE.parents[1] / "k8s/base/monitoring/rules.yaml"
HEAD: Final = "# Made by deploy/prometheus/kubernetes.py from deploy/prometheus/rules: change them there.\n"


def text(folder: Path = HERE / "rules") -> str:
    """The manifest's text: every group of every file in the folder."""
    groups: list[Any] = []
    for path in sorted(folder.glob("*.yml")):
        groups += yaml.safe_load(path.read_text())["groups"]
    manifest = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "blockyard"},
        "spec": {"groups": groups},
    }
    return HEAD + yaml.safe_dump(manifest, sort_keys=False, width=120)


if __name__ == "__main__":
    (Path(sys.argv[1]) if sys.argv[1:] else TARGET).write_text(text())
