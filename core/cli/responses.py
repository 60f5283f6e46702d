"""Commands about generated responses and gold texts."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import InputError
from ..project import count_words, current_author, gold_name, gold_texts, mark_gold, response_runs
from .options import json_option, opened, print_json, print_rows, print_table, project_option, tell


@click.command()
@project_option
@json_option
def responses(project_path: Path | None, as_json: bool) -> None:
    """List the systems with imported responses, and the length and citations of the responses."""
    with opened(project_path) as project:
        found = response_runs(project)
    print_rows(
        as_json,
        {"runs": [vars(run) for run in found]},
        ("run", "responses", "words per response", "passages", "sentences", "sentences with citations"),
        [(r.run, r.responses, round(r.words / r.responses), r.passages, r.sentences, r.cited) for r in found],
    )


@click.command()
@click.argument("run", required=False)
@project_option
@click.option("--none", is_flag=True, help="Use no run as gold passages.")
@json_option
def gold(run: str | None, project_path: Path | None, none: bool, as_json: bool) -> None:
    """Show the gold passages, or use those of RUN.

    To import gold passages, use exam import responses --gold.
    """
    if run is not None and none:
        raise InputError("options-exclude-each-other", "RUN and --none cannot be combined.", "Use one of them.")
    with opened(project_path) as project:
        if run is not None or none:
            mark_gold(project, run, current_author())
        name, texts = gold_name(project), gold_texts(project)
    lengths = {query_id: count_words(text) for query_id, text in texts.items()}
    if as_json:
        print_json({"gold": name, "queries": [{"query": query_id, "words": n} for query_id, n in lengths.items()]})
    elif name is None:
        tell("No gold passages yet.")
    else:
        tell(f"Gold passages: {name}.")
        print_table(("query", "words"), list(lengths.items()))
