"""The price table: what a model costs per million tokens, as people of the project set it."""

from __future__ import annotations

import json
import math

from core.errors import InputError
from core.graders import Price
from core.project import Project, log

_SETTING = "prices"


def prices(project: Project) -> dict[str, Price]:
    """Price by model; a model that is not there has no known price."""
    stored = project.value("SELECT value FROM settings WHERE name = ?", [_SETTING])
    return {model: Price(*price) for model, price in json.loads(stored or "{}").items()}


def set_price(project: Project, model: str, price: Price | None, author: str) -> None:
    """Set what a model costs; None forgets it.

    Raises:
        InputError: a price that is no amount of money, or no model.
    """
    if not model.strip():
        raise InputError("The price names no model.", "Give the model's name as the grader has it.")
    if price and not all(math.isfinite(amount) and amount >= 0 for amount in (price.input, price.output)):
        raise InputError(f"{price.input} and {price.output} are no prices.", "Use amounts per million tokens, from 0.")
    known = {name: (p.input, p.output) for name, p in prices(project).items() if name != model}
    if price is not None:
        known[model] = (price.input, price.output)
    with project.transaction() as cursor:
        cursor.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [_SETTING, json.dumps(known, sort_keys=True)])
        log(cursor, author, "set price", model=model, price=known.get(model))
