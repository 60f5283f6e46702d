"""Terms of use of the data sets whose texts a project has. Manifests list them, and exports of texts warn of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from ..store import Cursor, Project, put_setting, setting

SETTING_OF_TERMS = "data sets"


@dataclass(frozen=True)
class Terms:
    """The terms of a data set.

    Args:
        data_set: its id in ir_datasets.
        terms: as its publisher states them; empty if ir_datasets has no terms for it.
        address: URL of its page.
    """

    data_set: str
    terms: str
    address: str

    def __str__(self) -> str:
        return f"{self.data_set}: {self.terms or 'no terms are known to ir_datasets'} ({self.address})"


def read_terms(written: str) -> list[Terms]:
    """Read the terms of each data set from the value of the setting."""
    return [Terms(**one) for one in json.loads(written)]


def terms_of(project: Project) -> list[Terms]:
    """Return the terms of each data set from which the project has texts."""
    return read_terms(setting(project, SETTING_OF_TERMS) or "[]")


def keep_terms(cursor: Cursor, terms: Terms) -> None:
    """Store the terms of a data set; they replace earlier ones."""
    found = cursor.execute("SELECT value FROM settings WHERE name = ?", [SETTING_OF_TERMS]).fetchall()
    others = [one for one in read_terms(found[0][0] if found else "[]") if one.data_set != terms.data_set]
    written = json.dumps([asdict(one) for one in (*others, terms)], ensure_ascii=False)
    put_setting(cursor, SETTING_OF_TERMS, written)
