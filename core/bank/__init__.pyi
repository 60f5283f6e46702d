from . import draft_notes as draft_notes, editing as editing
from ._asked_questions import (
    asked_bank as asked_bank,
    bank_for as bank_for,
    name_asked_texts as name_asked_texts,
    name_sentences as name_sentences,
    question_text_key as question_text_key,
)
from ._assessors_first import (
    assessors_first as assessors_first,
    proposed_wordings as proposed_wordings,
    queries_awaiting_own as queries_awaiting_own,
    set_assessors_first as set_assessors_first,
)
from ._cited_passages import CITING as CITING, asked_pool as asked_pool
from ._default_graders import succession as succession
from ._drafts import (
    Conflict as Conflict,
    CrossedEdit as CrossedEdit,
    Mark as Mark,
    authors as authors,
    begin_question as begin_question,
    change_draft as change_draft,
    conflicts as conflicts,
    drafted_bank as drafted_bank,
    drafted_edits as drafted_edits,
    drafts as drafts,
    mark as mark,
    new_question as new_question,
    note_written as note_written,
    others as others,
    put_draft as put_draft,
    put_drafts as put_drafts,
    redo as redo,
    save_drafts as save_drafts,
    seen as seen,
    settle as settle,
    steps as steps,
    take_back as take_back,
    undo as undo,
)
from ._drift_watch import Drift as Drift, DriftCheck as DriftCheck, drift as drift, refuse_drifted as refuse_drifted
from ._duplicate_questions import (
    NEAR as NEAR,
    Repeat as Repeat,
    marks as marks,
    near_duplicates as near_duplicates,
    same_wordings as same_wordings,
)
from ._grader_catalogue import (
    StoredGrader as StoredGrader,
    find_grader as find_grader,
    grader_key as grader_key,
    graders as graders,
    put_grader as put_grader,
    stored_graders as stored_graders,
)
from ._grader_list import list_of_graders as list_of_graders
from ._item_facts import (
    SCHEMES as SCHEMES,
    ItemFacts as ItemFacts,
    Scheme as Scheme,
    item_categories as item_categories,
    item_facts as item_facts,
    put_items as put_items,
    set_categories as set_categories,
    set_item as set_item,
)
from ._model_prices import prices as prices, set_price as set_price
from ._project_status import (
    NextStep as NextStep,
    counts as counts,
    judged_queries as judged_queries,
    lacks_passages as lacks_passages,
    next_step as next_step,
    parts_without_content as parts_without_content,
)
from ._prompt_versions import prompt_versions as prompt_versions, prompts as prompts, save_prompt as save_prompt
from ._proposals import (
    STATES as STATES,
    Drafted as Drafted,
    DraftedItem as DraftedItem,
    Generation as Generation,
    Proposal as Proposal,
    State as State,
    accept as accept,
    add_generations as add_generations,
    cleaned as cleaned,
    edit_proposal as edit_proposal,
    empty_generations as empty_generations,
    find_question as find_question,
    proposals as proposals,
    put_back as put_back,
    reject as reject,
)
from ._question_buffer import QuestionFile as QuestionFile
from ._question_texts import Words as Words, in_their_words as in_their_words, take_words as take_words
from ._questions import (
    QueryOverview as QueryOverview,
    check_version as check_version,
    difference as difference,
    find_query as find_query,
    history as history,
    latest_questions as latest_questions,
    latest_version as latest_version,
    overview as overview,
    public as public,
    questions as questions,
    readable as readable,
    versions as versions,
)
from ._robustness import (
    FlipRate as FlipRate,
    flip_rates as flip_rates,
    robustness_note as robustness_note,
    trust_notes as trust_notes,
)
from ._saved_graders import (
    SPEC_COLUMNS as SPEC_COLUMNS,
    NamedGrader as NamedGrader,
    grade_command as grade_command,
    grader_again as grader_again,
    how_to_grade as how_to_grade,
    make_named as make_named,
    named_graders as named_graders,
    remember_settings as remember_settings,
    remove_named_grader as remove_named_grader,
    save_named_grader as save_named_grader,
    settings as settings,
    settings_again as settings_again,
    stored_spec as stored_spec,
)
from ._saving import is_wordless as is_wordless, restore as restore, save as save, save_questions as save_questions
from ._sealing import SEALED_PER_QUERY as SEALED_PER_QUERY, open_sealed as open_sealed, seal as seal
from ._suspect_passages import speaking_passages as speaking_passages
from ._topics import (
    add_topics as add_topics,
    answered_by_topic as answered_by_topic,
    asked_questions as asked_questions,
    asking as asking,
    asks as asks,
    exam_queries as exam_queries,
    query_as_question as query_as_question,
    questions_by_query as questions_by_query,
    take_queries as take_queries,
    without_answered_by_topic as without_answered_by_topic,
)
from ._word_differences import word_difference as word_difference
from .draft_notes import done as done
from .editing import (
    duplicated as duplicated,
    merged as merged,
    moved as moved,
    pasted as pasted,
    retired as retired,
    split as split,
    weighted as weighted,
)
