"""Asking models for what is missing: plan, price, job, failures; and for drafts of questions."""

from __future__ import annotations

from core.grading.answer_keys import DEFAULT_PROMPT, KeyPassage, draft_answer_key, passages_for_key
from core.grading.budgets import budget, trial_control
from core.grading.carrying import Carrier, carry
from core.grading.drafting import (
    KINDS,
    MOST,
    Drafter,
    Failure,
    Kind,
    Report,
    Watch,
    answers,
    blank,
    drafting_control,
    find_prompt,
    fitting_prompts,
    make_drafter,
    suggest,
    usual_settings,
)
from core.grading.elsewhere import TakenIn, Written, take_in, write_missing
from core.grading.failures import Doubtful, Which, doubtful_pairs, reasons
from core.grading.grades import NO_USABLE_RATING, write_grades
from core.grading.jobs import close_interrupted, end, jobs, start
from core.grading.kept_vectors import ProjectVectors, count_vectors, drop_vectors
from core.grading.ledgers import Ledger
from core.grading.left_out import LeftOut, left_out
from core.grading.pairs import Plan, make_plan, missing_pairs
from core.grading.price_tag import CHARACTERS_A_TOKEN, PriceTag, price_tag, time_needed
from core.grading.progress import Progress
from core.grading.running import BackgroundJob, Request, current_job, make_control, run_job, start_job
from core.grading.scope import Scope
from core.grading.trying import fill_in, pair_to_try, questions_for, questions_to_try

__all__ = [
    "CHARACTERS_A_TOKEN",
    "DEFAULT_PROMPT",
    "KINDS",
    "MOST",
    "NO_USABLE_RATING",
    "BackgroundJob",
    "Carrier",
    "Doubtful",
    "Drafter",
    "Failure",
    "KeyPassage",
    "Kind",
    "Ledger",
    "LeftOut",
    "Plan",
    "PriceTag",
    "Progress",
    "ProjectVectors",
    "Report",
    "Request",
    "Scope",
    "TakenIn",
    "Watch",
    "Which",
    "Written",
    "answers",
    "blank",
    "budget",
    "carry",
    "close_interrupted",
    "count_vectors",
    "current_job",
    "doubtful_pairs",
    "draft_answer_key",
    "drafting_control",
    "drop_vectors",
    "end",
    "fill_in",
    "find_prompt",
    "fitting_prompts",
    "jobs",
    "left_out",
    "make_control",
    "make_drafter",
    "make_plan",
    "missing_pairs",
    "pair_to_try",
    "passages_for_key",
    "price_tag",
    "questions_for",
    "questions_to_try",
    "reasons",
    "run_job",
    "start",
    "start_job",
    "suggest",
    "take_in",
    "time_needed",
    "trial_control",
    "usual_settings",
    "write_grades",
    "write_missing",
]
