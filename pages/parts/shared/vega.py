"""Elements of Vega-Lite charts; Streamlit draws such a specification directly.

Altair would produce the same specification, but needs a tenth of a second per chart, at every click.
"""

import hashlib
from typing import Any

import pandas as pd

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
CLICKED = "clicked"
"""Name of the layer whose marks can be clicked."""


def word(field: str, **options: object) -> Spec:
    """Return a channel that shows a column of names."""
    return {"field": field, "type": "nominal", **options}


def number(field: str, **options: object) -> Spec:
    """Return a channel that shows a column of numbers."""
    return {"field": field, "type": "quantitative", **options}


def constant(value: object) -> Spec:
    """Return a channel with the same value for every mark."""
    return {"value": value}


def either(test: str, value: object, otherwise: object) -> Spec:
    """Return a channel with one value if a test holds and another value otherwise."""
    return {"condition": {"test": test, "value": value}, "value": otherwise}


def layer(mark: str, encoding: Spec, only: str | None = None, **options: object) -> Spec:
    """Return a layer of marks of one kind.

    Args:
        only: filter expression for the rows; None for all rows.
        options: properties of the mark.
    """
    found: Spec = {"mark": {"type": mark, **options}, "encoding": encoding}
    return found if only is None else found | {"transform": [{"filter": only}]}


def clickable(marks: Spec) -> Spec:
    """Return the layer with its marks made clickable."""
    return marks | {"name": CLICKED}


def selection(name: str, *fields: str, bind: str | None = None, **options: object) -> Spec:
    """Return a selection of these columns' values by a click on the clickable layer.

    Args:
        bind: another place to click, such as the legend.
    """
    found: Spec = {"name": name, "select": {"type": "point", "fields": list(fields), **options}, "views": [CLICKED]}
    return found if bind is None else found | {"bind": bind}


def chart(table: pd.DataFrame, *layers: Spec, **options: object) -> Spec:
    """Return a chart of layers over one table; a layer made by `over` uses its own table."""
    tables = _named(table)
    drawn = []
    for marks in layers:
        tables |= marks.get("datasets", {})
        drawn.append({key: value for key, value in marks.items() if key != "datasets"})
    return {"$schema": SCHEMA, "data": {"name": next(iter(tables))}, "datasets": tables, "layer": drawn, **options}


def over(table: pd.DataFrame, marks: Spec) -> Spec:
    """Return a layer that uses another table than the rest of its chart."""
    tables = _named(table)
    return marks | {"data": {"name": next(iter(tables))}, "datasets": tables}


def _named(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Name a table after its content, since the browser makes a chart again only if its table's name changes."""
    return {hashlib.sha256(table.to_json().encode()).hexdigest()[:32]: table}
