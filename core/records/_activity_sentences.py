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


def sentence(act: str, detail: Detail) -> str:
    """Return an action as a sentence without subject and full stop.

    Args:
        act: name of the action in the log.
        detail: its values in the log, plus "question text", "query text" and "passage text" if they are known.
    """
    if act in _SENTENCES:
        said = _SENTENCES[act](detail)
    else:
        phrase = next((phrase for begins, phrase in _PHRASES.items() if act.startswith(begins)), _as_logged)
        said = phrase(act, detail)
    return " ".join(said.split())


def place_of(act: str, detail: Detail, found: Mapping[str, str]) -> Place | None:
    """Return the screen that shows the object of an action; None if no screen does.

    Args:
        found: the ids of the action's query, passage and question, if the project still has them.
    """
    if "query" in found and "passage" in found:
        return "passages", dict(found)
    if act in ("confirm case", "withdraw case") and "query" in found:
        whose = {"generator": str(detail["generator"])} if detail.get("generator") else {}
        return "cases", {"at": f"{detail.get('k')}|{detail.get('run')}|{found['query']}"} | whose
    if act == "freeze target" and detail.get("name"):
        return "changes", {"freeze-to": str(detail["name"])}
    if "query" in found:
        return "question_bank", {"query": found["query"]}
    if act == "save bank" and isinstance(detail.get("version"), int):
        version = detail["version"]
        return "changes", {"from-version": str(version - 1), "to-version": str(version)}
    return next(((screen, {}) for begins, screen in _SCREENS.items() if act.startswith(begins)), None)


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


def _imported(act: str, detail: Detail) -> str:
    files = [PurePath(str(file)).name for file in detail.get("files") or []]
    kind = act.removeprefix("import ")
    what = _IMPORTED.get(kind, kind)
    counts = ", ".join(_counted(value, name) for name, value in (detail.get("counts") or {}).items() if value)
    said = f"imported {what}" + (f" from {first_few(files)}" if files else "") + (f": {counts}" if counts else "")
    return said + (f"; replaced {_listed(detail, 'replaced')}" if detail.get("replaced") else "")


def _listed(detail: Detail, name: str) -> str:
    return first_few(detail.get(name) or [], "; ")


def _ended(act: str, detail: Detail) -> str:
    counts = f"{_counted(detail.get('graded', 0), 'pairs')} graded, {_counted(detail.get('failed', 0), 'failed')}"
    return f"ran grading job {detail.get('job', '')} ({act.removeprefix('job ')}): {counts}"


def _sat(act: str, detail: Detail) -> str:
    counts = f"{_counted(detail.get('answered', 0), 'items')} answered, {_counted(detail.get('failed', 0), 'failed')}"
    return (
        f"ran job {detail.get('sitting', '')} of examinee {detail.get('student', '?')}"
        f" ({act.removeprefix('sitting ')}): {counts}"
    )


def _answered(act: str, detail: Detail) -> str:
    things, _, how = act.partition(" ")
    counts = f"{_counted(detail.get('count', 0), things)}, {_counted(detail.get('failed', 0), 'failed')}"
    return f"ran job {detail.get('job', '')} with {detail.get('by', 'a model')} ({how}): {counts}"


def _of_case(detail: Detail) -> str:
    return f"for {_query(detail)} (run {detail.get('run', '?')}, cutoff {detail.get('k', '?')})"


def _overridden(detail: Detail) -> str:
    return (
        f"overrode the rating of {_question(detail)} for {_passage(detail)} with {detail.get('rating', '?')}"
        f"{_named(detail, 'reason', ': {}')}"
    )


def _judged(detail: Detail) -> str:
    said = f"judged {_passage(detail)} for {_query(detail)} as {detail.get('value', '?')}"
    seeing = {None: "", True: " (blind)", False: " (after seeing labels)"}[detail.get("blind")]
    return said + seeing + _named(detail, "note", ": {}")


_SETTLED = {
    "override": "with an override",
    "comment": "with a comment",
    "dispute": "by disputing the judgment",
    "edit": "by rewording the question",
}


def _settled(verb: str) -> Callable[[Detail], str]:
    def said(detail: Detail) -> str:
        how = "" if verb == "reopened" else " " + _SETTLED.get(str(detail.get("by")), f"by {detail.get('by', '')}")
        pair = f"{_passage(detail)} for {_query(detail)}"
        return f"{verb} the disagreement about {pair}{how}{_named(detail, 'reason', ': {}')}"

    return said


def _published(detail: Detail) -> str:
    values = f"{detail['values']} " if "values" in detail else ""
    lines = f", {_counted(detail['lines'], 'lines')}" if "lines" in detail else ""
    return f"published {values}qrels{lines}{_named(detail, 'note', ': {}')}"


def _exported_grades(detail: Detail) -> str:
    return f"exported {_counted(detail.get('grades', 0), 'grades')} as Parquet{_named(detail, 'file', ' to {}')}"


_SENTENCES: dict[str, Callable[[Detail], str]] = {
    "save bank": lambda d: f"saved bank version {d.get('version', '?')}{_named(d, 'note', ': {}')}",
    "start job": lambda d: (
        f"started grading job {d.get('job', '')} with {d.get('grader', 'a grader')}:"
        f" {_counted(d.get('pairs', 0), 'pairs')}"
    ),
    "override": _overridden,
    "set support": lambda d: f"rated the support of {d.get('cited')} for a sentence of {_passage(d)}: {d.get('value')}",
    "remove support": lambda d: f"removed a value for the support of {d.get('cited')} for a sentence of {_passage(d)}",
    "withdraw override": lambda d: f"withdrew an override of {_question(d)} for {_passage(d)}",
    "judge": _judged,
    "withdraw judgment": lambda d: f"withdrew the judgment of {_passage(d)} for {_query(d)}",
    "settle disagreement": _settled("resolved"),
    "reopen disagreement": _settled("reopened"),
    "draft items": lambda d: (
        f"generated items for {_query(d)} with {d.get('model', 'a model')}:"
        f" {_counted(d.get('proposals', 0), 'proposals')} from {_counted(d.get('asked', 0), 'passages')}"
    ),
    "draft questions": lambda d: (
        f"drafted {d.get('drafts', 'question')}s{_named(d, 'query text', ' for {}')} with {d.get('model', 'a model')}:"
        f" {_counted(d.get('proposals', 0), 'proposals')} from {_counted(d.get('asked', 0), 'requests')}"
    ),
    "start draft": lambda d: (
        f"started job {d.get('job', '')} to draft {d.get('drafts', 'question')}s with {d.get('model', 'a model')}:"
        f" {_counted(d.get('count', 0), 'requests')}"
    ),
    "start items": lambda d: (
        f"started job {d.get('job', '')} to generate items with {d.get('model', 'a model')}:"
        f" {_counted(d.get('count', 0), 'passages')}"
    ),
    "set item": lambda d: f"set {_listed(d, 'what')} of {_question(d)}" + _named(d, "to", " to {}"),
    "set bloom keywords": lambda d: "set the keywords of Bloom's levels",
    "save grader": lambda d: f"saved grader {d.get('name', '')}",
    "remove grader": lambda d: f"removed the settings of grader {d.get('name', '')}",
    "save prompt": lambda d: f"saved prompt {d.get('name', '')}",
    "set price": lambda d: f"set the price of {d.get('model', 'a model')}",
    "hold out judgments": lambda d: (
        f"held out {d.get('share', 0):.0%} of the judgments of each query" + _named(d, "seed", " (seed {})")
    ),
    "set pool depth": lambda d: f"set the pool depth to {d.get('depth', '?')}",
    "bring back": lambda d: f"restored {_listed(d, 'restored')} (replaced by action {d.get('undone', '?')})",
    "add student": lambda d: f"added examinee {d.get('name', '')}",
    "add retrieval": lambda d: (
        f"added retrieval {d.get('name', '')} for {_counted(d.get('items', 0), 'items')}"
        f"{_named(d, 'by', ', made by {}')}"
    ),
    "start sitting": lambda d: (
        f"started job {d.get('sitting', '')} of examinee {d.get('student', '?')}:"
        f" {_counted(d.get('items', 0), 'items')}"
    ),
    "add answer generator": lambda d: f"added answer generator {d.get('name', '')}",
    "add answer judge": lambda d: f"added answer check {d.get('name', '')}",
    "start answers": lambda d: (
        f"started job {d.get('job', '')} to generate answers with {d.get('by', 'a model')}:"
        f" {_counted(d.get('count', 0), 'answers')}"
    ),
    "start comparisons": lambda d: (
        f"started job {d.get('job', '')} to check answers with {d.get('by', 'a model')}:"
        f" {_counted(d.get('count', 0), 'comparisons')}"
    ),
    "freeze target": lambda d: (
        f"took snapshot {d.get('name', '')} of {d.get('url', 'a live target')}:"
        f" {_counted(d.get('queries', 0), 'queries')}"
    ),
    "drop freeze": lambda d: (
        f"discarded unfinished snapshot {d.get('name', '')} and its responses to"
        f" {_counted(d.get('queries', 0), 'queries')}"
    ),
    "make run": lambda d: f"created run {d.get('name', '')}{_named(d, 'by', ' with {}')}",
    "answers as responses": lambda d: (
        f"created {_counted(d.get('responses', 0), 'responses')} of {d.get('name', '')} from the answers of"
        f" {d.get('generator', 'a model')}"
    ),
    "confirm case": lambda d: f"confirmed case {d.get('case', '?')} {_of_case(d)}{_named(d, 'note', ': {}')}",
    "withdraw case": lambda d: f"withdrew a case {_of_case(d)}",
    "add gold answer": lambda d: f"added the correct answer {_quoted(d.get('answer'), '')} to {_query(d)}",
    "withdraw gold answer": lambda d: f"removed the correct answer {_quoted(d.get('answer'), '')} from {_query(d)}",
    "design audit": lambda d: (
        f"planned audit {d.get('name', '')} of {_counted(d.get('runs', 0), 'systems')}"
        f"{_named(d, 'measure', ' by {}')}{_named(d, 'goal', ': {}')}"
    ),
    "draw audit batch": lambda d: (
        f"drew {_counted(d.get('passages', 0), 'passages')} for batch {d.get('batch', '?')}"
        f"{_named(d, 'audit', ' of audit {}')}"
    ),
    "end audit batch": lambda d: (
        f"ended batch {d.get('batch', '?')} of audit {d.get('audit', '')} with"
        f" {_counted(d.get('unjudged', 0), 'passages')} unjudged"
    ),
    "end audit": lambda d: f"ended audit {d.get('audit', '')}",
    "plan cascade": lambda d: (
        f"planned cascade {d.get('name', '')} with graders {d.get('cheap', '')} and {d.get('expensive', '')}"
    ),
    "cannot say": lambda d: f"could not judge {_passage(d)} for {_query(d)}{_named(d, 'note', ': {}')}",
    "skip passage": lambda d: f"skipped {_passage(d)} for {_query(d)}",
    "look at label": lambda d: f"viewed the grader's label of {_passage(d)} for {_query(d)}",
    "export audit sheet": lambda d: (
        f"exported {_counted(d.get('passages', 0), 'passages')} of audit {d.get('audit', '')} for judging elsewhere"
    ),
    "import audit sheet": lambda d: (
        f"imported {_counted(d.get('verdicts', 0), 'judgments')}{_named(d, 'audit', ' for audit {}')}"
        f"{_named(d, 'file', ' from {}')}"
    ),
    "state families": lambda d: (
        f"set the model families of {_made_with(d)}: {', '.join(d.get('families') or []) or 'no model'}"
    ),
    "set role": lambda d: (
        f"gave {d.get('person', 'a person')} the role {d.get('role', '?')}"
        + (f" for {how_many(d['queries'], 'queries')}" if isinstance(d.get("queries"), int) else "")
    ),
    "set guidelines": lambda d: "edited the guidelines of " + (_query(d) if d.get("query") else "the project"),
    "finish query": lambda d: f"marked {_query(d)} as done",
    "reopen query": lambda d: f"marked {_query(d)} as not done",
    "assign double": lambda d: (
        "assigned "
        + (f"{how_many(d['passages'], 'passages')} of " if isinstance(d.get("passages"), int) else "")
        + f"{_query(d)} to {_counted(d.get('wanted', 'several'), 'assessors')} for blind judging"
        + (f": {', '.join(map(str, d['people']))}" if isinstance(d.get("people"), list) and d["people"] else "")
    ),
    "claim double": lambda d: f"joined the double assignment of {_query(d)}",
    "decline double": lambda d: f"declined the double assignment of {_query(d)}{_named(d, 'reason', ': {}')}",
    "release double": lambda d: f"removed {d.get('person', 'an assessor')} from the double assignment of {_query(d)}",
    "end double": lambda d: f"ended the double assignment of {_query(d)}",
    "adjudicate": lambda d: f"adjudicated {_contested(d)} as {d.get('value', '?')}{_named(d, 'reason', ': {}')}",
    "undo adjudication": lambda d: f"withdrew the decision on {_contested(d)}",
    "set due": lambda d: (
        f"{'set' if d.get('due') else 'removed'} the due date of"
        f" {how_many(d['queries'], 'queries') if isinstance(d.get('queries'), int) else _query(d)}"
        f"{_named(d, 'due', ' to {}')}{_named(d, 'person', ' for {}')}"
    ),
    "remove person": lambda d: f"removed the role of {d.get('person', 'a person')}",
    "make token": lambda d: f"created token '{d.get('name', '?')}' with role {d.get('role', '?')}",
    "withdraw token": lambda d: f"revoked token '{d.get('name', '?')}'",
    "export backup": lambda d: f"made a backup{_named(d, 'file', ': {}')}",
    "restore project": lambda d: (
        f"restored the project from backup {d.get('file', '')}{_named(d, 'kept', '; kept the replaced file as {}')}"
    ),
    "rename project": lambda d: f"renamed the project from {d.get('name', '?')} to {d.get('to', '?')}",
    "remove project": lambda d: f"removed the project {d.get('name', '?')}",
    "restore removed project": lambda d: f"restored the removed project {d.get('name', '?')}",
    "set backups": lambda d: (
        f"scheduled a backup every {how_many(d['hours'], 'hours')} while the app runs, keeping {d.get('keep', '?')}"
        if d.get("hours")
        else "turned off scheduled backups"
    ),
    "notice changed model": lambda d: f"noticed that the model behind {d.get('grader', 'a grader')} changed",
    "probe grader": lambda d: f"tested the robustness of {d.get('grader', 'a grader')}",
    "make card": lambda d: f"made the card of {d.get('grader', 'a grader')}",
    "test rewording": lambda d: (
        f"tested a rewording of {_question(d)}: {'accepted' if d.get('accepted') else 'not accepted'}"
    ),
    "set assessors first": lambda d: f"turned assessors first {'on' if d.get('on') else 'off'}",
    "seal questions": lambda d: f"sealed {_counted(d.get('questions', 'some'), 'questions')}",
    "open sealed questions": lambda d: f"opened {_counted(d.get('questions', 'the'), 'questions')}",
    "publish qrels": _published,
    "reproduce qrels": lambda d: f"reproduced the qrels of publication {d.get('publication', '?')}",
    # Name of the action before "export grades".
    "export shards": _exported_grades,
    "export grades": _exported_grades,
    "export bundle": lambda d: f"exported a bundle{_named(d, 'publication', ' of publication {}')}",
}


def _exported(act: str, detail: Detail) -> str:
    kind = act.removeprefix("export ")
    return f"exported the {_EXPORTED.get(kind, kind)}" + _named(detail, "file", " as {}")


def _as_logged(act: str, detail: Detail) -> str:
    """Return an action without an entry with the names and values of the log."""
    return f"{act}: {_rest(detail)}" if _rest(detail) else act


_PHRASES: dict[str, Callable[[str, Detail], str]] = {
    "import ": _imported,
    "job ": _ended,
    "sitting ": _sat,
    "answers ": _answered,
    "comparisons ": _answered,
    "export ": _exported,
}
"""Phrases by the beginning of the action's name, for actions without a phrase of their own."""


def _made_with(detail: Detail) -> str:
    if detail.get("part") == "questions":
        return "the questions"
    return f"{detail.get('part', '')} {detail.get('name', '')}"


def _question(detail: Detail) -> str:
    return "question " + _quoted(detail.get("question text") or detail.get("question"), "(unknown)")


def _passage(detail: Detail) -> str:
    return "passage " + _quoted(detail.get("passage text") or detail.get("passage"), "(unknown)")


def _query(detail: Detail) -> str:
    return "query " + _quoted(detail.get("query text") or detail.get("query"), "(unknown)")


def _contested(detail: Detail) -> str:
    return (f"{_question(detail)} for " if detail.get("question") else "") + _passage(detail)


def _quoted(text: Any, otherwise: str) -> str:
    words = " ".join(str(text).split()) if text else ""
    if len(words) > EXCERPT:
        words = words[:EXCERPT].rsplit(" ", 1)[0] + "…"
    return f"“{words}”" if words else otherwise


def _named(detail: Detail, name: str, form: str) -> str:
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


def _counted(value: Any, name: str) -> str:
    if name == "bank version":
        return f"bank version {value}"
    things = _COUNTED.get(name, name)
    return how_many(value, things) if isinstance(value, int) else f"{value} {things}"


def _rest(detail: Detail) -> str:
    hidden = {"question text", "query text", "passage text"}
    said = []
    for name, value in detail.items():
        shown = detail.get(f"{name} text", value)
        if name in hidden or shown in (None, "", [], {}):
            continue
        text = ", ".join(map(str, shown)) if isinstance(shown, list) else str(shown)
        said.append(f"{re.sub('[_-]', ' ', name)} {_quoted(text, '') if f'{name} text' in detail else text}")
    return ", ".join(said)
