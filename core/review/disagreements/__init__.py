"""Where two sides part: how well they agree, the queue of cases, what to check next, and how each was settled."""
