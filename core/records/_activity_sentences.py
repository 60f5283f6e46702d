"""Sentences for the actions of the log, and the screens that show their objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from ..text import first_few, how_many

Place = tuple[str, dict[str, str]]
"""Name of a screen, and the parameters of its URL."""

Detail = Mapping[str, Any]

EXCERPT = 90


def action_sentence(act: str, detail: Detail) -> str:
    """Return an action as a sentence without subject and full stop.

    Args:
        act: name of the action in the log.
        detail: its values in the log, plus "question text", "query text" and "passage text" if they
            are known.
    """
    if act in _SENTENCES:
        text = _SENTENCES[act](detail)
    else:
        phrase = next(
            (phrase for begins, phrase in _PHRASES.items() if act.startswith(begins)), _as_logged
        )
        text = phrase(act, detail)
    return " ".join(text.split())


def place_of(act: str, detail: Detail, ids: Mapping[str, str]) -> Place | None:
    """Return the screen that shows the object of an action; None if no screen does.

    Args:
        ids: the ids of the action's query, passage and question, if the project still has them.
    """
    if "query" in ids and "passage" in ids:
        return "passages", dict(ids)
    if act in ("confirm case", "withdraw case") and "query" in ids:
        whose = {"generator": str(detail["generator"])} if detail.get("generator") else {}
        return "cases", {"at": f"{detail.get('k')}|{detail.get('run')}|{ids['query']}"} | whose
    if act == "freeze target" and detail.get("name"):
        return "changes", {"freeze-to": str(detail["name"])}
    if "query" in ids:
        return "question_bank", {"query": ids["query"]}
    if act == "save bank" and isinstance(detail.get("version"), int):
        version = detail["version"]
        return "changes", {"from-version": str(version - 1), "to-version": str(version)}
    return next(
        ((screen, {}) for begins, screen in _SCREENS.items() if act.startswith(begins)), None
    )


_SCREENS = {
    "import queries": "question_bank",
    "import exam": "exam",
    "import responses-matrix": "students",
    "import lm-eval": "students",
    "import students": "students",
    "add student": "students",
    "add retrieval": "students",
    "draft questions": "question_bank",
    "start draft": "question_bank",
    "start items": "question_bank",
    "start sitting": "students",
    "sitting ": "students",
    "import bank": "question_bank",
    "import passages": "passages",
    "import answers": "answers",
    "import answer-verdicts": "judges",
    "import audit sheet": "audit",
    "import graded": "passages",
    "import labels": "passages",
    "import responses": "passages",
    "import runs": "leaderboard",
    "import leaderboard": "leaderboard",
    "import qrels": "disagreements",
    "import ": "home",
    "set role": "people",
    "set due": "people",
    "remove person": "people",
    "make token": "people",
    "withdraw token": "people",
    "bring back": "home",
    "answers as responses": "leaderboard",
    "make run": "leaderboard",
    "add answer ": "answers",
    "start answers": "answers",
    "answers ": "answers",
    "start comparisons": "answers",
    "comparisons ": "answers",
    "design audit": "audit",
    "draw audit batch": "audit",
    "end audit": "audit",
    "export audit sheet": "audit",
    "restore project": "home",
    "rename project": "home",
    "remove project": "home",
    "restore removed project": "home",
    "set backups": "home",
    "export backup": "home",
    "save bank": "changes",
    "start job": "grading",
    "job ": "grading",
    "save grader": "grading",
    "remove grader": "grading",
    "set pool depth": "grading",
    "hold out judgments": "disagreements",
    "set price": "prompts",
    "save prompt": "prompts",
    "publish ": "export",
    "reproduce ": "export",
    "export ": "export",
}

_IMPORTED = {
    "bank": "the question bank",
    "exam": "an exam",
    "graded": "graded passages",
    "qrels": "judgments",
    "leaderboard": "a leaderboard",
    "responses-matrix": "answers to an exam",
    "lm-eval": "answers to an exam",
    "students": "examinee components",
    "answers": "generated answers",
    "answer-verdicts": "manual answer checks",
}
_EXPORTED = {
    "bank": "question bank",
    "graded": "graded file",
    "project": "project",
    "responses-matrix": "examinees' answers",
}


def _import_phrase(act: str, detail: Detail) -> str:
    files = [PurePath(str(file)).name for file in detail.get("files") or []]
    kind = act.removeprefix("import ")
    kind_phrase = _IMPORTED.get(kind, kind)
    counts = ", ".join(
        _count_phrase(value, name) for name, value in (detail.get("counts") or {}).items() if value
    )
    phrase = (
        f"imported {kind_phrase}"
        + (f" from {first_few(files)}" if files else "")
        + (f": {counts}" if counts else "")
    )
    return phrase + (
        f"; replaced {_list_phrase(detail, 'replaced')}" if detail.get("replaced") else ""
    )


def _list_phrase(detail: Detail, name: str) -> str:
    return first_few(detail.get(name) or [], "; ")


def _job_phrase(act: str, detail: Detail) -> str:
    kind, _, how = act.partition(" ")
    phrases = {
        "job": (
            f"grading job {detail.get('job', '')}",
            f"{_count_phrase(detail.get('graded', 0), 'pairs')} graded",
        ),
        "sitting": (
            f"job {detail.get('sitting', '')} of examinee {detail.get('student', '?')}",
            f"{_count_phrase(detail.get('answered', 0), 'items')} answered",
        ),
    }
    others = (
        f"job {detail.get('job', '')} with {detail.get('by', 'a model')}",
        _count_phrase(detail.get("count", 0), kind),
    )
    job, done = phrases.get(kind, others)
    return f"ran {job} ({how}): {done}, {_count_phrase(detail.get('failed', 0), 'failed')}"


def _of_case(detail: Detail) -> str:
    return (
        f"for {_query_phrase(detail)} (run {detail.get('run', '?')}, cutoff {detail.get('k', '?')})"
    )


def _judgment_phrase(detail: Detail) -> str:
    phrase = (
        f"judged {_passage_phrase(detail)} for {_query_phrase(detail)} as"
        f" {detail.get('value', '?')}"
    )
    seeing = {None: "", True: " (blind)", False: " (after seeing labels)"}[detail.get("blind")]
    return phrase + seeing + _format_if_given(detail, "note", ": {}")


_SETTLED = {
    "override": "with an override",
    "comment": "with a comment",
    "dispute": "by disputing the judgment",
    "edit": "by rewording the question",
}


def _settling_phrase(verb: str, detail: Detail) -> str:
    how = (
        ""
        if verb == "reopened"
        else " " + _SETTLED.get(str(detail.get("by")), f"by {detail.get('by', '')}")
    )
    pair = f"{_passage_phrase(detail)} for {_query_phrase(detail)}"
    return f"{verb} the disagreement about {pair}{how}{_format_if_given(detail, 'reason', ': {}')}"


def _publication_phrase(detail: Detail) -> str:
    values = f"{detail['values']} " if "values" in detail else ""
    lines = f", {_count_phrase(detail['lines'], 'lines')}" if "lines" in detail else ""
    return f"published {values}qrels{lines}{_format_if_given(detail, 'note', ': {}')}"


def _exported_grades(detail: Detail) -> str:
    return (
        f"exported {_count_phrase(detail.get('grades', 0), 'grades')} as "
        f"Parquet{_format_if_given(detail, 'file', ' to {}')}"
    )


_SENTENCES: dict[str, Callable[[Detail], str]] = {
    "save bank": lambda d: (
        f"saved bank version {d.get('version', '?')}{_format_if_given(d, 'note', ': {}')}"
    ),
    "start job": lambda d: (
        f"started grading job {d.get('job', '')} with {d.get('grader', 'a grader')}:"
        f" {_count_phrase(d.get('pairs', 0), 'pairs')}"
    ),
    "override": lambda d: (
        f"overrode the rating of {_question_phrase(d)} for {_passage_phrase(d)} with"
        f" {d.get('rating', '?')}{_format_if_given(d, 'reason', ': {}')}"
    ),
    "set support": lambda d: (
        f"rated the support of {d.get('cited')} for a sentence of {_passage_phrase(d)}:"
        f" {d.get('value')}"
    ),
    "remove support": lambda d: (
        f"removed a value for the support of {d.get('cited')} for a sentence of"
        f" {_passage_phrase(d)}"
    ),
    "withdraw override": lambda d: (
        f"withdrew an override of {_question_phrase(d)} for {_passage_phrase(d)}"
    ),
    "judge": _judgment_phrase,
    "withdraw judgment": lambda d: (
        f"withdrew the judgment of {_passage_phrase(d)} for {_query_phrase(d)}"
    ),
    "settle disagreement": lambda d: _settling_phrase("resolved", d),
    "reopen disagreement": lambda d: _settling_phrase("reopened", d),
    "draft items": lambda d: (
        f"generated items for {_query_phrase(d)} with {d.get('model', 'a model')}:"
        f" {_count_phrase(d.get('proposals', 0), 'proposals')} from"
        f" {_count_phrase(d.get('asked', 0), 'passages')}"
    ),
    "draft questions": lambda d: (
        f"drafted {d.get('drafts', 'question')}s{_format_if_given(d, 'query text', ' for {}')} with"
        f" {d.get('model', 'a model')}: {_count_phrase(d.get('proposals', 0), 'proposals')} from"
        f" {_count_phrase(d.get('asked', 0), 'requests')}"
    ),
    "start draft": lambda d: (
        f"started job {d.get('job', '')} to draft {d.get('drafts', 'question')}s with"
        f" {d.get('model', 'a model')}: {_count_phrase(d.get('count', 0), 'requests')}"
    ),
    "start items": lambda d: (
        f"started job {d.get('job', '')} to generate items with {d.get('model', 'a model')}:"
        f" {_count_phrase(d.get('count', 0), 'passages')}"
    ),
    "set item": lambda d: (
        f"set {_list_phrase(d, 'what')} of {_question_phrase(d)}"
        + _format_if_given(d, "to", " to {}")
    ),
    "set bloom keywords": lambda d: "set the keywords of Bloom's levels",
    "save grader": lambda d: f"saved grader {d.get('name', '')}",
    "remove grader": lambda d: f"removed the settings of grader {d.get('name', '')}",
    "save prompt": lambda d: f"saved prompt {d.get('name', '')}",
    "set price": lambda d: f"set the price of {d.get('model', 'a model')}",
    "hold out judgments": lambda d: (
        f"held out {d.get('share', 0):.0%} of the judgments of each query"
        + _format_if_given(d, "seed", " (seed {})")
    ),
    "set pool depth": lambda d: f"set the pool depth to {d.get('depth', '?')}",
    "bring back": lambda d: (
        f"restored {_list_phrase(d, 'restored')} (replaced by action {d.get('undone', '?')})"
    ),
    "add student": lambda d: f"added examinee {d.get('name', '')}",
    "add retrieval": lambda d: (
        f"added retrieval {d.get('name', '')} for {_count_phrase(d.get('items', 0), 'items')}"
        f"{_format_if_given(d, 'by', ', made by {}')}"
    ),
    "start sitting": lambda d: (
        f"started job {d.get('sitting', '')} of examinee {d.get('student', '?')}:"
        f" {_count_phrase(d.get('items', 0), 'items')}"
    ),
    "add answer generator": lambda d: f"added answer generator {d.get('name', '')}",
    "add answer judge": lambda d: f"added answer check {d.get('name', '')}",
    "start answers": lambda d: (
        f"started job {d.get('job', '')} to generate answers with {d.get('by', 'a model')}:"
        f" {_count_phrase(d.get('count', 0), 'answers')}"
    ),
    "start comparisons": lambda d: (
        f"started job {d.get('job', '')} to check answers with {d.get('by', 'a model')}:"
        f" {_count_phrase(d.get('count', 0), 'comparisons')}"
    ),
    "freeze target": lambda d: (
        f"took snapshot {d.get('name', '')} of {d.get('url', 'a live target')}:"
        f" {_count_phrase(d.get('queries', 0), 'queries')}"
    ),
    "drop freeze": lambda d: (
        f"discarded unfinished snapshot {d.get('name', '')} and its responses to"
        f" {_count_phrase(d.get('queries', 0), 'queries')}"
    ),
    "make run": lambda d: f"created run {d.get('name', '')}{_format_if_given(d, 'by', ' with {}')}",
    "answers as responses": lambda d: (
        f"created {_count_phrase(d.get('responses', 0), 'responses')} of {d.get('name', '')} from"
        f" the answers of {d.get('generator', 'a model')}"
    ),
    "confirm case": lambda d: (
        f"confirmed case {d.get('case', '?')} {_of_case(d)}{_format_if_given(d, 'note', ': {}')}"
    ),
    "withdraw case": lambda d: f"withdrew a case {_of_case(d)}",
    "add gold answer": lambda d: (
        f"added the correct answer {_quote_excerpt(d.get('answer'), '')} to {_query_phrase(d)}"
    ),
    "withdraw gold answer": lambda d: (
        f"removed the correct answer {_quote_excerpt(d.get('answer'), '')} from {_query_phrase(d)}"
    ),
    "design audit": lambda d: (
        f"planned audit {d.get('name', '')} of {_count_phrase(d.get('runs', 0), 'systems')}"
        f"{_format_if_given(d, 'measure', ' by {}')}{_format_if_given(d, 'goal', ': {}')}"
    ),
    "draw audit batch": lambda d: (
        f"drew {_count_phrase(d.get('passages', 0), 'passages')} for batch {d.get('batch', '?')}"
        f"{_format_if_given(d, 'audit', ' of audit {}')}"
    ),
    "end audit batch": lambda d: (
        f"ended batch {d.get('batch', '?')} of audit {d.get('audit', '')} with"
        f" {_count_phrase(d.get('unjudged', 0), 'passages')} unjudged"
    ),
    "end audit": lambda d: f"ended audit {d.get('audit', '')}",
    "plan cascade": lambda d: (
        f"planned cascade {d.get('name', '')} with graders {d.get('cheap', '')} and"
        f" {d.get('expensive', '')}"
    ),
    "cannot say": lambda d: (
        f"could not judge {_passage_phrase(d)} for"
        f" {_query_phrase(d)}{_format_if_given(d, 'note', ': {}')}"
    ),
    "skip passage": lambda d: f"skipped {_passage_phrase(d)} for {_query_phrase(d)}",
    "look at label": lambda d: (
        f"viewed the grader's label of {_passage_phrase(d)} for {_query_phrase(d)}"
    ),
    "export audit sheet": lambda d: (
        f"exported {_count_phrase(d.get('passages', 0), 'passages')} of audit {d.get('audit', '')}"
        " for judging elsewhere"
    ),
    "import audit sheet": lambda d: (
        f"imported {_count_phrase(d.get('verdicts', 0), 'judgments')}"
        f"{_format_if_given(d, 'audit', ' for audit {}')}{_format_if_given(d, 'file', ' from {}')}"
    ),
    "state families": lambda d: (
        f"set the model families of {_made_with(d)}:"
        f" {', '.join(d.get('families') or []) or 'no model'}"
    ),
    "set role": lambda d: (
        f"gave {d.get('person', 'a person')} the role {d.get('role', '?')}"
        + (f" for {how_many(d['queries'], 'queries')}" if isinstance(d.get("queries"), int) else "")
    ),
    "set guidelines": lambda d: (
        "edited the guidelines of " + (_query_phrase(d) if d.get("query") else "the project")
    ),
    "finish query": lambda d: f"marked {_query_phrase(d)} as done",
    "reopen query": lambda d: f"marked {_query_phrase(d)} as not done",
    "assign double": lambda d: (
        "assigned "
        + (
            f"{how_many(d['passages'], 'passages')} of "
            if isinstance(d.get("passages"), int)
            else ""
        )
        + (
            f"{_query_phrase(d)} to"
            f" {_count_phrase(d.get('wanted', 'several'), 'assessors')} for blind judging"
        )
        + (
            f": {', '.join(map(str, d['people']))}"
            if isinstance(d.get("people"), list) and d["people"]
            else ""
        )
    ),
    "claim double": lambda d: f"joined the double assignment of {_query_phrase(d)}",
    "decline double": lambda d: (
        "declined the double assignment of"
        f" {_query_phrase(d)}{_format_if_given(d, 'reason', ': {}')}"
    ),
    "release double": lambda d: (
        f"removed {d.get('person', 'an assessor')} from the double assignment of {_query_phrase(d)}"
    ),
    "end double": lambda d: f"ended the double assignment of {_query_phrase(d)}",
    "adjudicate": lambda d: (
        f"adjudicated {_contested_phrase(d)} as"
        f" {d.get('value', '?')}{_format_if_given(d, 'reason', ': {}')}"
    ),
    "undo adjudication": lambda d: f"withdrew the decision on {_contested_phrase(d)}",
    "set due": lambda d: (
        f"{'set' if d.get('due') else 'removed'} the due date of "
        + (
            how_many(d["queries"], "queries")
            if isinstance(d.get("queries"), int)
            else _query_phrase(d)
        )
        + f"{_format_if_given(d, 'due', ' to {}')}{_format_if_given(d, 'person', ' for {}')}"
    ),
    "remove person": lambda d: f"removed the role of {d.get('person', 'a person')}",
    "make token": lambda d: f"created token '{d.get('name', '?')}' with role {d.get('role', '?')}",
    "withdraw token": lambda d: f"revoked token '{d.get('name', '?')}'",
    "export backup": lambda d: f"made a backup{_format_if_given(d, 'file', ': {}')}",
    "restore project": lambda d: (
        "restored the project from backup "
        f"{d.get('file', '')}{_format_if_given(d, 'kept', '; kept the replaced file as {}')}"
    ),
    "rename project": lambda d: (
        f"renamed the project from {d.get('name', '?')} to {d.get('to', '?')}"
    ),
    "remove project": lambda d: f"removed the project {d.get('name', '?')}",
    "restore removed project": lambda d: f"restored the removed project {d.get('name', '?')}",
    "set backups": lambda d: (
        f"scheduled a backup every {how_many(d['hours'], 'hours')} while the app runs, keeping"
        f" {d.get('keep', '?')}"
        if d.get("hours")
        else "turned off scheduled backups"
    ),
    "notice changed model": lambda d: (
        f"noticed that the model behind {d.get('grader', 'a grader')} changed"
    ),
    "probe grader": lambda d: f"tested the robustness of {d.get('grader', 'a grader')}",
    "make card": lambda d: f"made the card of {d.get('grader', 'a grader')}",
    "test rewording": lambda d: (
        f"tested a rewording of {_question_phrase(d)}:"
        f" {'accepted' if d.get('accepted') else 'not accepted'}"
    ),
    "set assessors first": lambda d: f"turned assessors first {'on' if d.get('on') else 'off'}",
    "seal questions": lambda d: f"sealed {_count_phrase(d.get('questions', 'some'), 'questions')}",
    "open sealed questions": lambda d: (
        f"opened {_count_phrase(d.get('questions', 'the'), 'questions')}"
    ),
    "publish qrels": _publication_phrase,
    "reproduce qrels": lambda d: f"reproduced the qrels of publication {d.get('publication', '?')}",
    # Name of the action before "export grades".
    "export shards": _exported_grades,
    "export grades": _exported_grades,
    "export bundle": lambda d: (
        f"exported a bundle{_format_if_given(d, 'publication', ' of publication {}')}"
    ),
}


def _export_phrase(act: str, detail: Detail) -> str:
    kind = act.removeprefix("export ")
    return f"exported the {_EXPORTED.get(kind, kind)}" + _format_if_given(detail, "file", " as {}")


def _as_logged(act: str, detail: Detail) -> str:
    """Return an action without an entry with the names and values of the log."""
    return f"{act}: {_other_details(detail)}" if _other_details(detail) else act


_PHRASES: dict[str, Callable[[str, Detail], str]] = {
    "import ": _import_phrase,
    "job ": _job_phrase,
    "sitting ": _job_phrase,
    "answers ": _job_phrase,
    "comparisons ": _job_phrase,
    "export ": _export_phrase,
}
"""Phrases by the beginning of the action's name, for actions without a phrase of their own."""


def _made_with(detail: Detail) -> str:
    if detail.get("part") == "questions":
        return "the questions"
    return f"{detail.get('part', '')} {detail.get('name', '')}"


def _question_phrase(detail: Detail) -> str:
    return "question " + _quote_excerpt(
        detail.get("question text") or detail.get("question"), "(unknown)"
    )


def _passage_phrase(detail: Detail) -> str:
    return "passage " + _quote_excerpt(
        detail.get("passage text") or detail.get("passage"), "(unknown)"
    )


def _query_phrase(detail: Detail) -> str:
    return "query " + _quote_excerpt(detail.get("query text") or detail.get("query"), "(unknown)")


def _contested_phrase(detail: Detail) -> str:
    return (f"{_question_phrase(detail)} for " if detail.get("question") else "") + _passage_phrase(
        detail
    )


def _quote_excerpt(text: Any, otherwise: str) -> str:
    words = " ".join(str(text).split()) if text else ""
    if len(words) > EXCERPT:
        words = words[:EXCERPT].rsplit(" ", 1)[0] + "…"
    return f"“{words}”" if words else otherwise


def _format_if_given(detail: Detail, name: str, form: str) -> str:
    value = detail.get(name)
    return form.format(value) if value not in (None, "") else ""


_COUNTED = {
    "questions get their words": "added question texts",
    "students": "examinees",
    "new students": "new examinees",
    "verdicts": "answer checks",
    "new verdicts": "new answer checks",
}
"""The words in sentences for numbers whose name in the log differs."""


def _count_phrase(value: Any, name: str) -> str:
    if name == "bank version":
        return f"bank version {value}"
    things = _COUNTED.get(name, name)
    return how_many(value, things) if isinstance(value, int) else f"{value} {things}"


def _other_details(detail: Detail) -> str:
    hidden = {"question text", "query text", "passage text"}
    phrases = []
    for name, value in detail.items():
        shown = detail.get(f"{name} text", value)
        if name in hidden or shown in (None, "", [], {}):
            continue
        text = ", ".join(map(str, shown)) if isinstance(shown, list) else str(shown)
        phrases.append(
            f"{re.sub('[_-]', ' ', name)}"
            f" {_quote_excerpt(text, '') if f'{name} text' in detail else text}"
        )
    return ", ".join(phrases)
