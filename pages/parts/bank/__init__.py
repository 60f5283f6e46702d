"""Parts of the question bank: rows, unsaved edits, impact, review, proposals, drafting."""
