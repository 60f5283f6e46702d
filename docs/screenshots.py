"""Take the pictures of the documentation from the demo: `python docs/screenshots.py`.

The script makes and grades the demo project, serves it, and opens it in a headless Chromium.
"""

from __future__ import annotations

import sys
import tempfile
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from exam_workbench.face import demo
from pages.parts.shared.person import COOKIE
from tests.made.browser import FLAGS, find_chromium, ready, serving

DOCS = Path(__file__).resolve().parent
COLOURS = 128
"""Colours of a picture, which keep a file below 200 KB."""
PICTURES = {
    "leaderboard.png": ("leaderboard", {"measure": "nDCG@10", "against": "assessors"}, 1050),
    "tutorials/question-bank.png": ("question_bank", {"query": "tacoma-bridge"}, 800),
    "tutorials/passages.png": (
        "passages",
        {"query": "fish-mercury", "passage": "fish-mercury-04", "question": "fish-mercury/q01"},
        800,
    ),
}
"""Screen, choices in its address and height in pixels of each picture in docs/."""
WIDTH = 1280


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        projects = Path(name, "projects")
        projects.mkdir()
        demo(projects / "demo.duckdb").close()
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        with serving(projects, Path(name, "server.log")) as server:
            for place, (screen, choices, height) in PICTURES.items():
                page = browser.new_page(
                    viewport={"width": WIDTH, "height": height}, reduced_motion="reduce"
                )
                page.context.add_cookies([{"name": COOKIE, "value": "Ann", "url": server.address}])
                page.goto(f"{server.address}/{screen}?{urlencode({'project': 'demo', **choices})}")
                ready(page)
                picture = Image.open(BytesIO(page.screenshot())).quantize(
                    COLOURS, dither=Image.Dither.NONE
                )
                picture.save(DOCS / place, optimize=True)
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
