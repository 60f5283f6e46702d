"""Parts of the exam screens: the open exam, charts, items, examinees, and shortening an exam."""
