"""The price table: what a model costs per million tokens, as people of the project set it."""

from __future__ import annotations

import json
import math

from core.errors import InputError
from core.graders import BATCH_SHARE, Price
from core.project import Project, log

_SETTING = "prices"


def prices(project: Project) -> dict[str, Price]:
    """Price by model; a model that is not there has no known price."""
    stored = project.value("SELECT value FROM settings WHERE name = ?", [_SETTING])
    return {model: Price(*price) for model, price in json.loads(stored or "{}").items()}


def _as_kept(price: Price) -> list[float | None]:
    """A price as the table keeps it: two amounts, and the others where they say something of their own."""
    kept = [price.input, price.output, price.cached, price.batch]
    while len(kept) > 2 and kept[-1] == (None if len(kept) == 3 else BATCH_SHARE):
        kept.pop()
    return kept


def set_price(project: Project, model: str, price: Price | None, author: str) -> None:
    """Set what a model costs; None forgets it.

    Raises:
        InputError: a price that is no amount of money, or no model.
    """
    if not model.strip():
        raise InputError("empty-name", "The price names no model.", "Give the model's name as the grader has it.")
    if price and not all(math.isfinite(amount) and amount >= 0 for amount in (price.input, price.output)):
        raise InputError(
            "invalid-price",
            f"{price.input} and {price.output} are no prices.",
            "Use amounts per million tokens, from 0.",
        )
    if price and price.cached is not None and not 0 <= price.cached <= price.input:
        raise InputError(
            "invalid-price",
            f"{price.cached} is no price of tokens that were read before.",
            "It is from 0 to the price of other tokens read.",
        )
    if price and not 0 <= price.batch <= 1:
        raise InputError(
            "invalid-price",
            f"{price.batch} is no share of a price.",
            "A call in a batch costs from 0 to 1 of its price.",
        )
    known = {name: _as_kept(one) for name, one in prices(project).items() if name != model}
    if price is not None:
        known[model] = _as_kept(price)
    with project.transaction() as cursor:
        cursor.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [_SETTING, json.dumps(known, sort_keys=True)])
        log(cursor, author, "set price", model=model, price=known.get(model))
