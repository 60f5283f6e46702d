"""Preliminaries of LLM-retEval: missing data, runs and depths of a generator, a suitable answer check, clear leads."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ...measures import choosing
from ...project import AnswerModel, Project, answer_models, recorded_jobs, run_names
from .comparing import verdicts
from .contexts import asked_queries, gold_sources, named_runs, ranking_runs
from .evaluation import Evaluation
from .generating import KS
from .studying import PeopleSaid, choice_tables

SHORT = 5
"""Greatest number of words of a gold answer that counts as a phrase, which can occur within a sentence."""
SAMPLES = 1000
SURE = 0.95
"""Share of the resamples in which a run has to lead for a clear lead."""


@dataclass(frozen=True)
class Lacking:
    """The data that LLM-retEval needs and a project lacks.

    Args:
        queries: no query has words.
        runs: the project has no runs.
        gold: the project has no gold passages.
        answers: no query has gold answers, so that GPT-Eval and cases that rest on them stay unknown.
    """

    queries: bool
    runs: bool
    gold: bool
    answers: bool

    @property
    def stops(self) -> bool:
        """Whether nothing can be done yet."""
        return self.queries or self.runs or self.gold


def lacking(project: Project) -> Lacking:
    """Return the missing data for LLM-retEval (specification, section 2)."""
    queries = asked_queries(project)
    return Lacking(
        not queries, not ranking_runs(project), not gold_sources(project), not any(query.answers for query in queries)
    )


def asked_for(project: Project, generator: AnswerModel) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the runs and depths for which a generator has answered, or was asked to.

    Returns:
        Runs in the project's order and depths, rising; all runs and the usual depths if nothing is known.
    """
    runs: dict[str, None] = {}
    ks: set[int] = set()
    known = named_runs(project, None)
    for job in recorded_jobs(project, "generating", subject=generator.key):
        named = job.request.get("runs")
        runs |= dict.fromkeys(known if named is None else named)
        ks |= set(job.request.get("ks", ())) if named != [] else set()
    for run, k in project.rows(
        "SELECT DISTINCT run, k FROM generated_answers WHERE generator_key = ? AND run IS NOT NULL AND k > 0",
        [generator.key],
    ):
        runs[run] = None
        ks.add(k)
    every = dict.fromkeys((*known, *run_names(project)))
    return tuple(run for run in every if run in runs) or tuple(known), tuple(sorted(ks)) or KS


def usual_judge(project: Project) -> str:
    """Return the default answer check: the last one with a model, else one that fits the project's gold answers.

    Short phrases are searched for in the answers. Whole sentences, and answers without gold ones, are compared by
    meaning.
    """
    asked = [one.parameters.get("judge") for one in answer_models(project, "judge")]
    if asked and asked[-1] is not None:
        return str(asked[-1])
    lengths = [len(answer.split()) for query in asked_queries(project) for answer in query.answers]
    return "contains" if lengths and median(lengths) <= SHORT else "embedding"


def clear_best(project: Project, evaluation: Evaluation) -> dict[tuple[int, str], str]:
    """Return the run that leads clearly by a measure at a depth.

    Returns:
        By depth and name of the measure without it, such as (5, "Recall"): the run that is chosen alone, in at least
        `SURE` of the resamples of queries; absent without a clear lead.
    """

    def compute() -> dict[tuple[int, str], str]:
        return {
            (k, choice.evaluation.removesuffix(f"@{k}")): choice.chosen[0]
            for k in evaluation.view.ks
            # Each measure over its own runs: a run that waits for answers may still lead by Recall.
            for name, table in choice_tables(evaluation, k).items()
            if len(table) > 1
            for choice in choosing({name: table}, samples=SAMPLES).choices
            if len(choice.chosen) == 1 and choice.chance.get(choice.chosen[0], 0.0) >= SURE
        }

    if len(evaluation.view.runs or ()) < 2:
        return {}
    return project.remember(("clear best", evaluation.view, evaluation.generator.fingerprint), compute)


def said_by_judge(project: Project, evaluation: Evaluation) -> list[PeopleSaid]:
    """Return the verdicts of an evaluation's answer check in the form of people's verdicts, to compare other checks
    with it.

    Pairs without a usable verdict are left out. The question takes the place of the query id.
    """
    told = verdicts(project, evaluation.view.judge, evaluation.pairs, evaluation.judge_model, evaluation.view.threshold)
    return [PeopleSaid(one[0], one, verdict.yes) for one, verdict in told.items() if verdict.yes is not None]
