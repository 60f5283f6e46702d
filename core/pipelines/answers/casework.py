"""Cases: queries on which the two sides part, each with a proposal for a person to confirm; and what comes of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.errors import InputError
from core.measures import NewScore, Stake, stakes
from core.measures.answers import CASES, Case, Proposal, Texts, Verdicts, propose, settled
from core.pipelines.answers.contexts import Read, passage_id_of, passage_texts
from core.pipelines.answers.evaluating import near
from core.pipelines.answers.evaluation import Evaluation, GoldSide, Line
from core.project import CasePlace, ConfirmedCase, Project, confirm, confirmed_cases, judging, withdraw_case
from core.text import quoted

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
    places = _places(evaluation, run, k)
    known: dict[tuple[str, str, int], list[ConfirmedCase]] = {}
    for one in confirmed_cases(project, evaluation.generator.key):
        known.setdefault((one.query_id, one.run, one.k), []).append(one)
    texts = _Texts(project, evaluation)
    found = []
    for place in places:
        for line in evaluation.lines[place].values():
            side = evaluation.gold[line.query_id]
            verdicts = verdicts_of(line, side)
            confirmed = tuple(known.get((line.query_id, line.run, line.k), ()))
            if line.answer is None or not (verdicts.part or confirmed):
                continue
            found.append(CaseRow(line, side, verdicts, propose(verdicts, texts.of(line, side, verdicts)), confirmed))
    found = [one for one in found if (only is None or one.case == only) and not (to_do and one.confirmed)]
    return _ordered(evaluation, found)


def verdicts_of(line: Line, side: GoldSide) -> Verdicts:
    """The four verdicts r, e, t and s of a query, run and depth."""
    return Verdicts(line.found.any, line.reteval.yes, line.gpteval.yes, side.goldeval.yes)


def _places(evaluation: Evaluation, run: str | None, k: int | None) -> list[tuple[str, int]]:
    found = [(name, depth) for name, depth in evaluation.lines if run in (None, name) and k in (None, depth)]
    if not found:
        raise InputError(
            f"There is no {'run ' + str(run) if run is not None else 'run'}"
            + (f" at {k}" if k is not None else "") + " in this view.",
            "Name a run and a depth that are looked at.",
        )  # fmt: skip
    return found


class _Texts:
    """The texts behind verdicts, read once for a view."""

    def __init__(self, project: Project, evaluation: Evaluation) -> None:
        self._project = project
        keys = {
            one.text_key
            for lines in evaluation.lines.values()
            for line in lines.values()
            if line.answer is not None and verdicts_of(line, evaluation.gold[line.query_id]).part
            for one in line.passages
            if isinstance(one, Read)
        }
        self._texts = passage_texts(project, keys)

    def of(self, line: Line, side: GoldSide, verdicts: Verdicts) -> Texts:
        read = [one for one in line.passages if isinstance(one, Read)]
        missing = not verdicts.recall and verdicts.reteval and read
        return Texts(
            line.answer or "",
            [self._texts.get(one.text_key, "") if isinstance(one, Read) else "" for one in line.passages],
            side.draws,
            side.query.answers,
            # A passage without a text is like nothing: only where all have one are places in step.
            near(self._project, read, side.passages) if missing and len(read) == len(line.passages) else None,
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


Part = tuple[str, bool]
"""A piece of a text, and whether it has the words of the answer."""


@dataclass(frozen=True)
class ShownPassage:
    """A passage as a person reads it beside an answer.

    Args:
        rank: its place in the run, from 1; 0 for a gold passage.
        parts: its text in pieces, those with the answer's words told apart; empty where there is no text.
        gold: whether it is a gold passage.
        judged: what the reader judged it; None where they have not.
    """

    passage_id: str
    rank: int
    parts: tuple[Part, ...]
    gold: bool
    judged: int | None


@dataclass(frozen=True)
class CaseDesk:
    """Everything that a person needs to decide one case.

    Args:
        row: verdicts, proposal and what was confirmed.
        retrieved: the top k with the words of the run's answer marked.
        gold: the gold passages with the words of the answers from them marked.
    """

    row: CaseRow
    retrieved: list[ShownPassage]
    gold: list[ShownPassage]


def case_desk(project: Project, evaluation: Evaluation, query_id: str, run: str, k: int, author: str) -> CaseDesk:
    """One query of one run at one depth, with all its texts, whether it is a case or not.

    Args:
        author: whose judgments are shown.

    Raises:
        InputError: there is no such query, run or depth in the view.
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


def case_at(project: Project, evaluation: Evaluation, query_id: str, run: str, k: int) -> CaseRow:
    """One query of one run at one depth with its verdicts and proposal.

    Raises:
        InputError: there is no such query, run or depth in the view.
    """
    _places(evaluation, run, k)
    line = evaluation.lines[run, k].get(query_id)
    if line is None:
        raise InputError(f"The query {query_id} has no gold passages, or is not there.", "Name one of the table.")
    side = evaluation.gold[query_id]
    verdicts = verdicts_of(line, side)
    proposal = propose(verdicts, _Texts(project, evaluation).of(line, side, verdicts))
    confirmed = tuple(
        one
        for one in confirmed_cases(project, evaluation.generator.key)
        if (one.query_id, one.run, one.k) == (query_id, run, k)
    )
    return CaseRow(line, side, verdicts, proposal, confirmed)


def marked(text: str, answers: Sequence[str]) -> tuple[Part, ...]:
    """A text in pieces, those told apart that are the words of an answer, whatever their case and what parts them."""
    patterns = [r"\W+".join(map(re.escape, words)) for answer in answers if (words := re.findall(r"\w+", answer))]
    if not patterns:
        return ((text, False),) if text else ()
    parts: list[Part] = []
    at = 0
    for hit in re.finditer(rf"(?<!\w)(?:{'|'.join(sorted(patterns, key=len, reverse=True))})(?!\w)", text, re.I):
        parts += [(text[at : hit.start()], False), (hit[0], True)]
        at = hit.end()
    return tuple(part for part in (*parts, (text[at:], False)) if part[0])


def check_case(case: str) -> Case:
    """The letter of a case.

    Raises:
        InputError: it is none.
    """
    if case in CASES:
        return {letter: letter for letter in CASES}[case]
    raise InputError(f"{quoted(case)} is no case.", f"Use {', '.join(CASES)}.")


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
    (`core.project.judging.withdraw`).

    Raises:
        InputError: the passage is not among the top k, or the value is out of range.
    """
    if passage_id not in map(passage_id_of, row.line.passages):
        raise InputError(f"The passage {passage_id} is not among those that were read.", "Choose one of the top k.")
    note = f"case A of {row.line.run} at {row.line.k}"
    judging.judge(project, row.line.query_id, passage_id, value, author, note)
