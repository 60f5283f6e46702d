from ._adjudication import (
    STANDINGS as STANDINGS,
    Contested as Contested,
    Place as Place,
    Standing as Standing,
    accept_agreed as accept_agreed,
    contested as contested,
    decide as decide,
    decisions as decisions,
    end_double as end_double,
    may_decide as may_decide,
    undo_decision as undo_decision,
)
from ._changes.causes import QuestionChange as QuestionChange, why_label as why_label
from ._changes.edit_impact import (
    Changes as Changes,
    Directions as Directions,
    Edits as Edits,
    LabelChange as LabelChange,
    changes as changes,
    directions as directions,
    version_edits as version_edits,
    why as why,
)
from ._changes.override_effect import (
    Effect as Effect,
    override_labels as override_labels,
    ratings_effect as ratings_effect,
)
from ._changes.rescoring import SystemChange as SystemChange
from ._changes.state_differences import (
    LabelFlip as LabelFlip,
    StateChanges as StateChanges,
    flips_csv as flips_csv,
    state_changes as state_changes,
)
from ._disagreements import settling as settling
from ._disagreements.check_next import Check as Check, CheckNext as CheckNext
from ._disagreements.confirming import Confirmation as Confirmation, confirmation as confirmation
from ._disagreements.disagreement_queue import (
    Cell as Cell,
    Giving as Giving,
    Order as Order,
    Queue as Queue,
    Row as Row,
    queue as queue,
    row_of as row_of,
)
from ._disagreements.label_agreement import (
    Agreement as Agreement,
    agreement as agreement,
    table_csv as table_csv,
    table_latex as table_latex,
)
from ._disagreements.override_preview import Outcome as Outcome, outcome as outcome
from ._disagreements.settlement_record import (
    NO_REASON as NO_REASON,
    AlreadySettled as AlreadySettled,
    Case as Case,
    Settling as Settling,
    acts as acts,
    disputes as disputes,
    disputes_csv as disputes_csv,
    record as record,
    record_csv as record_csv,
    settled as settled,
)
from ._disagreements.settling import (
    case_of as case_of,
    reopen as reopen,
    settle_by_comment as settle_by_comment,
    settle_by_dispute as settle_by_dispute,
    settle_by_edit as settle_by_edit,
    settle_by_override as settle_by_override,
    side_name as side_name,
)
from ._disagreements.sides import (
    Judgments as Judgments,
    Labels as Labels,
    Person as Person,
    Side as Side,
    machine as machine,
    people as people,
)
from ._my_work import (
    Share as Share,
    Work as Work,
    finished_jobs as finished_jobs,
    judged_of as judged_of,
    my_work as my_work,
    shares as shares,
)
from ._passages.answer_positions import (
    Segment as Segment,
    Span as Span,
    find_answer as find_answer,
    segments as segments,
)
from ._passages.bank_gaps import strays as strays, uncovered as uncovered
from ._passages.judging_order import ToJudge as ToJudge, Turn as Turn, next_turn as next_turn
from ._passages.passage_details import (
    AskedQuestion as AskedQuestion,
    Desk as Desk,
    Said as Said,
    label_with as label_with,
    read_passage as read_passage,
    strongest_first as strongest_first,
)
from ._passages.passage_search import (
    NONE as NONE,
    Filters as Filters,
    Found as Found,
    Listed as Listed,
    State as State,
    search as search,
    where_to_begin as where_to_begin,
)
from ._people_agreement import BetweenPeople as BetweenPeople, OfPair as OfPair, between_people as between_people
from ._presence import Presence as Presence
from ._project_summary import (
    Agreeing as Agreeing,
    Leading as Leading,
    ToCurate as ToCurate,
    Waiting as Waiting,
    agreeing as agreeing,
    leading as leading,
    stale_overrides as stale_overrides,
    to_curate as to_curate,
)
from ._repairs import (
    WORDINGS as WORDINGS,
    Repair as Repair,
    repair as repair,
    suggest_rewordings as suggest_rewordings,
)
