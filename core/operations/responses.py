"""Commands about generated responses and gold texts."""

from __future__ import annotations

from typing import Annotated

from ..records import count_words, gold_name, gold_texts, mark_gold, response_runs
from ..store import Project, current_author
from .describing import Argument, Option
from .output import Output, at_most_one
from .registry import operation


@operation("responses", act="read the bank", reads=True)
def responses(
    project: Project,
) -> Output:
    """List the systems with imported responses, and the length and citations of the responses."""
    found = response_runs(project)
    return Output({"runs": [vars(run) for run in found]}).table(
        ("run", "responses", "words per response", "passages", "sentences", "sentences with citations"),
        [(r.run, r.responses, round(r.words / r.responses), r.passages, r.sentences, r.cited) for r in found],
    )


@operation("gold", act="organize", reads=lambda given: given["run"] is None and (not given["none"]))
@at_most_one(run="RUN", none="--none")
def gold(
    project: Project,
    *,
    run: Annotated[str | None, Argument()] = None,
    none: Annotated[bool, Option(help="Use no run as gold passages.")] = False,
) -> Output:
    """Show the gold passages, or use the pooled passages of RUN as gold.

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
