"""How long operations wait for an endpoint that is unavailable."""

from __future__ import annotations

from typing import Annotated

from ..jobs import LONGEST_PATIENCE, PATIENCE
from .describing import Option

MINUTE = 60.0

Patience = Annotated[
    float,
    Option(
        "--patience",
        help="Minutes to wait for an unavailable endpoint. The endpoint can always request a pause of 1 minute.",
        least=0,
        most=LONGEST_PATIENCE / MINUTE,
        default=lambda: PATIENCE / MINUTE,
        parse=lambda minutes: MINUTE * minutes,
    ),
]
"""Given in minutes; the operation receives seconds."""
