"""Exams for pipelines: items, the examinees that take them, and statistics of their answers."""

from __future__ import annotations

from .abilities import AnswerTable, abilities, answer_table, planted, shorter
from .answer_judges import JUDGES
from .answers.casework import (
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
from .answers.comparing import (
    JudgePlan,
    Pair,
    ReadyJudge,
    compare_answers,
    comparing_price,
    judge_again,
    make_judge,
    pairs_to_compare,
    start_comparing,
)
from .answers.contexts import Gold, asked_queries, gold_sources
from .answers.covering import cover_tables
from .answers.desk import Part as MarkedPart
from .answers.desk import ShownPassage, case_desk
from .answers.evaluating import evaluate
from .answers.evaluation import Evaluation, Line, Measured, View, query_values
from .answers.evaluation import Row as RetEvalRow
from .answers.generating import (
    DRAWS,
    KS,
    SEED,
    TEMPERATURE,
    answers_price,
    generate_answers,
    plan_answers,
    start_answering,
)
from .answers.generating import Wanted as WantedAnswers
from .answers.generators import (
    MAX_TOKENS,
    N_TOKENS,
    ORDER,
    ORDERS,
    GeneratorPlan,
    ReadyGenerator,
    generator_again,
    make_generator,
)
from .answers.generators import RULES as ANSWER_RULES
from .answers.generators import Order as PassageOrder
from .answers.generators import Rule as AnswerRule
from .answers.jobs import answering_so_far
from .answers.onward import answers_as_responses, make_run, said_of_run
from .answers.standing import asked_for, clear_best, lacking, said_by_judge, usual_judge
from .answers.studying import (
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
from .answers.tables import reteval_latex, reteval_tsv, row_values
from .answers.tables import told as reteval_told
from .boards import (
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
from .exam_files import answers_csv, exam_json
from .item_acceptance import accept_passing, last_acceptance
from .item_categories import categories, set_keywords
from .item_filters import (
    SHARE,
    VALUE_COLUMNS,
    Checked,
    Thresholds,
    item_values,
    judged,
    usual_thresholds,
    value_row,
)
from .item_generation import Wanted, generate_items, generation_price, start_writing
from .item_statistics import ExamStatistics, making_of, statistics
from .items import EXAM, Item, exam_items, proposed_items, retire, retired_in_drafts
from .live.differing import (
    PlacedPassage,
    QueryChange,
    QueryDifference,
    diff_of_runs,
    frozen_runs,
    query_difference,
)
from .live.freezing import Frozen, freeze
from .live.target import Target, read_target
from .live.watching import LEVEL, Fall, measure_fall
from .responses import Responses, responses
from .retrievals import DEPTH, RETRIEVERS, Retriever, import_retrieval, make_retrieval, retrievals
from .rule_students import sit_by_rules
from .sheets import standing
from .sitting import Sit, sit, start_sitting
from .students import NORMALISE, READING_RULES, RULES, Plan, add_student

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
