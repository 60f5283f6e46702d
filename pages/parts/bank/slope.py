"""Ranks of the systems before and after the unsaved changes as lines, and the largest shifts in a table.

It is drawn at every edit. So it is plain HTML, since a chart and a data grid would be several times slower.
"""

from base64 import b64encode
from collections.abc import Sequence

from exam_workbench.review import Changes, SystemChange
from pages.parts.shared.charts import short_names
from pages.parts.shared.html import visible

SHOWN = 6
"""Number of systems in the table: first those whose rank changes, then those with the largest score changes."""
WIDTH, HIGHEST, MARGIN = 300, 230, 14
BEFORE, AFTER = 34, 176
"""Positions of the two axes from the left."""
NAMED = 16
"""Number of shown characters of a system's name next to its line."""
STILL, MOVED = "#8b939c", "#8a5cc7"


def moves(found: Changes) -> str:
    """Return the systems as HTML; empty if no score changes."""
    shifted = sorted(
        (one for one in found.systems if _shift(one)),
        key=lambda one: (one.rank_before == one.rank_after, -abs(_shift(one))),
    )
    if not shifted:
        return ""
    rows = "".join(
        f'<tr><td title="{visible(one.run)}">{visible(one.run)}</td><td>{_shift(one):+z.3f}</td>'
        f"<td{_violet(one)}>{one.rank_before or '–'} → {one.rank_after or '–'}</td></tr>"
        for one in shifted[:SHOWN]
    )
    measure = visible(found.after.measure)
    head = f'<tr><th>Run</th><th title="In {measure}">Change</th><th>Rank</th></tr>'
    return f'<table class="moves"><thead>{head}</thead><tbody>{rows}</tbody></table>{_picture(found.systems)}'


def _shift(one: SystemChange) -> float:
    return (one.score_after or 0) - (one.score_before or 0)


def _violet(one: SystemChange) -> str:
    return "" if one.rank_before == one.rank_after else ' class="moved"'


def _picture(systems: Sequence[SystemChange]) -> str:
    """Return the ranks as lines, if a rank changes; lines of systems that keep their rank are pale."""
    ranked = [one for one in systems if one.rank_before is not None and one.rank_after is not None]
    if all(one.rank_before == one.rank_after for one in ranked):
        return ""
    last = max(max(one.rank_before or 1, one.rank_after or 1) for one in ranked)
    step = min(16.0, (HIGHEST - 2 * MARGIN) / max(last - 1, 1))
    high = step * (last - 1) + 2 * MARGIN

    def at(rank: int | float | None) -> float:
        return MARGIN + step * ((rank or 1) - 1)

    short = short_names((one.run for one in ranked), NAMED)
    lines, named, free = [], [], -100.0
    for one in sorted(ranked, key=lambda one: (one.rank_before == one.rank_after, one.rank_after or 0)):
        moved = one.rank_before != one.rank_after
        colour, wide = (MOVED, 2) if moved else (STILL, 1)
        y1, y2 = at(one.rank_before), at(one.rank_after)
        lines.insert(
            0,
            f'<path d="M{BEFORE} {y1:.1f}L{AFTER} {y2:.1f}" stroke="{colour}" stroke-width="{wide}"'
            f' opacity="{1 if moved else 0.55}"/><circle cx="{AFTER}" cy="{y2:.1f}" r="2.5" fill="{colour}"/>',
        )
        # Names that would overlap are left out; the table below has the largest shifts.
        if moved and y2 - free >= 10:
            free = y2
            name = visible(short[one.run])
            named.append(f'<text x="{AFTER + 8}" y="{y2 + 3.5:.1f}" fill="{MOVED}">{name}</text>')
    ranks = "".join(
        f'<text x="{BEFORE - 8}" y="{at(rank) + 3.5:.1f}" fill="{STILL}" text-anchor="end">{rank}</text>'
        for rank in dict.fromkeys((1, last))
    )
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high:.0f}" font-size="10.5"'
        f' font-family="system-ui, sans-serif" fill="none">{"".join(lines)}{ranks}{"".join(named)}</svg>'
    )
    said = f"Ranks of {len(ranked)} systems before and after; the {len(named)} systems with a changed rank are labelled"
    return f'<img class="slope" alt="{said}" src="data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}">'
