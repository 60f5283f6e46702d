"""Property tests with hostile input: files, answers, prompts, edits, names and commands."""
