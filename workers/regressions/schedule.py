"""When a regression runs: cron expressions in a time zone, read by cronsim, which treats the nights when clocks change as
Debian's cron does: a daily run happens once on each of them."""

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from workers.errors import FieldError

FIELDS: Final = 5
"""Minute, hour, day of the month, month, day of the week. The library would take a sixth, of seconds, in front."""


def check_schedule(schedule: str | None) -> list[FieldError]:
    """What is wrong with a cron expression of five fields, such as `0 2 * * *`."""
    if schedule is None:
        return []
    form = FieldError("schedule", f"must be a cron expression of five fields, such as '0 2 * * *', not {schedule!r}")
    if len(schedule.split()) != FIELDS:
        return [form]
    try:
        CronSim(schedule, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError:
        return [form]
    return []


def check_timezone(timezone: str) -> list[FieldError]:
    """What is wrong with the name of a time zone."""
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return [FieldError("timezone", f"must be the name of a time zone, such as Europe/Istanbul, not {timezone!r}")]
    return []


def next_time(schedule: str, timezone: str, after: datetime) -> datetime:
    """The first scheduled moment after `after`, in UTC."""
    moment: datetime = next(CronSim(schedule, after.astimezone(ZoneInfo(timezone))))
    return moment.astimezone(UTC)


def latest_time(schedule: str, timezone: str, due: datetime, now: datetime) -> datetime:
    """The last scheduled moment from `due`, itself one, up to `now`, in UTC."""
    latest = due
    for moment in CronSim(schedule, due.astimezone(ZoneInfo(timezone))):
        if moment > now:
            break
        latest = moment.astimezone(UTC)
    return latest
