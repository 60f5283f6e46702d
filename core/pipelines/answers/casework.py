"""Cases: queries on which Recall and LLM-retEval disagree, with proposals for people to confirm."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from ...errors import InputError, unknown_name
from ...measures import NewScore, Stake, stakes
from ...measures.answers import (
    CASES,
    RECALL_FAILURES,
    RETEVAL_FAILURES,
    Case,
    Proposal,
    Texts,
    Verdicts,
    propose,
    settled,
)
from ...project import CasePlace, ConfirmedCase, Project, as_name, confirm, confirmed_cases, judging, withdraw_case
from .contexts import Read, passage_id_of, passage_texts
from .evaluation import Alike, Evaluation, GoldSide, Line

RELEVANT = 2
"""The judgment for a passage that answers the query but was not annotated (case A): highly relevant."""


@dataclass(frozen=True)
class CaseRow:
    """A query on which Recall and LLM-retEval, or the checks of the answer, disagree.

    Args:
        line: the query, run and depth, with the answer and its checks.
        side: the gold passages and the answers from them.
        verdicts: the four verdicts behind the proposal.
        proposal: the case that they suggest, with reasons.
        confirmed: the cases that people confirmed.
        stake: the effect of confirming the proposal on the choice of a run; None with a single run or without a case.
    """

    line: Line
    side: GoldSide
    verdicts: Verdicts
    proposal: Proposal
    confirmed: tuple[ConfirmedCase, ...] = ()
    stake: Stake | None = None

    @property
    def case(self) -> str | None:
        """The case that counts: the last confirmed one, else the proposed one."""
        return self.confirmed[-1].case if self.confirmed else self.proposal.case


def cases(
    project: Project,
    evaluation: Evaluation,
    run: str | None = None,
    k: int | None = None,
    only: str | None = None,
    to_do: bool = False,
) -> list[CaseRow]:
    """Return the cases of a view, first those whose confirmation would affect the choice of a run most.

    Args:
        run, k: only of this run, or at this depth; None for all.
        only: only those whose confirmed, else proposed, case has this letter.
        to_do: only unconfirmed cases.

    Raises:
        InputError: the run, the depth or the letter is unknown.
    """
    if only is not None:
        check_case(only)
    found = _found(project, evaluation, _places(evaluation, run, k))
    found = [one for one in found if (only is None or one.case == only) and not (to_do and one.confirmed)]
    return _ordered(evaluation, found)


@dataclass(frozen=True)
class Failures:
    """Failures of either measure for a run at a depth (llm-reteval, table 1); confirmed cases take precedence over
    proposed.

    Args:
        recall: queries with a case A, B or C.
        reteval: queries with a case D, E or F.
        confirmed: how many of both a person confirmed; the others are proposed.
    """

    recall: int = 0
    reteval: int = 0
    confirmed: int = 0


def failures(project: Project, evaluation: Evaluation) -> dict[tuple[str, int], Failures]:
    """Return the numbers of failures by run and depth, cached until their data changes.

    Raises:
        GradingError: the encoder cannot be loaded.
    """

    def compute() -> dict[tuple[str, int], Failures]:
        found = dict.fromkeys(evaluation.lines, Failures())
        for row in _found(project, evaluation, list(evaluation.lines)):
            recall, reteval = row.case in RECALL_FAILURES, row.case in RETEVAL_FAILURES
            place = row.line.run, row.line.k
            told, seen = found[place], bool(row.confirmed) and (recall or reteval)
            found[place] = Failures(told.recall + recall, told.reteval + reteval, told.confirmed + seen)
        return found

    key = ("failures", evaluation.view, evaluation.generator.key, tuple(evaluation.rows), evaluation.ideal)
    return project.remember(key, compute)


def _found(project: Project, evaluation: Evaluation, places: Sequence[tuple[str, int]]) -> list[CaseRow]:
    """Return the cases of some runs and depths, in no particular order."""
    confirmed = confirmed_cases(project, evaluation.generator.key)
    known = {(one.query_id, one.run, one.k) for one in confirmed}
    parting = [
        line
        for place in places
        for line in evaluation.lines[place].values()
        if line.answer is not None
        and (verdicts_of(line, evaluation.gold[line.query_id]).part or (line.query_id, line.run, line.k) in known)
    ]
    return _rows(project, evaluation, parting, confirmed)


def _rows(
    project: Project, evaluation: Evaluation, lines: Sequence[Line], confirmed: Sequence[ConfirmedCase]
) -> list[CaseRow]:
    """Return lines with their verdicts, proposals and confirmations."""
    known: dict[tuple[str, str, int], list[ConfirmedCase]] = {}
    for one in confirmed:
        known.setdefault((one.query_id, one.run, one.k), []).append(one)
    texts = _Texts(project, evaluation, lines)
    found = []
    for line in lines:
        side = evaluation.gold[line.query_id]
        verdicts = verdicts_of(line, side)
        proposal = propose(verdicts, texts.of(line, side, verdicts))
        found.append(CaseRow(line, side, verdicts, proposal, tuple(known.get((line.query_id, line.run, line.k), ()))))
    return found


def verdicts_of(line: Line, side: GoldSide) -> Verdicts:
    """Return the four verdicts r, e, t and s of a query, run and depth."""
    return Verdicts(line.found.any, line.reteval.yes, line.gpteval.yes, side.goldeval.yes)


def _places(evaluation: Evaluation, run: str | None, k: int | None) -> list[tuple[str, int]]:
    found = [(name, depth) for name, depth in evaluation.lines if run in (None, name) and k in (None, depth)]
    if not found:
        raise unknown_name(
            "unknown-run",
            "run or depth",
            f"{run or 'any run'}@{k or 'any depth'}",
            map("{0[0]}@{0[1]}".format, evaluation.lines),
        )
    return found


class _Texts:
    """The texts behind the verdicts of lines, read and encoded in one go.

    Args:
        lines: may include lines that are not cases.
    """

    def __init__(self, project: Project, evaluation: Evaluation, lines: Iterable[Line]) -> None:
        parting = [line for line in lines if line.answer is not None]
        reads = {one for line in parting for one in line.passages if isinstance(one, Read)}
        self._texts = passage_texts(project, {one.text_key for one in reads})
        missed = [
            line for line in parting if self._may_be_near(line, verdicts_of(line, evaluation.gold[line.query_id]))
        ]
        compared = {one for line in missed for one in line.passages if isinstance(one, Read)}
        self._alike = Alike(
            project, compared | {one for line in missed for one in evaluation.gold[line.query_id].passages}
        )

    @staticmethod
    def _may_be_near(line: Line, verdicts: Verdicts) -> bool:
        # A passage without a text has no similarity, so all of them need texts to keep rows and ranks aligned.
        whole = all(isinstance(one, Read) for one in line.passages)
        return bool(verdicts.reteval and not verdicts.recall and line.passages and whole)

    def of(self, line: Line, side: GoldSide, verdicts: Verdicts) -> Texts:
        read = [one for one in line.passages if isinstance(one, Read)]
        return Texts(
            line.answer or "",
            [self._texts.get(one.text_key, "") if isinstance(one, Read) else "" for one in line.passages],
            side.draws,
            side.query.answers,
            self._alike.of(read, side.passages) if self._may_be_near(line, verdicts) and line.answer else None,
        )


def _ordered(evaluation: Evaluation, found: Sequence[CaseRow]) -> list[CaseRow]:
    """Return the cases, those with the highest stake first. Confirmed cases and those without a proposal follow."""
    open_ = [one for one in found if one.proposal.case is not None and not one.confirmed]
    rest = [one for one in found if one.proposal.case is None or one.confirmed]
    if len(evaluation.view.runs or ()) < 2 or not open_:
        return [*open_, *rest]
    tables = {}
    for k in evaluation.view.ks:
        tables[f"Recall@{k}"] = evaluation.verdicts_of("recall", k)
        tables[f"LLM-retEval@{k}"] = evaluation.verdicts_of("reteval", k)
    weighed = stakes(tables, [_corrections(evaluation, one) for one in open_])
    return [*(replace(open_[stake.at], stake=stake) for stake in weighed), *rest]


def _corrections(evaluation: Evaluation, row: CaseRow) -> list[NewScore]:
    """Return the scores that a confirmation would correct. A case A raises every run with the passage."""
    case, line = row.proposal.case, row.line
    if case is None:
        return []
    recall, reteval = settled(case, row.verdicts)
    found = []
    if reteval is not None and reteval != row.verdicts.reteval:
        found.append(NewScore(f"LLM-retEval@{line.k}", line.run, line.query_id, float(reteval)))
    if recall is not None and recall != row.verdicts.recall:
        runs = {line.run}
        if case == "A" and row.proposal.passage is not None:
            passage = passage_id_of(line.passages[row.proposal.passage])
            runs |= {
                run
                for (run, k), lines in evaluation.lines.items()
                if k == line.k and passage in map(passage_id_of, lines[line.query_id].passages)
            }
        found += [NewScore(f"Recall@{line.k}", run, line.query_id, float(recall)) for run in sorted(runs)]
    return found


def case_at(project: Project, evaluation: Evaluation, query_id: str, run: str, k: int) -> CaseRow:
    """Return one query of one run at one depth with its verdicts and proposal.

    Raises:
        InputError: the query, run or depth is not in the view.
    """
    _places(evaluation, run, k)
    line = evaluation.lines[run, k].get(query_id)
    if line is None:
        raise InputError(
            "query-without-gold",
            f"Query {query_id} does not exist or has no gold passages.",
            "Choose a query of the table.",
        )
    return _rows(project, evaluation, [line], confirmed_cases(project, evaluation.generator.key))[0]


def check_case(case: str) -> Case:
    """Return the letter of a case.

    Raises:
        InputError: it is unknown.
    """
    if case in CASES:
        return {letter: letter for letter in CASES}[case]
    raise unknown_name("unknown-kind", "case", case, CASES)


def confirm_case(
    project: Project, evaluation: Evaluation, query_id: str, run: str, k: int, case: str, author: str, note: str = ""
) -> int:
    """Confirm a case, the proposed one or another; an earlier confirmation by the same person is withdrawn.

    Returns:
        Its key.

    Raises:
        InputError: the case is unknown, or the query, run or depth is not in the view.
    """
    letter = check_case(case)
    row = case_at(project, evaluation, query_id, run, k)
    return confirm(project, place_of_case(evaluation, query_id, run, k), letter, row.proposal.case or "", note, author)


def unseen_by(row: CaseRow, author: str, seen: Collection[int]) -> list[ConfirmedCase]:
    """Return other people's confirmations of a case that the author had not seen when confirming it.

    Args:
        seen: keys of the confirmations that the author saw.
    """
    return [one for one in row.confirmed if one.author != as_name(author) and one.key not in seen]


def take_back_case(project: Project, evaluation: Evaluation, query_id: str, run: str, k: int, author: str) -> None:
    """Withdraw the author's confirmation of a case.

    Raises:
        InputError: this person has not confirmed a case there.
    """
    withdraw_case(project, place_of_case(evaluation, query_id, run, k), author)


def place_of_case(evaluation: Evaluation, query_id: str, run: str, k: int) -> CasePlace:
    """Return the key under which a case is stored."""
    return CasePlace(query_id, run, k, evaluation.generator.key, evaluation.generator.name)


def judge_as_relevant(project: Project, row: CaseRow, passage_id: str, author: str, value: int = RELEVANT) -> None:
    """Judge a retrieved passage as relevant: it answers the query but was not annotated (case A).

    This is an ordinary judgment: its source is the person, and it can be withdrawn (`project.judging.withdraw`).

    Raises:
        InputError: the passage is not among the top k, or the value is out of range.
    """
    if passage_id not in map(passage_id_of, row.line.passages):
        raise unknown_name("passage-not-read", "passage", passage_id, map(passage_id_of, row.line.passages))
    note = f"case A of {row.line.run} at {row.line.k}"
    judging.judge(project, row.line.query_id, passage_id, value, author, note)


MarkedPart = tuple[str, bool]
"""A piece of a text, and whether it has the words of the answer."""


@dataclass(frozen=True)
class ShownPassage:
    """A passage as it is shown next to an answer.

    Args:
        rank: its place in the run, from 1; 0 for a gold passage.
        parts: its text in pieces, with those that have the answer's words marked; empty without a text.
        gold: whether it is a gold passage.
        judged: the reader's judgment; None if it is missing.
    """

    passage_id: str
    rank: int
    parts: tuple[MarkedPart, ...]
    gold: bool
    judged: int | None


@dataclass(frozen=True)
class CaseDesk:
    """Everything that a person needs to decide one case.

    Args:
        row: verdicts, proposal and confirmations.
        retrieved: the top k with the words of the run's answer marked.
        gold: the gold passages with the words of the answers from them marked.
    """

    row: CaseRow
    retrieved: list[ShownPassage]
    gold: list[ShownPassage]


def case_desk(project: Project, evaluation: Evaluation, query_id: str, run: str, k: int, author: str) -> CaseDesk:
    """Return one query of one run at one depth, with all its texts, whether it is a case or not.

    Args:
        author: whose judgments are shown.

    Raises:
        InputError: the query, run or depth is not in the view.
    """
    row = case_at(project, evaluation, query_id, run, k)
    line, side = row.line, row.side
    ids = {one.passage_id for one in side.passages}
    keys = {one.text_key for one in (*line.passages, *side.passages) if isinstance(one, Read)}
    texts = passage_texts(project, keys)

    def shown(one: Read | str, rank: int, answers: Sequence[str]) -> ShownPassage:
        name = passage_id_of(one)
        parts = marked(texts[one.text_key], answers) if isinstance(one, Read) else ()
        judged = judging.own_judgment(project, query_id, name, author) if author.strip() else None
        return ShownPassage(name, rank, parts, name in ids, judged)

    answers = [line.answer] if line.answer else []
    return CaseDesk(
        row,
        [shown(one, rank, answers) for rank, one in enumerate(line.passages, 1)],
        [shown(one, 0, side.draws) for one in side.passages],
    )


def marked(text: str, answers: Sequence[str]) -> tuple[MarkedPart, ...]:
    """Split a text into pieces and mark those that match an answer's words, ignoring case and punctuation."""
    patterns = [r"\W+".join(map(re.escape, words)) for answer in answers if (words := re.findall(r"\w+", answer))]
    if not patterns:
        return ((text, False),) if text else ()
    parts: list[MarkedPart] = []
    at = 0
    for hit in re.finditer(rf"(?<!\w)(?:{'|'.join(sorted(patterns, key=len, reverse=True))})(?!\w)", text, re.I):
        parts += [(text[at : hit.start()], False), (hit[0], True)]
        at = hit.end()
    return tuple(part for part in (*parts, (text[at:], False)) if part[0])
