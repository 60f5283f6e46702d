"""Parts of the question bank: rows, the window of edits, impact, review, proposals, drafting."""
