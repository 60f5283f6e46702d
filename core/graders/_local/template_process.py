"""The process that fills in chat templates: a separate program with limited memory that can be
killed at any time.

It is run as a file and imports nothing of the workbench. Its first line of output says that it is
ready. Then each line of its input has a template and values, and each line of its output the
result, as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from jinja2.exceptions import SecurityError, TemplateError
from transformers.utils.chat_template_utils import render_jinja_template

MEMORY = 1 << 30
"""Memory limit of templates in bytes."""
GROWTH = 1_000_000
"""Characters by which a filled-in template may exceed four times its input."""


def fill_template(line: str) -> dict[str, Any]:
    """Return the result of one request: the text, None if the template refuses its messages, or why
    it is unusable.
    """
    request = json.loads(line)
    try:
        (text,), _ = render_jinja_template(
            [request["messages"]],
            chat_template=request["template"],
            add_generation_prompt=True,
            **request["values"],
        )
    except Exception as error:
        if isinstance(error, TemplateError) and not isinstance(error, SecurityError):
            return {"text": None}
        return {"unusable": f"{type(error).__name__}: {error}"[:500]}
    return (
        {"unusable": "its output is too long"}
        if len(text) > 4 * len(line) + GROWTH
        else {"text": text}
    )


def main() -> None:
    """Answer line by line until the input ends."""
    if sys.platform == "linux":
        # On other systems only time is limited.
        import resource

        with open("/proc/self/statm", encoding="ascii") as sizes:
            most = int(sizes.read().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(fill_template(line)), flush=True)


if __name__ == "__main__":
    main()
