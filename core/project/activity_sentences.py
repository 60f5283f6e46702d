"""What an act of the log says to people, and the screen on which its object can be seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from core.text import first_few, how_many

Place = tuple[str, dict[str, str]]
"""Name of a screen, and what its URL says."""

Detail = Mapping[str, Any]

EXCERPT = 90


def sentence(act: str, detail: Detail) -> str:
    """An act as a sentence without subject and full stop.

    Args:
        act: as the log names it.
        detail: what the log keeps of it, with "question text", "query text" and "passage text" where they are known.
    """
    if act in _SENTENCES:
        said = _SENTENCES[act](detail)
    elif act.startswith("import "):
        said = _imported(act, detail)
    elif act.startswith("job "):
        said = _ended(act, detail)
    elif act.startswith("sitting "):
        said = _sat(act, detail)
    elif act.startswith(("answers ", "comparisons ")):
        said = _answered(act, detail)
    elif act.startswith("export "):
        said = f"exported the {_EXPORTED.get(act[7:], act[7:])}" + _named(detail, "file", " as {}")
    else:
        # What the log holds beyond this list is said in its own words.
        said = f"{act}: {_rest(detail)}" if _rest(detail) else act
    return " ".join(said.split())


def place_of(act: str, detail: Detail, found: Mapping[str, str]) -> Place | None:
    """Where the object of an act can be seen.

    Args:
        found: the ids of the query, passage and question that it is about, as far as it is about any that are there.
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
    for begins, screen in _SCREENS.items():
        if act.startswith(begins):
            return screen, {}
    return None


_SCREENS = {
    "import queries": "question_bank",
    "import exam": "exam",
    "import responses-matrix": "students",
    "import lm-eval": "students",
    "import students": "students",
    "add student": "students",
    "add retrieval": "students",
    "start sitting": "students",
    "sitting ": "students",
    "import bank": "question_bank",
    "import passages": "passages",
    "import answers": "answers",
    "import answer-verdicts": "judges",
    "import audit sheet": "audit",
    "import graded": "passages",
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
    "set backups": "home",
    "export backup": "home",
    "save bank": "changes",
    "start job": "grading",
    "job ": "grading",
    "save grader": "grading",
    "remove grader": "grading",
    "set pool depth": "grading",
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
    "students": "the components of students",
    "answers": "answers that models wrote",
    "answer-verdicts": "what people say of answers",
}
_EXPORTED = {
    "bank": "question bank",
    "graded": "graded file",
    "project": "project",
    "responses-matrix": "answers of students",
}


def _imported(act: str, detail: Detail) -> str:
    files = [PurePath(str(file)).name for file in detail.get("files") or []]
    kind = act.removeprefix("import ")
    what = _IMPORTED.get(kind, kind)
    named = ", ".join(files[:3]) + (f" and {len(files) - 3} more files" if len(files) > 3 else "")
    counts = ", ".join(_counted(name, value) for name, value in (detail.get("counts") or {}).items() if value)
    said = f"imported {what}" + (f" from {named}" if files else "") + (f": {counts}" if counts else "")
    return said + (f"; replaced {_listed(detail, 'replaced')}" if detail.get("replaced") else "")


def _listed(detail: Detail, name: str) -> str:
    return first_few(detail.get(name) or [], "; ")


def _ended(act: str, detail: Detail) -> str:
    how = {"done": "to its end", "cancelled": "until it was cancelled", "failed": "until it broke off"}
    counts = f": {_count(detail.get('graded', 0))} pairs graded, {_count(detail.get('failed', 0))} failed"
    return f"ran grading job {detail.get('job', '')} {how.get(act[4:], f'until it was {act[4:]}')}{counts}"


def _sat(act: str, detail: Detail) -> str:
    counts = f"{_count(detail.get('answered', 0))} items answered, {_count(detail.get('failed', 0))} failed"
    return (
        f"sitting {detail.get('sitting', '')} of {detail.get('student', 'a student')} ended"
        f" ({act.removeprefix('sitting ')}): {counts}"
    )


def _answered(act: str, detail: Detail) -> str:
    things, _, how = act.partition(" ")
    counts = f"{_count(detail.get('count', 0))} {things}, {_count(detail.get('failed', 0))} failed"
    return f"job {detail.get('job', '')} of {detail.get('by', 'a model')} ended ({how}): {counts}"


def _of_case(detail: Detail) -> str:
    return f"of {_query(detail)} for {detail.get('run', 'a run')} at {detail.get('k', '?')}"


def _overridden(detail: Detail) -> str:
    return (
        f"overrode the rating of {_question(detail)} for {_passage(detail)} with {detail.get('rating', '?')}"
        f"{_named(detail, 'reason', ': {}')}"
    )


def _judged(detail: Detail) -> str:
    said = f"judged {_passage(detail)} for {_query(detail)} as {detail.get('value', '?')}"
    return said + _named(detail, "note", ": {}")


_SETTLED = {
    "override": "by an override",
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
    lines = f", {_count(detail['lines'])} lines" if "lines" in detail else ""
    return f"published {values}qrels{lines}{_named(detail, 'note', ': {}')}"


_SENTENCES: dict[str, Callable[[Detail], str]] = {
    "save bank": lambda d: f"saved bank version {d.get('version', '?')}{_named(d, 'note', ': {}')}",
    "start job": lambda d: (
        f"started grading job {d.get('job', '')} with {d.get('grader', 'a grader')}: {_count(d.get('pairs', 0))} pairs"
    ),
    "override": _overridden,
    "withdraw override": lambda d: f"withdrew an override of {_question(d)} for {_passage(d)}",
    "judge": _judged,
    "withdraw judgment": lambda d: f"withdrew the judgment of {_passage(d)} for {_query(d)}",
    "settle disagreement": _settled("settled"),
    "reopen disagreement": _settled("reopened"),
    "draft items": lambda d: (
        f"let {d.get('model', 'a model')} draft items of {_query(d)}: {_count(d.get('proposals', 0))} proposals"
        f" from {_count(d.get('asked', 0))} passages"
    ),
    "set item": lambda d: f"set {_listed(d, 'what')} of {_question(d)}" + _named(d, "to", " to {}"),
    "set bloom keywords": lambda d: "set the keywords of Bloom's levels",
    "save grader": lambda d: f"set up the grader {d.get('name', '')}",
    "remove grader": lambda d: f"removed the settings of the grader {d.get('name', '')}",
    "save prompt": lambda d: f"saved the prompt {d.get('name', '')}",
    "set price": lambda d: f"set the price of {d.get('model', 'a model')}",
    "set pool depth": lambda d: f"set the pool depth to {d.get('depth', '?')}",
    "bring back": lambda d: f"brought back {_listed(d, 'restored')}, which act {d.get('undone', '?')} had replaced",
    "add student": lambda d: f"added the student {d.get('name', '')}",
    "add retrieval": lambda d: (
        f"added the retrieval {d.get('name', '')} of passages for {_count(d.get('items', 0))} items"
        f"{_named(d, 'by', ', by {}')}"
    ),
    "start sitting": lambda d: (
        f"let {d.get('student', 'a student')} sit an exam (sitting {d.get('sitting', '')}):"
        f" {_count(d.get('items', 0))} items"
    ),
    "add answer generator": lambda d: f"added {d.get('name', 'a model')} to those that answer",
    "add answer judge": lambda d: f"added {d.get('name', 'a model')} to those that compare answers",
    "start answers": lambda d: (
        f"let {d.get('by', 'a model')} answer queries (job {d.get('job', '')}): {_count(d.get('count', 0))} answers"
    ),
    "start comparisons": lambda d: (
        f"let {d.get('by', 'a model')} compare answers (job {d.get('job', '')}):"
        f" {_count(d.get('count', 0))} comparisons"
    ),
    "freeze target": lambda d: (
        f"froze {d.get('url', 'a target')} as {d.get('name', '')}: {_count(d.get('queries', 0))} queries"
    ),
    "drop freeze": lambda d: (
        f"gave up the freeze {d.get('name', '')} after {_count(d.get('queries', 0))} queries had come"
    ),
    "make run": lambda d: f"made the run {d.get('name', '')}{_named(d, 'by', ' by {}')}",
    "answers as responses": lambda d: (
        f"made {_count(d.get('responses', 0))} responses of {d.get('name', '')} of the answers of"
        f" {d.get('generator', 'a model')}"
    ),
    "confirm case": lambda d: f"confirmed case {d.get('case', '?')} {_of_case(d)}{_named(d, 'note', ': {}')}",
    "withdraw case": lambda d: f"took back a case {_of_case(d)}",
    "add gold answer": lambda d: f"added the right answer {_quoted(d.get('answer'), '')} to {_query(d)}",
    "withdraw gold answer": lambda d: f"took the right answer {_quoted(d.get('answer'), '')} of {_query(d)} away",
    "design audit": lambda d: (
        f"planned the audit {d.get('name', '')} of {_count(d.get('runs', 0))} systems"
        f"{_named(d, 'measure', ' by {}')}{_named(d, 'goal', ': {}')}"
    ),
    "draw audit batch": lambda d: (
        f"drew {_count(d.get('passages', 0))} passages for batch {d.get('batch', '?')}"
        f"{_named(d, 'audit', ' of the audit {}')}"
    ),
    "end audit batch": lambda d: (
        f"ended batch {d.get('batch', '?')} of the audit {d.get('audit', '')} with"
        f" {_count(d.get('unjudged', 0))} passages unjudged"
    ),
    "end audit": lambda d: f"ended the audit {d.get('audit', '')}",
    "plan cascade": lambda d: (
        f"planned the cascade {d.get('name', '')} with the graders {d.get('cheap', '')} and {d.get('expensive', '')}"
    ),
    "cannot say": lambda d: f"could not judge {_passage(d)} for {_query(d)}{_named(d, 'note', ': {}')}",
    "skip passage": lambda d: f"left {_passage(d)} for {_query(d)} to somebody else, or for later",
    "look at label": lambda d: f"asked for the machine's label of {_passage(d)} for {_query(d)}",
    "export audit sheet": lambda d: (
        f"took {_count(d.get('passages', 0))} passages of the audit {d.get('audit', '')} out, to be judged elsewhere"
    ),
    "import audit sheet": lambda d: (
        f"took in {_count(d.get('verdicts', 0))} verdicts{_named(d, 'audit', ' on the audit {}')}"
        f"{_named(d, 'file', ' from {}')}"
    ),
    "state families": lambda d: (
        f"stated which models {_made_with(d)} made with: {', '.join(d.get('families') or []) or 'none'}"
    ),
    "set role": lambda d: (
        f"made {d.get('person', 'somebody')} {d.get('role', 'a member')} of the project"
        + (f", for {how_many(d['queries'], 'queries')}" if isinstance(d.get("queries"), int) else "")
    ),
    "set guidelines": lambda d: "wrote the guidelines of " + (_query(d) if d.get("query") else "the project"),
    "finish query": lambda d: f"is done with {_query(d)}",
    "reopen query": lambda d: f"is not done with {_query(d)} after all",
    "assign double": lambda d: (
        f"let {how_many(d['wanted'], 'people') if isinstance(d.get('wanted'), int) else 'several people'} judge"
        + (f" {how_many(d['passages'], 'passages')} of" if isinstance(d.get("passages"), int) else "")
        + f" {_query(d)} blindly"
        + (f": {', '.join(map(str, d['people']))}" if isinstance(d.get("people"), list) and d["people"] else "")
    ),
    "claim double": lambda d: f"takes part in judging {_query(d)} blindly",
    "decline double": lambda d: (
        f"takes no part in judging {_query(d)} blindly{_named(d, 'reason', ' ({})') if d.get('reason') else ''}"
    ),
    "release double": lambda d: f"released {d.get('person', 'somebody')} from judging {_query(d)} blindly",
    "end double": lambda d: f"ended the double assignment of {_query(d)}",
    "adjudicate": lambda d: f"decided {d.get('value', '?')} for {_contested(d)}{_named(d, 'reason', ': {}')}",
    "undo adjudication": lambda d: f"took the decision back on {_contested(d)}",
    "set due": lambda d: (
        f"{'said that' if d.get('due') else 'took the day back until which'}"
        f" {how_many(d['queries'], 'queries') if isinstance(d.get('queries'), int) else _query(d)}"
        f" {'are' if isinstance(d.get('queries'), int) else 'is'} {'due' if d.get('due') else 'to be done'}"
        f"{_named(d, 'due', ' by {}')}{_named(d, 'person', ' for {}')}"
    ),
    "remove person": lambda d: f"took the role of {d.get('person', 'somebody')} away",
    "make token": lambda d: f"made the token '{d.get('name', '?')}' for a {d.get('role', 'somebody')}",
    "withdraw token": lambda d: f"withdrew the token '{d.get('name', '?')}'",
    "export backup": lambda d: f"made a backup{_named(d, 'file', ', {}')}",
    "restore project": lambda d: (
        f"restored the project from the backup {d.get('file', '')}"
        f"{_named(d, 'kept', '; what was there before is kept as {}')}"
    ),
    "set backups": lambda d: (
        f"let a backup be made every {how_many(d['hours'], 'hours')} while the app runs, and {d.get('keep', '?')} kept"
        if d.get("hours")
        else "let no backups be made by themselves"
    ),
    "publish qrels": _published,
    "reproduce qrels": lambda d: f"made the qrels of publication {d.get('publication', '?')} again",
    # Name of the action before "export grades".
    "export shards": lambda d: f"wrote {_count(d.get('grades', 0))} grades as Parquet{_named(d, 'file', ' into {}')}",
    "export grades": lambda d: f"wrote {_count(d.get('grades', 0))} grades as Parquet{_named(d, 'file', ' into {}')}",
    "export bundle": lambda d: f"exported a bundle{_named(d, 'publication', ' of publication {}')}",
}


def _made_with(detail: Detail) -> str:
    if detail.get("part") == "questions":
        return "the questions are"
    return f"the {detail.get('part', '')} {detail.get('name', '')} is"


def _question(detail: Detail) -> str:
    return _quoted(detail.get("question text") or detail.get("question"), "a question")


def _passage(detail: Detail) -> str:
    return "the passage " + _quoted(detail.get("passage text") or detail.get("passage"), "that is gone")


def _query(detail: Detail) -> str:
    return "the query " + _quoted(detail.get("query text") or detail.get("query"), "that is gone")


def _contested(detail: Detail) -> str:
    return (f"{_question(detail)} in " if detail.get("question") else "") + _passage(detail)


def _quoted(text: Any, otherwise: str) -> str:
    words = " ".join(str(text).split()) if text else ""
    if len(words) > EXCERPT:
        words = words[:EXCERPT].rsplit(" ", 1)[0] + "…"
    return f"“{words}”" if words else otherwise


def _named(detail: Detail, name: str, form: str) -> str:
    value = detail.get(name)
    return form.format(value) if value not in (None, "") else ""


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _counted(name: str, value: Any) -> str:
    if name == "bank version":
        return f"bank version {value}"
    if name == "questions get their words" and value == 1:
        return "1 question gets its words"
    return how_many(value, name) if isinstance(value, int) else f"{_count(value)} {name}"


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
