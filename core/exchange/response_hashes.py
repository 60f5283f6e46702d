"""Judgments and labels of responses that other tools name by the MD5 of their text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..errors import Report
from ..formats import text_hash
from ..project import Cursor, add_passages
from ..text import how_many
from ..types import Judgment, Passage
from .nugget_grades import whole_responses

_HASH = re.compile(r"[0-9a-f]{32}")


def with_passage_ids(cursor: Cursor, judgments: Sequence[Judgment], file: str, report: Report) -> list[Judgment]:
    """Return judgments with the passage of the project's response in place of the MD5 of the response's text.

    A response of several passages is judged as a whole: as the passage RUN/QUERY.

    Args:
        report: takes a note about hashes of unknown responses.
    """
    hashed = {(one.query_id, one.passage_id) for one in judgments if _HASH.fullmatch(one.passage_id)}
    found: dict[tuple[str, str], list[str]] = {}
    for (run, query_id), (ids, text) in (whole_responses(cursor) if hashed else {}).items():
        key = (query_id, text_hash(text))
        if key in hashed:
            whole = Passage(f"{run}/{query_id}", text)
            if len(ids) > 1:
                add_passages(cursor, [whole])
            found.setdefault(key, []).append(ids[0] if len(ids) == 1 else whole.passage_id)
    if found and (rest := hashed - found.keys()):
        reason = f"{how_many(len(rest), 'ids')} that may be MD5 hashes of responses are kept as passage ids"
        report.remark(file, None, "unknown-response", reason)
    return [
        replace(one, passage_id=passage_id)
        for one in judgments
        for passage_id in found.get((one.query_id, one.passage_id), [one.passage_id])
    ]
