"""Exams for pipelines: items, the students that sit them, and what their answers say."""

from __future__ import annotations

from core.pipelines.abilities import AnswerTable, abilities, answer_table, planted, shorter
from core.pipelines.answer_judges import JUDGES
from core.pipelines.answers.background import current_answer_work, start_answering, start_comparing
from core.pipelines.answers.casework import (
    RELEVANT,
    CaseRow,
    Failures,
    case_at,
    cases,
    check_case,
    confirm_case,
    failures,
    judge_as_relevant,
    take_back_case,
    unseen_by,
)
from core.pipelines.answers.comparing import (
    JudgePlan,
    Pair,
    ReadyJudge,
    compare_answers,
    comparing_price,
    judge_again,
    make_judge,
    pairs_to_compare,
)
from core.pipelines.answers.contexts import Gold, asked_queries, gold_sources
from core.pipelines.answers.covering import cover_tables
from core.pipelines.answers.desk import Part as MarkedPart
from core.pipelines.answers.desk import ShownPassage, case_desk
from core.pipelines.answers.evaluating import evaluate
from core.pipelines.answers.evaluation import Evaluation, Line, Measured, View, query_values
from core.pipelines.answers.evaluation import Row as RetEvalRow
from core.pipelines.answers.generating import (
    DRAWS,
    KS,
    SEED,
    TEMPERATURE,
    answers_price,
    generate_answers,
    plan_answers,
)
from core.pipelines.answers.generating import Wanted as WantedAnswers
from core.pipelines.answers.generators import (
    MAX_TOKENS,
    N_TOKENS,
    ORDER,
    ORDERS,
    GeneratorPlan,
    ReadyGenerator,
    generator_again,
    make_generator,
)
from core.pipelines.answers.generators import RULES as ANSWER_RULES
from core.pipelines.answers.generators import Order as PassageOrder
from core.pipelines.answers.generators import Rule as AnswerRule
from core.pipelines.answers.jobs import Caps, answer_jobs, answering_so_far
from core.pipelines.answers.onward import answers_as_responses, make_run, said_of_run
from core.pipelines.answers.standing import asked_for, clear_best, lacking, said_by_judge, usual_judge
from core.pipelines.answers.studying import (
    AgreementRow,
    PeopleSaid,
    Refined,
    agreement,
    choice_tables,
    correlations,
    people_said,
    said_in_file,
    verdict_sources,
    waiting_runs,
)
from core.pipelines.answers.tables import reteval_latex, reteval_tsv, row_values
from core.pipelines.answers.tables import told as reteval_told
from core.pipelines.background import Background, current_sitting, start_sitting
from core.pipelines.background_writing import BackgroundWriting, current_writing, start_writing
from core.pipelines.boards import (
    LEAST,
    TESTS,
    Comparison,
    Row,
    Score,
    Test,
    TopicRow,
    by_topic,
    compare,
    exam_board,
    grid,
    only_right,
)
from core.pipelines.exam_files import answers_csv, exam_json
from core.pipelines.item_acceptance import accept_passing, last_acceptance
from core.pipelines.item_categories import categories, set_keywords
from core.pipelines.item_filters import (
    SHARE,
    VALUE_COLUMNS,
    Checked,
    Thresholds,
    item_values,
    judged,
    usual_thresholds,
    value_row,
)
from core.pipelines.item_generation import Wanted, generate_items, generation_price
from core.pipelines.item_statistics import ExamStatistics, making_of, statistics
from core.pipelines.items import EXAM, Item, exam_items, proposed_items, retire, retired_in_drafts
from core.pipelines.live.differing import (
    PlacedPassage,
    QueryChange,
    QueryDifference,
    diff_of_runs,
    frozen_runs,
    query_difference,
)
from core.pipelines.live.freezing import Frozen, freeze
from core.pipelines.live.target import Target, read_target
from core.pipelines.live.watching import LEVEL, Fall, measure_fall
from core.pipelines.reins import Reins
from core.pipelines.responses import Responses, responses
from core.pipelines.retrievals import DEPTH, RETRIEVERS, Retriever, import_retrieval, make_retrieval, retrievals
from core.pipelines.rule_students import sit_by_rules
from core.pipelines.sheets import standing
from core.pipelines.sitting import Sit, sit
from core.pipelines.students import NORMALISE, READING_RULES, RULES, Plan, add_student

__all__ = [
    "ANSWER_RULES",
    "DEPTH",
    "DRAWS",
    "EXAM",
    "JUDGES",
    "KS",
    "LEAST",
    "LEVEL",
    "MAX_TOKENS",
    "NORMALISE",
    "N_TOKENS",
    "ORDER",
    "ORDERS",
    "READING_RULES",
    "RELEVANT",
    "RETRIEVERS",
    "RULES",
    "SEED",
    "SHARE",
    "TEMPERATURE",
    "TESTS",
    "VALUE_COLUMNS",
    "AgreementRow",
    "AnswerRule",
    "AnswerTable",
    "Background",
    "BackgroundWriting",
    "Caps",
    "CaseRow",
    "Checked",
    "Comparison",
    "Evaluation",
    "ExamStatistics",
    "Failures",
    "Fall",
    "Frozen",
    "GeneratorPlan",
    "Gold",
    "Item",
    "JudgePlan",
    "Line",
    "MarkedPart",
    "Measured",
    "Pair",
    "PassageOrder",
    "PeopleSaid",
    "PlacedPassage",
    "Plan",
    "QueryChange",
    "QueryDifference",
    "ReadyGenerator",
    "ReadyJudge",
    "Refined",
    "Reins",
    "Responses",
    "RetEvalRow",
    "Retriever",
    "Row",
    "Score",
    "ShownPassage",
    "Sit",
    "Target",
    "Test",
    "Thresholds",
    "TopicRow",
    "View",
    "Wanted",
    "WantedAnswers",
    "abilities",
    "accept_passing",
    "add_student",
    "agreement",
    "answer_jobs",
    "answer_table",
    "answering_so_far",
    "answers_as_responses",
    "answers_csv",
    "answers_price",
    "asked_for",
    "asked_queries",
    "by_topic",
    "case_at",
    "case_desk",
    "cases",
    "categories",
    "check_case",
    "choice_tables",
    "clear_best",
    "compare",
    "compare_answers",
    "comparing_price",
    "confirm_case",
    "correlations",
    "cover_tables",
    "current_answer_work",
    "current_sitting",
    "current_writing",
    "diff_of_runs",
    "evaluate",
    "exam_board",
    "exam_items",
    "exam_json",
    "failures",
    "freeze",
    "frozen_runs",
    "generate_answers",
    "generate_items",
    "generation_price",
    "generator_again",
    "gold_sources",
    "grid",
    "import_retrieval",
    "item_values",
    "judge_again",
    "judge_as_relevant",
    "judged",
    "lacking",
    "last_acceptance",
    "make_generator",
    "make_judge",
    "make_retrieval",
    "make_run",
    "making_of",
    "measure_fall",
    "only_right",
    "pairs_to_compare",
    "people_said",
    "plan_answers",
    "planted",
    "proposed_items",
    "query_difference",
    "query_values",
    "read_target",
    "responses",
    "reteval_latex",
    "reteval_told",
    "reteval_tsv",
    "retire",
    "retired_in_drafts",
    "retrievals",
    "row_values",
    "said_by_judge",
    "said_in_file",
    "said_of_run",
    "set_keywords",
    "shorter",
    "sit",
    "sit_by_rules",
    "standing",
    "start_answering",
    "start_comparing",
    "start_sitting",
    "start_writing",
    "statistics",
    "take_back_case",
    "unseen_by",
    "usual_judge",
    "usual_thresholds",
    "value_row",
    "verdict_sources",
    "waiting_runs",
]
