"""Commands about generated responses and gold texts."""

from __future__ import annotations

import click

from ..project import Project, count_words, current_author, gold_name, gold_texts, mark_gold, response_runs
from .options import json_option, project_option
from .printing import Output, at_most_one, on_project


@click.command()
@project_option
@json_option
@on_project
def responses(project: Project) -> Output:
    """List the systems with imported responses, and the length and citations of the responses."""
    found = response_runs(project)
    return Output({"runs": [vars(run) for run in found]}).table(
        ("run", "responses", "words per response", "passages", "sentences", "sentences with citations"),
        [(r.run, r.responses, round(r.words / r.responses), r.passages, r.sentences, r.cited) for r in found],
    )


@click.command()
@click.argument("run", required=False)
@project_option
@click.option("--none", is_flag=True, help="Use no run as gold passages.")
@json_option
@at_most_one(run="RUN", none="--none")
@on_project
def gold(run: str | None, project: Project, none: bool) -> Output:
    """Show the gold passages, or use those of RUN.

    To import gold passages, use exam import responses --gold.
    """
    if run is not None or none:
        mark_gold(project, run, current_author())
    name, texts = gold_name(project), gold_texts(project)
    lengths = {query_id: count_words(text) for query_id, text in texts.items()}
    output = Output({"gold": name, "queries": [{"query": query_id, "words": n} for query_id, n in lengths.items()]})
    if name is None:
        return output.note("No gold passages yet.")
    return output.note(f"Gold passages: {name}.").table(("query", "words"), list(lengths.items()))
