"""The process that fills in chat templates: a program of its own, with little memory, that can be ended at any moment.

It is run as a file and imports nothing of the workbench. Each line of its input has a template and what goes into it,
each line of its output what came of it, as JSON; a first line says that it is ready.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from jinja2.exceptions import SecurityError, TemplateError
from transformers.utils.chat_template_utils import render_jinja_template

MEMORY = 1 << 30
"""Bytes that templates may take."""
GROWTH = 1_000_000
"""Characters by which a filled-in template may be longer than four times all that went into it."""


def answer(line: str) -> dict[str, Any]:
    """What comes of one request: the text, None if the template refuses its messages; or why it cannot be used."""
    asked = json.loads(line)
    try:
        (text,), _ = render_jinja_template(
            [asked["messages"]], chat_template=asked["template"], add_generation_prompt=True, **asked["values"]
        )
    except Exception as error:
        if isinstance(error, TemplateError) and not isinstance(error, SecurityError):
            return {"text": None}
        return {"unusable": f"{type(error).__name__}: {error}"[:500]}
    return {"unusable": "its output is too long"} if len(text) > 4 * len(line) + GROWTH else {"text": text}


def main() -> None:
    """Answer line by line until the input ends."""
    if sys.platform == "linux":
        # On other systems time alone is limited.
        import resource

        with open("/proc/self/statm", encoding="ascii") as sizes:
            most = int(sizes.read().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(line)), flush=True)


if __name__ == "__main__":
    main()
