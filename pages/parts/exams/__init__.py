"""Parts of the screens of exams: which one is open, charts, items, students, and how to shorten an exam."""
