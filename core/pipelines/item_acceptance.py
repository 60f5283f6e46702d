"""Acceptance of proposed items that pass the filters, with a record of the thresholds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from ..bank import accept
from ..errors import InputError
from ..project import Project
from ..types import Question
from .item_filters import Checked, Thresholds

SETTING_OF_FILTERS = "item filters"
"""The setting with the last acceptance of each exam, as JSON."""


@dataclass(frozen=True)
class Acceptance:
    """The last acceptance of the items of an exam that pass the filters.

    Args:
        thresholds: the thresholds that they passed.
        fell: the keys of the proposals that broke a rule then.
    """

    thresholds: Thresholds
    fell: tuple[int, ...]


def last_acceptance(project: Project, query_id: str | None = None) -> Acceptance | None:
    """Return the last acceptance of the query; for None, the only recorded one. None without a match."""
    found = _acceptances(project)
    if query_id is None and len(found) == 1:
        return next(iter(found.values()))
    return found.get(query_id or "")


def accept_passing(project: Project, checked: Sequence[Checked], thresholds: Thresholds, author: str) -> list[Question]:
    """Add the proposals that break no rule to the person's drafts, and record thresholds and filtered proposals.

    Args:
        checked: items checked at `thresholds`; items of the bank among them are ignored.

    Returns:
        The questions as the drafts have them now.

    Raises:
        InputError: every open proposal breaks a rule, or none is open.
    """
    proposed = [(one.item.query_id, one.item.proposal_key, one.hits) for one in checked if one.item.proposal_key]
    passing = [key for _, key, hits in proposed if key and not hits]
    if not passing:
        raise InputError(
            "no-proposal-passes",
            "No open proposal passes the filters.",
            "Change the thresholds. To see which filters reject an item, use exam items check.",
        )
    made = accept(project, passing, author)
    found = _acceptances(project) | {
        query: Acceptance(thresholds, tuple(key for of, key, hits in proposed if of == query and key and hits))
        for query, _, _ in proposed
    }
    written = json.dumps({query: asdict(one) for query, one in found.items()}, ensure_ascii=False)
    with project.transaction(
        act="edit questions", queries={query for query, _, _ in proposed}, author=author
    ) as cursor:
        cursor.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [SETTING_OF_FILTERS, written])
    return made


def _acceptances(project: Project) -> dict[str, Acceptance]:
    """Return acceptances by query id, as the setting has them; an import has checked the types of its numbers."""
    text = project.value("SELECT value FROM settings WHERE name = ?", [SETTING_OF_FILTERS])
    known = {field.name for field in fields(Thresholds)}
    return {
        query: Acceptance(
            Thresholds(**{name: bound for name, bound in one["thresholds"].items() if name in known}),
            tuple(one["fell"]),
        )
        for query, one in json.loads(text or "{}").items()
    }
