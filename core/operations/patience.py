"""How long operations that ask an endpoint wait for it when it is gone."""

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
"""In minutes as people give it; an operation gets it in seconds."""
