"""A run of a regression for those who read it: a table, a JUnit file and a Markdown summary for CI, JSON for programs."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from xml.etree import ElementTree

from service.cli.exits import DONE, FAILED, INCONCLUSIVE, REGRESSED
from service.cli.output import amount, percent

EXIT_CODES: Final = {
    "passed": DONE, "regressed": REGRESSED, "inconclusive": INCONCLUSIVE, "stopped": INCONCLUSIVE, "failed": FAILED,
}  # fmt: skip
TEST_FIELDS: Final = (
    "name", "verdict", "llr", "lower", "upper", "looks", "blocks", "matches", "share", "share_ci95", "engine_version",
    "results",
)  # fmt: skip
UNDECIDED: Final = "no verdict yet"
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS: Final = {
    "regressed": "failure", "failed": "error", "inconclusive": "skipped", "stopped": "skipped", None: "skipped",
}  # fmt: skip


def verdict_document(run: Mapping[str, Any]) -> dict[str, Any]:
    """What `--wait --json` prints."""
    tests = [{name: test[name] for name in TEST_FIELDS} for test in run["tests"]]
    return {"id": run["id"], "verdict": run["verdict"], "tests": tests}


def exit_code(run: Mapping[str, Any]) -> int:
    """The exit code of a verdict; without one the wait ended too early."""
    return EXIT_CODES.get(run["verdict"], INCONCLUSIVE)


def test_rows(run: Mapping[str, Any]) -> list[Sequence[object]]:
    """A line for each test: name, verdict, share, LLR with its bounds, matches, matches saved."""
    return [
        (
            test["name"], test["verdict"] or UNDECIDED, _share(test), _ratio(test), amount(test["matches"]),
            amount(test["matches_saved"]),
        )
        for test in run["tests"]
    ]  # fmt: skip


def terminal_rows(run: Mapping[str, Any]) -> list[Sequence[object]]:
    """The same for 80 columns: share and interval apart, the LLR without the bounds that all tests have in common."""
    return [
        (
            test["name"], test["verdict"] or UNDECIDED, percent(test["share"]), _interval(test), f"{test['llr']:.2f}",
            amount(test["matches"]), amount(test["matches_saved"]),
        )
        for test in run["tests"]
    ]  # fmt: skip


def bounds_line(run: Mapping[str, Any]) -> str | None:
    """The bounds of the LLR, which are those of every test; None where no test came to have any."""
    bounds = next(((test["lower"], test["upper"]) for test in run["tests"] if test["upper"]), None)
    return bounds and f"LLR: regressed at {bounds[0]:.2f} or less, passed at {bounds[1]:.2f} or more"


def junit(run: Mapping[str, Any]) -> bytes:
    """The run as JUnit XML: regressed is a failure, failed an error, what has no answer is skipped."""
    kinds = [_ELEMENTS.get(test["verdict"]) for test in run["tests"]]
    counts = {
        "tests": str(len(kinds)), "failures": str(kinds.count("failure")), "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
    }  # fmt: skip
    root = ElementTree.Element("testsuites", {"name": "blockyard", **counts})
    about = {"name": run["regression"], "timestamp": run["created_at"], "time": f"{_seconds(run):.3f}", "id": run["id"]}
    suite = ElementTree.SubElement(root, "testsuite", about | counts)
    for test, kind in zip(run["tests"], kinds, strict=True):
        case = ElementTree.SubElement(suite, "testcase", {"classname": run["regression"], "name": _xml(test["name"])})
        if kind is not None:
            verdict = test["verdict"] or UNDECIDED
            reason = f"{verdict}: {test['error']}" if test["error"] else verdict
            element = ElementTree.SubElement(case, kind, {"message": _xml(reason)})
            if kind != "skipped":
                element.set("type", verdict)
            element.text = _xml(summary_line(test))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def markdown(run: Mapping[str, Any]) -> str:
    """The run as a short table in Markdown."""
    lines = [
        f"### {run['regression']}: {run['verdict'] or UNDECIDED}",
        "",
        "| test | verdict | share (95 %) | LLR | matches | saved |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
        *("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in test_rows(run)),
        "",
        *(f"- {_cell(test['name'])}: {_cell(test['error'])}" for test in run["tests"] if test["error"]),
        f"Run {run['id']}, seed {run['seed']}, engine {run['engine_version']}.",
    ]
    return "\n".join(lines) + "\n"


def summary_line(test: Mapping[str, Any]) -> str:
    """A test in one line."""
    return (
        f"share {_share(test)}, LLR {_ratio(test)}, {amount(test['matches'])} matches in {amount(test['blocks'])} blocks, "
        f"{amount(test['matches_saved'])} saved"
    )


def _share(test: Mapping[str, Any]) -> str:
    interval = test["share_ci95"]
    return percent(test["share"]) + (f" ({percent(interval[0])} to {percent(interval[1])})" if interval else "")


def _interval(test: Mapping[str, Any]) -> str:
    low, high = test["share_ci95"] or (None, None)
    return "–" if low is None or high is None else f"{100 * low:.2f}–{100 * high:.2f}"


def _ratio(test: Mapping[str, Any]) -> str:
    return f"{test['llr']:.2f} [{test['lower']:.2f}, {test['upper']:.2f}]"


def _seconds(run: Mapping[str, Any]) -> float:
    if run["finished_at"] is None:
        return 0.0
    begun, ended = (datetime.fromisoformat(run[name]) for name in ("created_at", "finished_at"))
    return max(0.0, (ended - begun).total_seconds())


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _cell(value: object) -> str:
    """A text that stays inside its cell and is no markup."""
    return re.sub(r"([\\|`*_<>\[\]#])", r"\\\1", " ".join(str(value).split()))
