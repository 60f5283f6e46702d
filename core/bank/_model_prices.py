"""The price table: prices per million tokens by model, set by people of the project."""

from __future__ import annotations

import json
import math

from ..errors import InputError
from ..graders import BATCH_SHARE, Price
from ..store import Project, log, put_setting, setting

_SETTING = "prices"


def prices(project: Project) -> dict[str, Price]:
    """Return the known prices by model."""
    stored = setting(project, _SETTING)
    return {model: Price(*price) for model, price in json.loads(stored or "{}").items()}


def _as_kept(price: Price) -> list[float | None]:
    """Return a price as a list for storage: two amounts, then the other amounts without trailing defaults."""
    kept = [price.input, price.output, price.cached, price.batch]
    while len(kept) > 2 and kept[-1] == (None if len(kept) == 3 else BATCH_SHARE):
        kept.pop()
    return kept


def set_price(project: Project, model: str, price: Price | None, author: str) -> None:
    """Set the price of a model; None removes it.

    Raises:
        InputError: an amount is invalid, or the model name is empty.
    """
    if not model.strip():
        raise InputError(
            "empty-name", "The price has no model name.", "Use the model's name exactly as its grader has it."
        )
    if price and not all(math.isfinite(amount) and amount >= 0 for amount in (price.input, price.output)):
        raise InputError(
            "invalid-price",
            f"Invalid prices {price.input} and {price.output}.",
            "Use amounts per million tokens, 0 or higher.",
        )
    if price and price.cached is not None and not 0 <= price.cached <= price.input:
        raise InputError(
            "invalid-price",
            f"Invalid price {price.cached} for cached tokens.",
            f"Use an amount from 0 to {price.input}, the price of other input tokens.",
        )
    if price and not 0 <= price.batch <= 1:
        raise InputError(
            "invalid-price",
            f"Invalid batch share {price.batch}.",
            "Use a number from 0 to 1: the share of the normal price that a call in a batch costs.",
        )
    known = {name: _as_kept(one) for name, one in prices(project).items() if name != model}
    if price is not None:
        known[model] = _as_kept(price)
    with project.transaction() as cursor:
        put_setting(cursor, _SETTING, json.dumps(known, sort_keys=True))
        log(cursor, author, "set price", model=model, price=known.get(model))
