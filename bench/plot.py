"""A plot of lines on two logarithmic axes, as an SVG that needs nothing to be drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 460, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 32, 92
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")
"""Seen on white and on black."""
INK = "#808080"


@dataclass(frozen=True)
class Line:
    """A name and its points (x, y), all above 0."""

    name: str
    points: Sequence[tuple[float, float]]


def plot(title: str, across: str, up: str, lines: Sequence[Line]) -> str:
    """The picture, with the lines' names below.

    Args:
        across, up: what the axes say.
    """
    points = [point for line in lines for point in line.points]
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    low_y, high_y = _decades([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        right = math.log(x / low_x) / math.log(high_x / low_x) if high_x > low_x else 0.5
        above = math.log(y / low_y) / math.log(high_y / low_y)
        return LEFT + right * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - above * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{LEFT}" y="18" font-size="14" font-weight="bold">{escape(title)}</text>']
    for decade in range(round(math.log10(low_y)), round(math.log10(high_y)) + 1):
        _, y = place(low_x, 10.0**decade)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{INK}" stroke-opacity="0.3"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**decade:g}</text>')
    for x in sorted({x for x, _ in points}):
        at, _ = place(x, low_y)
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_short(x)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - BOTTOM + 32}" text-anchor="middle">{escape(across)}</text>')
    turned = (HEIGHT - BOTTOM + TOP) / 2
    parts.append(
        f'<text x="12" y="{turned}" text-anchor="middle" transform="rotate(-90 12 {turned})">{escape(up)}</text>'
    )
    for at, (line, colour) in enumerate(zip(lines, COLOURS, strict=False)):
        placed = [place(*point) for point in sorted(line.points)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in placed]
        x, y = LEFT + at % 2 * 200 - 40, HEIGHT - 34 + at // 2 * 18
        parts.append(f'<path d="M{x} {y - 4}h18" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{x + 24}" y="{y}">{escape(line.name)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' font-family="sans-serif" font-size="11" fill="{INK}">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _decades(values: Sequence[float]) -> tuple[float, float]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def _short(number: float) -> str:
    for size, name in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{name}"
    return f"{number:g}"
