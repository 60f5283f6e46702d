"""Commands about LLM-retEval: the table, comparing by a model, cases, correlation, and judges beside people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from core import pipelines
from core.cli.answer_options import caps_options, model_options, say_end, say_price, view_options, watch
from core.cli.guests import File, close_unfinished, sent_file
from core.cli.options import (
    author_option,
    json_option,
    opened,
    print_json,
    print_rows,
    print_table,
    project_option,
    tell,
)
from core.errors import InputError, Report
from core.formats import Source, read_answer_verdicts
from core.labels import Policy
from core.measures import Choosing, Pairing
from core.measures.answers import CASES
from core.pipelines import (
    JUDGES,
    AgreementRow,
    Caps,
    CaseRow,
    Evaluation,
    Failures,
    JudgePlan,
    PeopleSaid,
    Reins,
    RetEvalRow,
    View,
    compare_answers,
    comparing_price,
    evaluate,
    make_judge,
    pairs_to_compare,
    people_said,
    row_values,
    said_in_file,
)
from core.project import Project, add_gold_answer, current_author, judging, withdraw_gold_answer
from core.study import BESIDE, boards_to_choose_by, compare_choices
from core.text import first_few, how_many


@click.group(invoke_without_command=True)
@project_option
@view_options
@click.option("--require-complete", is_flag=True, help="Fail where an answer or a comparison is missing or failed.")
@click.option("--latex", is_flag=True, help="Print a LaTeX tabular.")
@json_option
@click.pass_context
def reteval(
    context: click.Context,
    project_path: Path | None,
    view: View,
    require_complete: bool,
    latex: bool,
    as_json: bool,
) -> None:
    """Say what retrievers are worth by the answers that they make possible, beside Recall, Precision and F1."""
    if context.invoked_subcommand is not None:
        return
    if latex and as_json:
        raise InputError("options-exclude-each-other", "The table is printed in one form.", "Give --latex or --json.")
    with opened(project_path) as project:
        found = evaluate(project, view)
        failed = pipelines.failures(project, found)
    if require_complete and not found.complete:
        raise InputError(
            "incomplete-table",
            f"The table is not complete: {_missing(found)}.",
            "Ask for the rest, or leave the option out.",
        )
    if as_json:
        print_json(pipelines.reteval_told(found, failed))
    elif latex:
        click.echo(pipelines.reteval_latex(found, failed), nl=False)
    else:
        _print_table(found, failed)


def _print_table(found: Evaluation, failed: Mapping[tuple[str, int], Failures]) -> None:
    names = ("Recall", "Precision", "F1", "LLM-retEval", "GPT-Eval")
    print_table(
        ("run", "k", *names, "std error", "queries", "failed", "waiting", "A-C", "D-F"),
        [
            (
                row.run, row.k, *(row_values(row)[name][0] for name in names), row.reteval.error,
                row.reteval.queries, row.reteval.failed, row.reteval.waiting,
                failed[row.run, row.k].recall, failed[row.run, row.k].reteval,
            )
            for row in found.rows
        ],
    )  # fmt: skip
    if found.ideal is not None and found.ideal.mean is not None:
        click.echo(f"ideal retriever (answers from the gold passages): {found.ideal.mean:.4f}")
    judge = found.judge_model.name if found.judge_model else JUDGES[found.view.judge].title
    tell(f"{len(found.gold):,} queries with gold passages; answers by {found.generator.name}; judge: {judge}.")
    confirmed = sum(one.confirmed for one in failed.values())
    every = sum(one.recall + one.reteval for one in failed.values())
    tell(f"A-C: Recall failures; D-F: LLM-retEval failures; {confirmed:,} of these {every:,} are confirmed.")
    if not found.complete:
        tell(f"Not complete: {_missing(found)}. What is missing is left out, not counted as wrong.")


def _missing(found: Evaluation) -> str:
    def total(count: Any) -> int:
        return sum(count(row) for row in found.rows)

    def failed(row: RetEvalRow) -> int:
        return row.reteval.failed - row.failed

    said = {
        "answers wait": total(lambda row: row.waiting),
        "answers failed": total(lambda row: row.failed),
        "comparisons wait": total(lambda row: row.reteval.waiting - row.waiting),
        "comparisons failed": total(failed),
    }
    return ", ".join(f"{count:,} {what}" for what, count in said.items() if count > 0)


@reteval.command("compare")
@project_option
@view_options
@click.option("--prompt", help="Name of the prompt; the usual one of the judge where not given.")
@click.option("--name", help="What the judge is called; made of the model where not given.")
@click.option(
    "--human",
    type=File(perhaps=True),
    metavar="FILE",
    help="Compare the answers that people judged (a source, or a file) instead.",
)
@model_options
@caps_options
@json_option
def compare(
    project_path: Path | None,
    view: View,
    prompt: str | None,
    name: str | None,
    human: str | None,
    settings: dict[str, str],
    caps: Caps,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Let a model compare answers (--judge llm or graded); only what is missing is asked, equal texts once."""
    with opened(project_path) as project:
        close_unfinished(project)
        if human is not None:
            pairs = [one.pair for one in _people(project, human)]
        else:
            pairs = evaluate(project, view).pairs
        ready = make_judge(project, JudgePlan(view.judge, settings, prompt, name))
        if dry_run:
            wanted = pairs_to_compare(project, ready, pairs, caps)
            say_price("comparisons", comparing_price(project, ready, wanted), as_json, {"judge": ready.model.name})
            return
        reins = Reins(lambda line: tell(f"exam: {line}"))
        final = compare_answers(project, ready, pairs, current_author(), caps, watch("comparisons"), reins)
    say_end("comparisons", final, as_json, {"judge": ready.model.name})


@reteval.command("cases")
@project_option
@view_options
@click.option("--case", "only", type=click.Choice(list(CASES)), help="Only this case.")
@click.option("--to-do", is_flag=True, help="Only what nobody has confirmed.")
@json_option
def cases(project_path: Path | None, view: View, only: str | None, to_do: bool, as_json: bool) -> None:
    """List the queries on which the two sides part, with a proposal; first what could move the choice of a run."""
    with opened(project_path) as project:
        rows = pipelines.cases(project, evaluate(project, view), only=only, to_do=to_do)
    print_rows(
        as_json,
        {"cases": [_case(row) for row in rows]},
        ("query", "run", "k", "case", "confirmed by", "answer", "reason"),
        [
            (
                row.line.query_id,
                row.line.run,
                row.line.k,
                row.case,
                ", ".join(f"{one.author} {one.case}" for one in row.confirmed) or None,
                row.line.answer,
                row.proposal.reason,
            )
            for row in rows
        ],
    )


def _case(row: CaseRow) -> dict[str, Any]:
    line = row.line
    return {
        "query": line.query_id, "run": line.run, "k": line.k, "case": row.case, "proposed": row.proposal.case,
        "reason": row.proposal.reason, "others": row.proposal.others, "verdicts": asdict(row.verdicts),
        "answer": line.answer, "draws": row.side.draws, "gold_answers": row.side.query.answers,
        "confirmed": [asdict(one) for one in row.confirmed], "stake": None if row.stake is None else asdict(row.stake),
    }  # fmt: skip


def _place(view: View) -> tuple[str, int]:
    if view.runs is None or len(view.runs) != 1 or len(view.ks) != 1:
        raise InputError("option-missing", "A case is of one run at one depth.", "Give --run RUN and --k K.")
    return view.runs[0], view.ks[0]


@reteval.command("confirm")
@project_option
@click.argument("query", metavar="QUERY")
@view_options
@click.option("--case", "case", type=click.Choice(list(CASES)), required=True, help="What it is.")
@click.option("--note", default="", help="Why.")
@click.option("--judge-passage", metavar="PASSAGE", help="Case A: judge this passage of the top k as relevant, too.")
@click.option("--value", type=int, default=pipelines.RELEVANT, show_default=True, help="Of that judgment, 0 to 3.")
@click.option("--add-answer", is_flag=True, help="Case E: add the answer to the query's right answers, too.")
@author_option
def confirm(
    query: str,
    project_path: Path | None,
    view: View,
    case: str,
    note: str,
    judge_passage: str | None,
    value: int,
    add_answer: bool,
    author: str,
) -> None:
    """Confirm the case of QUERY for a run at a depth, the proposed one or another."""
    run, k = _place(view)
    with opened(project_path) as project:
        found = evaluate(project, view)
        row = pipelines.case_at(project, found, query, run, k)
        if add_answer and row.line.answer is None:
            raise InputError("unknown-answer", f"There is no answer of {run} to {query}.", "Leave --add-answer out.")
        if judge_passage is not None:
            pipelines.judge_as_relevant(project, row, judge_passage, author, value)
        if add_answer:
            add_gold_answer(project, query, row.line.answer or "", author)
        pipelines.confirm_case(project, found, query, run, k, case, author, note)
    tell(f"{query}: case {case} for {run} at {k} ({CASES[pipelines.check_case(case)]}).")


@reteval.command("withdraw")
@project_option
@click.argument("query", metavar="QUERY")
@view_options
@click.option("--judgment-of", metavar="PASSAGE", help="Withdraw one's judgment of this passage, too.")
@click.option("--answer", help="Take this right answer of the query away, too.")
@author_option
def withdraw(
    query: str,
    project_path: Path | None,
    view: View,
    judgment_of: str | None,
    answer: str | None,
    author: str,
) -> None:
    """Take back the case that one confirmed of QUERY for a run at a depth; it stays on record."""
    run, k = _place(view)
    with opened(project_path) as project:
        pipelines.take_back_case(project, evaluate(project, view), query, run, k, author)
        if judgment_of is not None:
            judging.withdraw(project, query, judgment_of, author)
        if answer is not None:
            withdraw_gold_answer(project, query, answer, author)
    tell(f"{query}: the case for {run} at {k} is taken back.")


@reteval.command("correlate")
@project_option
@view_options
@click.option("--refined", is_flag=True, help="Leave proposed cases A, B and C out of the refined set, too.")
@click.option("--choice", is_flag=True, help="Say which run each evaluation chooses instead.")
@click.option(
    "--beside", metavar="BOARD", multiple=True,
    help="With --choice: a board that chooses too, as 'NIST: nDCG@10'; may be repeated. A few where not given.",
)  # fmt: skip
@json_option
def correlate(
    project_path: Path | None, view: View, refined: bool, choice: bool, beside: tuple[str, ...], as_json: bool
) -> None:
    """Say how far Recall and LLM-retEval say the same of each query; refined is without failures of Recall."""
    with opened(project_path) as project:
        found = evaluate(project, view)
        if choice:
            _print_choice(project, found, beside, as_json)
            return
        rows = pipelines.correlations(project, found, "proposed" if refined else "confirmed")
    if as_json:
        print_json({"rows": [asdict(row) for row in rows]})
        return
    print_table(
        ("run", "k", "spearman", "low", "high", "queries", "refined", "low", "high", "removed"),
        [
            (
                row.run, row.k, row.every.spearman.value, row.every.spearman.low, row.every.spearman.high,
                row.every.queries, row.refined.spearman.value, row.refined.spearman.low, row.refined.spearman.high,
                row.refined.removed,
            )
            for row in rows
        ],
    )  # fmt: skip
    whose = "proposed by the table or confirmed" if refined else "that people confirmed"
    tell(f"Refined: without the cases A, B and C {whose}.")
    for row in rows:
        if row.every.spearman.undefined:
            tell(f"{row.run} at {row.k}: undefined, {row.every.spearman.undefined}.")


def _print_choice(project: Project, found: Evaluation, named: tuple[str, ...], as_json: bool) -> None:
    told = {k: _chosen(project, found, k, named) for k in found.view.ks}
    if as_json:
        print_json({"depths": {str(k): asdict(one) for k, one in told.items()}})
        return
    for k, one in told.items():
        beside = {pair.one: pair for pair in one.pairings if pair.other == f"LLM-retEval@{k}"}
        print_table(
            ("evaluation", "chooses", "chance", "queries", "failed", "kendall", "low", "high", "same", "costs"),
            [
                (
                    choice.evaluation, ", ".join(choice.chosen),
                    max((choice.chance.get(run, 0.0) for run in choice.chosen), default=None),
                    choice.queries, choice.failed, *_beside(beside.get(choice.evaluation)),
                )
                for choice in one.choices
            ],
        )  # fmt: skip
    tell("Kendall's tau, its interval, how often the same is chosen, and what the choice costs are by LLM-retEval.")


def _chosen(project: Project, found: Evaluation, k: int, named: tuple[str, ...]) -> Choosing:
    """What the measures of answers, the boards beside them, and EXAM-Cover of the answers choose at a depth."""
    offered = boards_to_choose_by(project, k)
    if strange := [name for name in named if name not in offered]:
        raise InputError(
            "unknown-board", f"There is no board '{strange[0]}' at {k}.", f"There are: {', '.join(offered)}."
        )
    boards = {name: offered[name] for name in named or list(offered)[:BESIDE]}
    tables = pipelines.choice_tables(found, k)
    waiting = pipelines.waiting_runs(found, k)
    for name, table in pipelines.cover_tables(project, found, k).items():
        if lacks := [run for run in found.view.runs or () if run not in table and run not in waiting]:
            tell(f"{name} is left out: no answer from {first_few(lacks)} is graded (exam answers grade).")
        else:
            tables[name] = table
    for run, count in waiting.items():
        tell(f"LLM-retEval@{k} does not say what {run} is worth: {how_many(count, 'queries')} wait.")
    compared = compare_choices(project, boards, Policy(), tables)
    for name, error in compared.left_out.items():
        tell(f"{name} is left out: {error}")
    return compared.found


def _beside(pair: Pairing | None) -> tuple[float | None, ...]:
    if pair is None:
        return (None,) * 5
    return pair.kendall.value, pair.kendall.low, pair.kendall.high, pair.same_chance, pair.loss.value


@reteval.command("agreement")
@project_option
@click.option(
    "--human",
    type=File(perhaps=True),
    metavar="FILE",
    help="A source of verdicts, or a file of them; all sources where not given.",
)
@click.option("--judge", "judges", type=click.Choice(list(JUDGES)), multiple=True, help="Only this judge; may repeat.")
@click.option("--curve", is_flag=True, help="Print what each judge is worth at each threshold.")
@json_option
def agreement(
    project_path: Path | None, human: str | None, judges: tuple[str, ...], curve: bool, as_json: bool
) -> None:
    """Say how far each judge of answers agrees with people: accuracy, kappa, precision and recall."""
    with opened(project_path) as project:
        rows = pipelines.agreement(project, _people(project, human), judges or None)
    if as_json:
        print_json({"judges": [_agreement(row) for row in rows]})
        return
    if curve:
        print_table(
            ("judge", "threshold", "accuracy", "kappa", "precision", "recall"),
            [
                (row.judge.name, point.threshold, point.accuracy, point.kappa, point.precision, point.recall)
                for row in rows
                for point in row.curve
            ],
        )
        return
    print_table(
        ("judge", "model", "accuracy", "kappa", "low", "high", "precision", "recall", "answers", "failed", "best at",
         "kappa there"),
        [
            (
                row.judge.name, row.model, row.against.accuracy.value, row.against.kappa.value, row.against.kappa.low,
                row.against.kappa.high, row.against.precision.value, row.against.recall.value, row.against.answers,
                row.against.failed, row.tested.threshold if row.tested else None,
                row.tested.tested.kappa.value if row.tested else None,
            )
            for row in rows
        ],
    )  # fmt: skip
    if waiting := [row for row in rows if row.waiting]:
        tell(", ".join(f"{row.judge.name} was not asked about {row.waiting:,}" for row in waiting) + ".")


def _agreement(row: AgreementRow) -> dict[str, Any]:
    return asdict(row) | {"judge": row.judge.name}


def _people(project: Project, human: str | None) -> list[PeopleSaid]:
    """What people say: of a source of the project, or of a file that is read and not kept."""
    if human is None or human in dict(pipelines.verdict_sources(project)):
        return people_said(project, human)
    file = sent_file(human)
    if file is None:
        known = [name for name, _ in pipelines.verdict_sources(project)]
        raise InputError(
            "unknown-source",
            f"'{human}' is neither a source of verdicts nor a file.",
            f"There are: {', '.join(known)}." if known else "Import some: exam import answer-verdicts FILE.",
        )
    report = Report()
    said = read_answer_verdicts(Source.of(file), report)
    report.raise_if_refused("Mend the file.")
    return said_in_file(project, [(one.query_id, one.answer, one.acceptable) for one in said])
