"""Commands about grades in Parquet shards: boards over more of them than fit into memory, and writing them."""

from __future__ import annotations

from pathlib import Path

import click

from core.cli.guests import File
from core.cli.options import (
    at_a_shell,
    author_option,
    counted,
    json_option,
    opened,
    print_json,
    print_table,
    project_option,
    tell,
)
from core.cli.policy import policy_options
from core.cli.progress import ProgressLines
from core.exchange import export_shards
from core.labels import Policy
from core.leaderboard import DEFAULT_MEASURE, Shards, shard_board
from core.project import MEMORY, SPILL


@click.group()
def shards() -> None:
    """Boards over grades in Parquet shards, in place and beyond memory."""


@shards.command()
@click.option("--grades", required=True, metavar="FILES", help="As 'folder/*.parquet', or s3://bucket/*.parquet.")
@click.option("--runs", required=True, metavar="FILES", help="Rankings: run, query_id, passage_id, rank, score.")
@click.option("--questions", metavar="FILES", help="Active questions with weights; all count the same without.")
@click.option("--measure", default=DEFAULT_MEASURE, show_default=True, help="A measure of labels, as nDCG@10 or AP.")
@click.option("--memory", envvar=MEMORY, metavar="AMOUNT", help=f"At most, as 4GB; {MEMORY} where not given.")
@click.option("--spill", envvar=SPILL, type=click.Path(path_type=Path), metavar="FOLDER",
              help=f"For what does not fit; {SPILL}, else the folder for temporary files.")  # fmt: skip
@policy_options
@json_option
def board(
    grades: str,
    runs: str,
    questions: str | None,
    measure: str,
    memory: str | None,
    spill: Path | None,
    policy: Policy,
    as_json: bool,
) -> None:
    """Order the systems by a measure of labels over shards; no project is needed."""
    at_a_shell()
    lines = ProgressLines("queries")
    found = shard_board(
        Shards(grades, runs, questions), measure, policy, memory, spill,
        lambda done, total: lines.say(done, total, over=done == total),
    )  # fmt: skip
    if as_json:
        print_json(found.board.as_dict() | {"grades": found.grades, "failed": found.failed, "labels": found.labels})
        return
    print_table(
        ("rank", "run", found.board.measure, "std error", "queries"),
        [(s.rank, s.run, s.score, s.std_error, s.queries) for s in found.board.systems],
    )
    tell(f"From {counted(found.grades, 'grade')}, {found.failed:,} failed: {counted(found.labels, 'label')}.")


@shards.command()
@project_option
@click.option("-o", "--output", required=True, type=File(True, path_type=Path), help="New folder to write.")
@author_option
@policy_options
@json_option
def export(project_path: Path | None, output: Path, author: str, policy: Policy, as_json: bool) -> None:
    """Write grades, rankings and questions of a project as shards."""
    with opened(project_path) as project:
        rows = export_shards(project, output, author, policy)
    if as_json:
        print_json(rows)
        return
    places = f"--grades '{output}/grades/*.parquet' --runs {output}/runs.parquet --questions {output}/questions.parquet"
    tell(f"Wrote {output}: {counted(rows['grades'], 'grade')}. Next: exam shards board {places}")
