"""Effects of a change, between any two states: labels that flip, with causes, and systems that move."""
