"""The embedding grader: similarity of question and passage by an installed small encoder."""
