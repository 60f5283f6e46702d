from ._exam_items import (
    EXAM as EXAM,
    Item as Item,
    exam_items as exam_items,
    proposed_items as proposed_items,
    retire as retire,
    retired_in_drafts as retired_in_drafts,
)
from ._exam_results import (
    LEAST as LEAST,
    TESTS as TESTS,
    AnswerTable as AnswerTable,
    Comparison as Comparison,
    Row as Row,
    Score as Score,
    Test as Test,
    TopicRow as TopicRow,
    abilities as abilities,
    answer_table as answer_table,
    by_topic as by_topic,
    compare as compare,
    exam_board as exam_board,
    grid as grid,
    only_right as only_right,
    planted as planted,
    shorter as shorter,
)
from ._examinee_answers import (
    Responses as Responses,
    answers_csv as answers_csv,
    exam_json as exam_json,
    responses as responses,
    standing as standing,
)
from ._examinee_setup import (
    NORMALISE as NORMALISE,
    READING_RULES as READING_RULES,
    RULES as RULES,
    Plan as Plan,
    add_student as add_student,
)
from ._item_filters import (
    SHARE as SHARE,
    VALUE_COLUMNS as VALUE_COLUMNS,
    Checked as Checked,
    ExamStatistics as ExamStatistics,
    Thresholds as Thresholds,
    accept_passing as accept_passing,
    categories as categories,
    item_kinds as item_kinds,
    item_values as item_values,
    judged as judged,
    last_acceptance as last_acceptance,
    making_of as making_of,
    set_keywords as set_keywords,
    statistics as statistics,
    usual_thresholds as usual_thresholds,
    value_row as value_row,
)
from ._item_generation import (
    Wanted as Wanted,
    generate_items as generate_items,
    generation_price as generation_price,
    start_writing as start_writing,
)
from ._item_retrievals import (
    DEPTH as DEPTH,
    RETRIEVERS as RETRIEVERS,
    Encode as Encode,
    Retriever as Retriever,
    import_retrieval as import_retrieval,
    kept_vectors as kept_vectors,
    make_retrieval as make_retrieval,
    rank_passages as rank_passages,
    retrievals as retrievals,
)
from ._sitting import Sit as Sit, sit as sit, sit_by_rules as sit_by_rules, start_sitting as start_sitting
