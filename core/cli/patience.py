"""How long commands that ask an endpoint wait for it where it is gone."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import click

from ..grading import Request
from ..jobs import LONGEST_PATIENCE

Command = Callable[..., Any]
MINUTE = 60.0


def patience_option(command: Command) -> Command:
    """Add `--patience`, in minutes; a command gets it as `patience`, in seconds."""

    @functools.wraps(command)
    def with_patience(*args: Any, patience: float, **others: Any) -> Any:
        return command(*args, patience=MINUTE * patience, **others)

    return click.option(
        "--patience",
        type=click.FloatRange(0, LONGEST_PATIENCE / MINUTE),
        default=Request.patience / MINUTE,
        show_default=True,
        callback=_a_number,
        help="Minutes to wait for an unavailable endpoint. The endpoint can always request a pause of 1 minute.",
    )(with_patience)


def _a_number(context: click.Context, option: click.Parameter, minutes: float) -> float:
    if math.isnan(minutes):
        raise click.BadParameter(f"{minutes} is not a number.", context, option)
    return minutes
