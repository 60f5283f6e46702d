"""Hostile texts and numbers on screens and in scripts: edits, overrides, judgments, measures and scoring settings."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from exam_workbench import bank, labels
from exam_workbench.bank import editing
from exam_workbench.errors import WorkbenchError
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.measures import MEASURES, parse_measure
from exam_workbench.records import judging
from exam_workbench.store import Project
from exam_workbench.types import GraderInput, GraderSpec
from tests.fuzz.checks import AUTHOR, Bench, comes_again, fuzzed, goes_out, refused_well, sound
from tests.fuzz.strategies import LONE, texts

READS_KEYS = GraderSpec("reads keys", "choice", "none", parameters={"reads": ["answer_key", "choices"]})
QUESTION = "q0/x0"
NUMBERS = (0, 1, 3, 5, 6, -1, 2**40)
WEIGHTS = (0.0, 1.0, -1.0, 0.5, 1e-320, 1e16, 1e308, -1e308, math.nan, math.inf, -math.inf, float(2**62))
# A shell passes on half characters.
WORDS = texts() | st.sampled_from(("Why?", "What?", LONE))
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "text": WORDS,
        "weight": st.sampled_from(WEIGHTS),
        "answer_key": st.none() | WORDS,
        "choices": st.lists(WORDS, max_size=3).map(tuple),
        "kind": st.sampled_from(("question", "nugget", "choice")) | texts(),
        "subtopic_id": st.none() | WORDS,
        "note": WORDS,
        "query_id": st.just("q0") | texts(),
    },
)
ACTS = ("save", "draft", "paste", "split", "merge", "override", "judge")


def _do(project: Project, act: str, fields: dict[str, Any], text: str, number: int, author: str) -> None:
    first, *others = [question for question in bank.list_questions(project) if question.query_id == "q0"]
    assert first.question_id == QUESTION
    question, saved = replace(first, **fields), None
    match act:
        case "save":
            saved = [question]
        case "paste":
            saved = editing.paste_questions("q1", text)[0]
        case "split":
            saved = editing.split_question(question, text.splitlines())
        case "merge":
            saved = editing.merge_questions([question, *others], text)
        case "draft":
            bank.put_drafts(project, AUTHOR, [question])
        case "override":
            labels.add_override(project, QUESTION, "p1", number, text, author)
        case "judge":
            judging.judge_passage(project, "q0", "p1", number, author, text)
    if saved is not None:
        bank.save_version(project, saved, text if act == "save" else act, AUTHOR)
    for kept in bank.list_questions(project):
        assert math.isfinite(kept.weight)
        asked = READS_KEYS.asked_text(kept)
        written = GraderInput((kept.text or "").strip(), kept.answer_key or "", kept.choices)
        assert asked is None or GraderInput.read(asked, READS_KEYS.reads) == written, "a grader gets another question"


@pytest.mark.parametrize("act", ACTS)
def test_edit_is_refused_completely_or_sound(bench: Bench, act: str) -> None:
    lines = st.lists(WORDS, min_size=1, max_size=3).map("\n".join)

    @fuzzed(8)
    @given(FIELDS, lines, st.sampled_from(NUMBERS), st.just(AUTHOR) | WORDS)
    @example({"weight": math.nan}, "why", 1, AUTHOR)
    @example({"weight": math.inf}, "why", 6, LONE)
    @example({"answer_key": "key\x1fanswer", "text": " padded "}, "a\nb", -1, "a\nb")
    def holds(fields: dict[str, Any], text: str, number: int, author: str) -> None:
        bench.tries(lambda project: _do(project, act, fields, text, number, author))

    holds()
    assert bench.content(bench.rehearsal) == bench.before
    plain = ({"note": "a note"}, "What is it?\nWho is it?", 1, "ann")
    assert bench.tries(lambda project: _do(project, act, *plain))


def test_edited_bank_survives_export_and_import(bench: Bench) -> None:
    @fuzzed(4)
    @given(FIELDS)
    @example({"text": "=cmd|' /C calc'!A0", "answer_key": "a|b", "choices": ("a|b", "\\&"), "note": "'=1"})
    def holds(fields: dict[str, Any]) -> None:
        with bench.copy() as project:
            try:
                _do(project, "save", fields, "why", 1, AUTHOR)
            except WorkbenchError as error:
                refused_well(error)
                return
            sound(project)
            goes_out(project)
            comes_again(project)

    holds()


NAMES = (
    *MEASURES, "EXAM-Cover", "EXAM-Cover@5", "Cover@1", "n-EXAM@5", "EXAM-Cover@3/pool", "ROUGE-1@5", "chrF@5",
    "P(rel=2)@5", "SetF(beta=0.5)", "nDCG(dcg='exp-log2')@5", "AP(rel=0)", "AP(judged_only=True)", "Success@1", "infAP",
    "P@0", "P@-1", "nDCG@100000", "nDCG@100001", "P@99999999999999999999", "n-EXAM@99999999999999999999",
    "EXAM-Cover@99999999999999999999", "SetF(beta=1e999)", "alpha_nDCG(alpha=2)@5", "ERR@20", "RBP(p=1)", "map",
    "recall@10", "__import__('os')@1",
)  # fmt: skip
SPOILT = st.builds(
    lambda name, text, at: name[: len(name) * at // 9] + text + name[len(name) * at // 9 :],
    st.sampled_from(NAMES), texts(), st.integers(0, 9),
)  # fmt: skip
LARGE = st.sampled_from((-(2**63), -1, 0, 1, 2, 5, 6, 20, 2**31, 2**63, 10**30))
RULES = st.sampled_from(("max", "mean", "support:2", "support:0", f"support:{10**30}")) | texts()
POLICIES = st.fixed_dictionaries(
    {},
    optional={"grader": st.just("test grader") | texts(), "bank_version": LARGE, "min_rating": LARGE, "cutoff": LARGE,
              "label": RULES, "min_judgment": LARGE, "weighted": st.booleans()},
)  # fmt: skip


def test_measures_and_settings_are_refused_or_give_numbers(bench: Bench) -> None:
    @fuzzed(60)
    @given(st.sampled_from(NAMES) | SPOILT, POLICIES, st.sampled_from(("exam", "assessors", "official")) | texts())
    def holds(name: str, settings: dict[str, Any], source: str) -> None:
        try:
            measure = parse_measure(name)
            assert str(parse_measure(str(measure))) == str(measure), "the standard name denotes a different measure"
            found = leaderboard(bench.rehearsal, name, source, Policy(**settings))
        except WorkbenchError as error:
            refused_well(error)
        else:
            json.dumps(found.as_dict(), allow_nan=False)

    holds()
