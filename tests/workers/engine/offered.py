"""Packages that offer policies, laid out as an installer leaves them."""

from pathlib import Path

HEADER = "class Own:\n    name = {name!r}\n    version = {version!r}\n\n"


def offer(folder: Path, name: str, body: str, *, version: str = "1", before: str = "") -> None:
    """A package with one policy: `body` is the rest of its class, indented by four spaces."""
    module = f"own_{name}_{version.replace('.', '_')}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(before + HEADER.format(name=name, version=version) + body)
    point_at(folder, module, f"{module}:Own")


def point_at(folder: Path, package: str, target: str) -> None:
    """The metadata of an installed package with one entry point."""
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[blockyard.policies]\n{package} = {target}\n")


FIRST = "    def choose(self, view, random):\n        return view.legal[0]\n"
"""Always the first legal placement."""
THROWS = "    def choose(self, view, random):\n        raise ZeroDivisionError('nothing to divide by')\n"
COMPILE = "from workers.engine.policies.own_compiled import compiled\n\n"
"""What stands before a class whose `choose` is compiled."""


def compiled_choice(*lines: str) -> str:
    """The rest of a class whose compiled `choose` has these lines, which answer by `return`."""
    body = "".join(f"        {line}\n" for line in lines)
    return f"    @staticmethod\n    @compiled\n    def choose(seen, random):\n{body}"
