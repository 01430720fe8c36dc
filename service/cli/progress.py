"""A job's progress as it comes: a bar on a terminal, now and then a line elsewhere. All on standard error."""

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from service.cli.output import amount, console, done_share, duration, note

if TYPE_CHECKING:
    from service.client import Event

FIRST_LINE_SECONDS: Final = 2.0
LONGEST_SILENCE: Final = 60.0
"""Without a terminal a line is printed after two seconds, then less and less often, down to once a minute."""


def follow(events: Iterable["Event"]) -> Iterator["Event"]:
    """The same events, shown in passing."""
    target = console(stderr=True)
    yield from _with_bar(events, target) if target.is_terminal else _with_lines(events)


def _with_bar(events: Iterable["Event"], target: Any) -> Iterator["Event"]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (TextColumn("{task.fields[state]}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[pace]}"))
    with Progress(*columns, console=target, transient=True) as bar:
        task = bar.add_task("", total=None, state="waiting", pace="")
        for event in events:
            progress = event["job"]["progress"]
            done, total = int(progress["matches_done"]), int(progress["matches_total"])
            bar.update(task, completed=done, total=total, state=event["job"]["state"], pace=_pace(progress))
            yield event


def _with_lines(events: Iterable["Event"]) -> Iterator["Event"]:
    pause, said = FIRST_LINE_SECONDS, ""
    due = time.monotonic() + pause
    for event in events:
        if time.monotonic() >= due and event["event"] == "progress":
            pause = min(LONGEST_SILENCE, 1.5 * pause)
            due = time.monotonic() + pause
            progress = event["job"]["progress"]
            done = f"{amount(progress['matches_done'])} of {amount(progress['matches_total'])} matches"
            line = f"{event['job']['state']}: {done} ({done_share(progress)}) {_pace(progress)}".rstrip()
            if line != said:
                note(line)
                said = line
        yield event


def _pace(progress: Any) -> str:
    rate, left = progress["matches_per_second"], progress["eta_seconds"]
    parts = [f"{rate:,.0f}/s"] if rate else []
    if left is not None:
        parts.append(f"{duration(left)} left")
    return ", ".join(parts)
