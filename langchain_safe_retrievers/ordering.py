"""What values can be ordered among, and the times that they name."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from numbers import Real

_SCALES: dict[type, type] = {int: Real, float: Real, str: str, date: date, datetime: date}


def scale_of(value: object) -> type | None:
    """Return what a value can be ordered among.

    Args:
        value: Any value.

    Returns:
        `Real`, `str` or `date`; None if it has no order here.

    Example:
        >>> scale_of(3).__name__, scale_of(True)
        ('Real', None)
    """
    scale = _SCALES.get(type(value))
    if scale is not None or isinstance(value, bool):
        return scale
    if isinstance(value, Real | Decimal):
        return Real
    return next((scale for scale in (str, date) if isinstance(value, scale)), None)


def time_of(value: object) -> datetime | None:
    """Return the time that a date or an ISO 8601 text names; without a zone it is UTC.

    Args:
        value: Any value.

    Returns:
        The time; None if the value names none.

    Example:
        >>> time_of("2024-05-01")
        datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return datetime.combine(value, time.min, UTC) if isinstance(value, date) else None
    return value.replace(tzinfo=UTC) if value.utcoffset() is None else value
