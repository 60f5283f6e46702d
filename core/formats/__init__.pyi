from . import (
    exam_files as exam_files,
    graded_files as graded_files,
    passage_files as passage_files,
    query_files as query_files,
    question_bank_files as question_bank_files,
    trec_files as trec_files,
)
from ._audit_sheet import (
    SheetLine as SheetLine,
    read_sheet as read_sheet,
    write_sheet as write_sheet,
)
from ._batch_calls import (
    PARQUET as PARQUET,
    URLS as URLS,
    Reply as Reply,
    WrittenCall as WrittenCall,
    call_line as call_line,
    read_replies as read_replies,
    write_calls as write_calls,
)
from ._examinee_files import (
    ExamineeVerdicts as ExamineeVerdicts,
    Factors as Factors,
    factors_in_name as factors_in_name,
    read_factors as read_factors,
    read_matrix as read_matrix,
    read_samples as read_samples,
    write_matrix as write_matrix,
)
from ._file_kinds import (
    KINDS_OF_FILE as KINDS_OF_FILE,
    describe_unrecognised as describe_unrecognised,
    detect_kind as detect_kind,
    list_kinds as list_kinds,
)
from ._graded_form import OURS as OURS
from ._leaderboard_files import (
    TableRow as TableRow,
    read_boards as read_boards,
    write_board_form as write_board_form,
    write_board_latex as write_board_latex,
    write_board_tsv as write_board_tsv,
)
from ._nugget_banks import ANY_ANSWER as ANY_ANSWER, FORMS as FORMS, text_hash as text_hash
from ._nugget_files import (
    GradedNugget as GradedNugget,
    has_nugget_grades as has_nugget_grades,
    read_nugget_grades as read_nugget_grades,
    write_nugget_banks as write_nugget_banks,
)
from ._response_files import (
    REPORT as REPORT,
    SENTENCE_KEYS as SENTENCE_KEYS,
    AnswerVerdict as AnswerVerdict,
    WrittenAnswer as WrittenAnswer,
    beyond_limits as beyond_limits,
    read_answer_verdicts as read_answer_verdicts,
    read_answers as read_answers,
    read_responses as read_responses,
)
from ._source import (
    Source as Source,
    read_small as read_small,
    read_small_text as read_small_text,
    write_objects as write_objects,
)
from .exam_files import ExamItem as ExamItem, item_id as item_id
from .question_bank_files import BankFile as BankFile, read_bank as read_bank
from .trec_files import (
    LARGEST as LARGEST,
    RunLine as RunLine,
    name_runs as name_runs,
    read_run_lines as read_run_lines,
)
