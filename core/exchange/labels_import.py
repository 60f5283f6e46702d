"""Import of labels that a model made elsewhere: they become grades of a direct grader, and never judgments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ..bank import question_text_key
from ..catalogue import put_grader
from ..errors import InputError, Report
from ..grading import write_grades
from ..project import Cursor, add_job, check_new, end_job, lent, list_keys, table_of
from ..text import how_many
from ..types import GraderSpec, Judgment, Question

_TYPES = {"row": "INTEGER", "query_id": "VARCHAR", "passage_id": "VARCHAR"}


def write_labels(
    cursor: Cursor, name: str, scale: int | None, labels: Sequence[Judgment], file: str, report: Report, author: str
) -> dict[str, int]:
    """Write labels as grades of the grader with this name; each label rates a passage for the whole query.

    Args:
        scale: top of the grader's scale. For None that of the grader if the project has it, else the greatest label.
        report: takes notes about labels that are left out.

    Returns:
        Counts of labels and of new grades.

    Raises:
        InputError: another grader has the name, it labelled these texts differently before, or no passage has a text.
    """
    spec = _grader(cursor, name, scale, max(label.value for label in labels))
    columns = {
        "row": range(len(labels)),
        "query_id": [label.query_id for label in labels],
        "passage_id": [label.passage_id for label in labels],
    }
    with lent(cursor, "new_labels", table_of(columns, _TYPES)):
        found = cursor.execute(
            "SELECT row, query_key, passage_key, text_key FROM new_labels JOIN queries USING (query_id)"
            " JOIN passages USING (passage_id) WHERE text_key IS NOT NULL ORDER BY row"
        ).fetchnumpy()
    rows, queries, passages, texts = (
        np.asarray(found[column], np.int32) for column in ("row", "query_key", "passage_key", "text_key")
    )
    if textless := len(labels) - len(rows):
        reason = f"{how_many(textless, 'labels')} skipped: the passage has no text in the project"
        report.remark(file, None, "no-passage-text", reason)
    if not len(rows):
        raise InputError(
            "no-passage-text",
            "None of the labelled passages has a text in the project.",
            "Import the passages first: exam import passages FILE",
        )
    titles = dict(cursor.execute("SELECT query_key, text FROM titles()").fetchall())
    asked = {
        key: question_text_key(cursor, str(spec.asked_text(Question("", "", titles[key]))))
        for key in np.unique(queries).tolist()
    }
    values = np.array([label.value for label in labels], np.int8)[rows]
    questions = np.array([asked[key] for key in queries.tolist()], np.int32)
    # A grade is about a text, so the same text gets one label.
    _, first, place = np.unique(questions.astype(np.int64) << 32 | texts, return_index=True, return_inverse=True)
    if differing := int((values != values[first[place]]).sum()):
        reason = f"{how_many(differing, 'labels')} skipped: the same text has a different label earlier in the file"
        report.remark(file, None, "differing-grade", reason)
    grader = put_grader(cursor, spec)
    job = add_job(cursor, "grading", grader, {"import": "labels"}, 0, author)
    size = len(rows)
    written = write_grades(
        cursor,
        pa.table(
            {
                "row": np.arange(size, dtype=np.int32),
                "grader_key": np.full(size, grader, np.int32),
                "question_text_key": questions,
                "passage_text_key": texts,
                "rating": values,
                "defaulted": np.zeros(size, bool),
                "job_key": np.full(size, job, np.int32),
            }
        ),
    )
    if written.differing:
        raise InputError(
            "labels-differ",
            f"'{name}' already has different labels for {how_many(written.differing, 'passages')} of the file.",
            "Import the file under another name (--name).",
        )
    list_keys(cursor, queries, passages)
    end_job(cursor, job, "imported", f"Imported from {file}")
    return {"labels": size, "new grades": written.graded}


def _grader(cursor: Cursor, name: str, scale: int | None, greatest: int) -> GraderSpec:
    """Return the grader that gave the labels.

    Raises:
        InputError: another grader has its name, or a label is beyond its scale.
    """
    check_new(cursor, "grader", [name])
    known = cursor.execute("SELECT fingerprint, max_rating FROM graders WHERE name = ?", [name]).fetchall()
    top = scale or (known[0][1] if known else max(1, greatest))
    spec = GraderSpec(name, "direct", name, parameters={"imported": "labels"}, max_rating=top)
    if known and known[0][0] != spec.fingerprint:
        raise InputError(
            "grader-name-taken",
            f"The project already has another grader named '{name}'.",
            "Import the labels under another name (--name).",
        )
    if greatest > top:
        raise InputError(
            "label-out-of-range",
            f"Label {greatest} is beyond the scale of '{name}', which ends at {top}.",
            "Import the labels under another name (--name) with a longer scale (--scale).",
        )
    return spec
