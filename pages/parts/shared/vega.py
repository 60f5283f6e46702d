"""Words of Vega-Lite, of which charts are made: Streamlit draws such a specification as it is.

Altair would write the same, but takes a tenth of a second for each chart, again at every click.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pandas as pd

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
CLICKED = "clicked"
"""The name of the layer whose marks can be clicked."""


def word(field: str, **options: object) -> Spec:
    """A channel that shows a column of names."""
    return {"field": field, "type": "nominal", **options}


def number(field: str, **options: object) -> Spec:
    """A channel that shows a column of numbers."""
    return {"field": field, "type": "quantitative", **options}


def constant(value: object) -> Spec:
    """A channel that is the same for every mark."""
    return {"value": value}


def either(test: str, value: object, otherwise: object) -> Spec:
    """A channel with one value where a test holds and another one elsewhere."""
    return {"condition": {"test": test, "value": value}, "value": otherwise}


def layer(mark: str, encoding: Spec, only: str | None = None, **options: object) -> Spec:
    """Marks of one kind.

    Args:
        only: which rows they are drawn for; all for None.
        options: properties of the mark.
    """
    found: Spec = {"mark": {"type": mark, **options}, "encoding": encoding}
    return found if only is None else found | {"transform": [{"filter": only}]}


def clickable(marks: Spec) -> Spec:
    """The layer whose marks can be clicked."""
    return marks | {"name": CLICKED}


def selection(name: str, *fields: str, bind: str | None = None, **options: object) -> Spec:
    """What a click on the clickable layer selects: the values of these columns.

    Args:
        bind: where else can be clicked, as on the legend.
    """
    found: Spec = {"name": name, "select": {"type": "point", "fields": list(fields), **options}, "views": [CLICKED]}
    return found if bind is None else found | {"bind": bind}


def chart(table: pd.DataFrame, *layers: Spec, **options: object) -> Spec:
    """A chart of layers over one table; a layer `over` another table shows that one."""
    tables = _named(table)
    drawn = []
    for marks in layers:
        tables |= marks.get("datasets", {})
        drawn.append({key: value for key, value in marks.items() if key != "datasets"})
    return {"$schema": SCHEMA, "data": {"name": next(iter(tables))}, "datasets": tables, "layer": drawn, **options}


def over(table: pd.DataFrame, marks: Spec) -> Spec:
    """A layer that shows another table than the rest of its chart."""
    tables = _named(table)
    return marks | {"data": {"name": next(iter(tables))}, "datasets": tables}


def _named(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """A table under a name that says what is in it: the browser makes a chart anew when its table changes."""
    return {hashlib.sha256(table.to_json().encode()).hexdigest()[:32]: table}
