"""One file per format: its reader, its writer, and how it is recognised; files become records and back."""

from __future__ import annotations

from core.formats import exam, graded, passages, queries, question_bank, trec_qrels, trec_run
from core.formats.answer_verdicts import AnswerVerdict, read_answer_verdicts
from core.formats.answers import WrittenAnswer, read_answers
from core.formats.audit_sheet import SHEET_FORMS, SheetForm, SheetLine, read_sheet, write_sheet
from core.formats.batch_calls import PARQUET, URLS, Reply, WrittenCall, call_line, read_replies, write_calls
from core.formats.detecting import detect, looked_for, unrecognised
from core.formats.exam import ExamItem, item_id
from core.formats.kinds import KINDS_OF_FILE
from core.formats.leaderboards import TableRow, read_boards, write_board_latex, write_board_tsv
from core.formats.lm_eval import read_samples
from core.formats.question_bank import BankFile, read_bank
from core.formats.responses import read_responses
from core.formats.responses_matrix import SatElsewhere, read_matrix, write_matrix
from core.formats.source import Source, read_small, read_small_text
from core.formats.student_factors import Factors, factors_in_name, read_factors
from core.formats.trec_qrels import LARGEST
from core.formats.trec_run import RunLine, name_runs, read_run_lines

__all__ = [
    "KINDS_OF_FILE",
    "LARGEST",
    "PARQUET",
    "SHEET_FORMS",
    "URLS",
    "AnswerVerdict",
    "BankFile",
    "ExamItem",
    "Factors",
    "Reply",
    "RunLine",
    "SatElsewhere",
    "SheetForm",
    "SheetLine",
    "Source",
    "TableRow",
    "WrittenAnswer",
    "WrittenCall",
    "call_line",
    "detect",
    "exam",
    "factors_in_name",
    "graded",
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
    "read_replies",
    "read_responses",
    "read_run_lines",
    "read_samples",
    "read_sheet",
    "read_small",
    "read_small_text",
    "trec_qrels",
    "trec_run",
    "unrecognised",
    "write_board_latex",
    "write_board_tsv",
    "write_calls",
    "write_matrix",
    "write_sheet",
]
