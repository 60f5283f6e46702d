"""File formats, one module each: its reader, its writer, and the rule that recognises it."""

from __future__ import annotations

from . import exam, graded, passages, queries, question_bank, trec_qrels, trec_run
from .answers import AnswerVerdict, WrittenAnswer, read_answer_verdicts, read_answers
from .audit_sheet import SHEET_FORMS, SheetForm, SheetLine, read_sheet, write_sheet
from .batch_calls import PARQUET, URLS, Reply, WrittenCall, call_line, read_replies, write_calls
from .exam import ExamItem, item_id
from .graded_form import OURS
from .kept_banks import write_nugget_banks
from .kinds import KINDS_OF_FILE, detect, looked_for, unrecognised
from .leaderboards import BOARD_FORMS, TableRow, read_boards, write_board_form, write_board_latex, write_board_tsv
from .lm_eval import read_samples
from .nugget_banks import ANY_ANSWER, FORMS, text_hash
from .nugget_grades import GradedNugget, has_nugget_grades, read_nugget_grades, write_nugget_grades
from .question_bank import BankFile, read_bank
from .responses import REPORT, SENTENCE_KEYS, beyond_limits, read_responses
from .responses_matrix import SatElsewhere, read_matrix, write_matrix
from .source import Source, read_small, read_small_text, write_objects
from .student_factors import Factors, factors_in_name, read_factors
from .trec_qrels import LARGEST
from .trec_run import RunLine, name_runs, read_run_lines

__all__ = [
    "ANY_ANSWER",
    "BOARD_FORMS",
    "FORMS",
    "KINDS_OF_FILE",
    "LARGEST",
    "OURS",
    "PARQUET",
    "REPORT",
    "SENTENCE_KEYS",
    "SHEET_FORMS",
    "URLS",
    "AnswerVerdict",
    "BankFile",
    "ExamItem",
    "Factors",
    "GradedNugget",
    "Reply",
    "RunLine",
    "SatElsewhere",
    "SheetForm",
    "SheetLine",
    "Source",
    "TableRow",
    "WrittenAnswer",
    "WrittenCall",
    "beyond_limits",
    "call_line",
    "detect",
    "exam",
    "factors_in_name",
    "graded",
    "has_nugget_grades",
    "item_id",
    "looked_for",
    "name_runs",
    "passages",
    "queries",
    "question_bank",
    "read_answer_verdicts",
    "read_answers",
    "read_bank",
    "read_boards",
    "read_factors",
    "read_matrix",
    "read_nugget_grades",
    "read_replies",
    "read_responses",
    "read_run_lines",
    "read_samples",
    "read_sheet",
    "read_small",
    "read_small_text",
    "text_hash",
    "trec_qrels",
    "trec_run",
    "unrecognised",
    "write_board_form",
    "write_board_latex",
    "write_board_tsv",
    "write_calls",
    "write_matrix",
    "write_nugget_banks",
    "write_nugget_grades",
    "write_objects",
    "write_sheet",
]
