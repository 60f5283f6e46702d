"""The table of the kinds of file that a project takes in; each is stated in the module of its format."""

from __future__ import annotations

from core.formats import exam, graded, leaderboards, passages, queries, question_bank, responses, trec_qrels, trec_run
from core.formats.file_kind import FileKind

KINDS_OF_FILE: dict[str, FileKind] = {
    module.KIND.name: module.KIND
    for module in (trec_run, trec_qrels, graded, responses, exam, question_bank, leaderboards, passages, queries)
}
"""By name. A file is taken for the first kind that it looks like: the more a kind asks of it, the earlier it stands."""
