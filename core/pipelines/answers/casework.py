"""Cases: queries on which the two sides part, each with a proposal for a person to confirm; and what comes of it."""

from __future__ import annotations

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
from .evaluating import Alike
from .evaluation import Evaluation, GoldSide, Line

RELEVANT = 2
"""The judgment that a passage gets which answers and was not annotated (case A): highly relevant."""


@dataclass(frozen=True)
class CaseRow:
    """A query on which Recall and LLM-retEval part, or what is said of the answer does.

    Args:
        line: the query, run and depth, with the answer and what is said of it.
        side: the gold passages and the answers from them.
        verdicts: the four verdicts that the proposal rests on.
        proposal: the case that they speak for, and why.
        confirmed: what people confirmed.
        stake: what confirming the proposal would do to the choice of a run; None where there is one run, or no case.
    """

    line: Line
    side: GoldSide
    verdicts: Verdicts
    proposal: Proposal
    confirmed: tuple[ConfirmedCase, ...] = ()
    stake: Stake | None = None

    @property
    def case(self) -> str | None:
        """The case that counts: what was confirmed last, else what is proposed."""
        return self.confirmed[-1].case if self.confirmed else self.proposal.case


def cases(
    project: Project,
    evaluation: Evaluation,
    run: str | None = None,
    k: int | None = None,
    only: str | None = None,
    to_do: bool = False,
) -> list[CaseRow]:
    """The cases of a view; first those whose confirmation would move the choice of a run most.

    Args:
        run, k: only of this run, or at this depth; of all for None.
        only: only those whose confirmed, else proposed, case has this letter.
        to_do: only those that nobody has confirmed.

    Raises:
        InputError: the run, the depth or the letter is not there.
    """
    if only is not None:
        check_case(only)
    found = _found(project, evaluation, _places(evaluation, run, k))
    found = [one for one in found if (only is None or one.case == only) and not (to_do and one.confirmed)]
    return _ordered(evaluation, found)


@dataclass(frozen=True)
class Failures:
    """How often either side fails for a run at a depth (llm-reteval, table 1); confirmed cases count before proposed.

    Args:
        recall: queries with a case A, B or C.
        reteval: queries with a case D, E or F.
        confirmed: how many of both a person confirmed; the others are proposed.
    """

    recall: int = 0
    reteval: int = 0
    confirmed: int = 0


def failures(project: Project, evaluation: Evaluation) -> dict[tuple[str, int], Failures]:
    """Return the numbers of failures by run and depth, computed again only if something that they rest on changed.

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
    """The cases of some runs and depths, in no particular order."""
    known: dict[tuple[str, str, int], list[ConfirmedCase]] = {}
    for one in confirmed_cases(project, evaluation.generator.key):
        known.setdefault((one.query_id, one.run, one.k), []).append(one)
    parting = [
        line
        for place in places
        for line in evaluation.lines[place].values()
        if line.answer is not None
        and (verdicts_of(line, evaluation.gold[line.query_id]).part or (line.query_id, line.run, line.k) in known)
    ]
    texts = _Texts(project, evaluation, parting)
    found = []
    for line in parting:
        side = evaluation.gold[line.query_id]
        verdicts = verdicts_of(line, side)
        confirmed = tuple(known.get((line.query_id, line.run, line.k), ()))
        found.append(CaseRow(line, side, verdicts, propose(verdicts, texts.of(line, side, verdicts)), confirmed))
    return found


def verdicts_of(line: Line, side: GoldSide) -> Verdicts:
    """The four verdicts r, e, t and s of a query, run and depth."""
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
        lines: of which some may be no cases.
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
        # A passage without a text is like nothing: only where all have one are places in step.
        whole = all(isinstance(one, Read) for one in line.passages)
        return bool(verdicts.reteval and not verdicts.recall and line.passages and whole)

    def of(self, line: Line, side: GoldSide, verdicts: Verdicts) -> Texts:
        """The texts of one of the lines."""
        read = [one for one in line.passages if isinstance(one, Read)]
        return Texts(
            line.answer or "",
            [self._texts.get(one.text_key, "") if isinstance(one, Read) else "" for one in line.passages],
            side.draws,
            side.query.answers,
            self._alike.of(read, side.passages) if self._may_be_near(line, verdicts) and line.answer else None,
        )


def _ordered(evaluation: Evaluation, found: Sequence[CaseRow]) -> list[CaseRow]:
    """Cases in the order of what is at stake; those that were confirmed, and those without a proposal, come last."""
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
    """What confirming a proposal would correct; a case A is a judgment that every run with the passage gains by."""
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
    """One query of one run at one depth with its verdicts and proposal.

    Raises:
        InputError: there is no such query, run or depth in the view.
    """
    _places(evaluation, run, k)
    line = evaluation.lines[run, k].get(query_id)
    if line is None:
        raise InputError(
            "query-without-gold",
            f"Query {query_id} does not exist or has no gold passages.",
            "Choose a query of the table.",
        )
    side = evaluation.gold[query_id]
    verdicts = verdicts_of(line, side)
    proposal = propose(verdicts, _Texts(project, evaluation, [line]).of(line, side, verdicts))
    confirmed = tuple(
        one
        for one in confirmed_cases(project, evaluation.generator.key)
        if (one.query_id, one.run, one.k) == (query_id, run, k)
    )
    return CaseRow(line, side, verdicts, proposal, confirmed)


def check_case(case: str) -> Case:
    """The letter of a case.

    Raises:
        InputError: it is none.
    """
    if case in CASES:
        return {letter: letter for letter in CASES}[case]
    raise unknown_name("unknown-kind", "case", case, CASES)


def confirm_case(
    project: Project, evaluation: Evaluation, query_id: str, run: str, k: int, case: str, author: str, note: str = ""
) -> int:
    """Confirm a case, the proposed one or another; what the same person confirmed before there is withdrawn.

    Returns:
        Its key.

    Raises:
        InputError: there is no such case, or no such place in the view.
    """
    letter = check_case(case)
    row = case_at(project, evaluation, query_id, run, k)
    return confirm(project, place_of_case(evaluation, query_id, run, k), letter, row.proposal.case or "", note, author)


def unseen_by(row: CaseRow, author: str, seen: Collection[int]) -> list[ConfirmedCase]:
    """What others confirmed of a case that somebody had not seen who confirmed it, too.

    Args:
        seen: keys of what they saw.
    """
    return [one for one in row.confirmed if one.author != as_name(author) and one.key not in seen]


def take_back_case(project: Project, evaluation: Evaluation, query_id: str, run: str, k: int, author: str) -> None:
    """Take one's own case back.

    Raises:
        InputError: this person has confirmed none there.
    """
    withdraw_case(project, place_of_case(evaluation, query_id, run, k), author)


def place_of_case(evaluation: Evaluation, query_id: str, run: str, k: int) -> CasePlace:
    """Where a case is on record."""
    return CasePlace(query_id, run, k, evaluation.generator.key, evaluation.generator.name)


def judge_as_relevant(project: Project, row: CaseRow, passage_id: str, author: str, value: int = RELEVANT) -> None:
    """Give a retrieved passage a judgment, as one that answers and was not annotated (case A).

    It is a judgment of this person like any other: its source is the person, and it can be withdrawn
    (`project.judging.withdraw`).

    Raises:
        InputError: the passage is not among the top k, or the value is out of range.
    """
    if passage_id not in map(passage_id_of, row.line.passages):
        raise unknown_name("passage-not-read", "passage", passage_id, map(passage_id_of, row.line.passages))
    note = f"case A of {row.line.run} at {row.line.k}"
    judging.judge(project, row.line.query_id, passage_id, value, author, note)
