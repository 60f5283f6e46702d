"""Properties of every door: hostile files, answers, prompts, edits, names and commands."""
