"""How long commands that ask an endpoint wait for it when it is gone."""

from __future__ import annotations

import math

import click

from ..jobs import LONGEST_PATIENCE, PATIENCE

MINUTE = 60.0


def _seconds(context: click.Context, option: click.Parameter, minutes: float) -> float:
    if math.isnan(minutes):
        raise click.BadParameter(f"{minutes} is not a number.", context, option)
    return MINUTE * minutes


patience_option = click.option(
    "--patience",
    type=click.FloatRange(0, LONGEST_PATIENCE / MINUTE),
    default=PATIENCE / MINUTE,
    show_default=True,
    callback=_seconds,
    help="Minutes to wait for an unavailable endpoint. The endpoint can always request a pause of 1 minute.",
)
"""Adds `--patience`, in minutes; a command gets it as `patience`, in seconds."""
