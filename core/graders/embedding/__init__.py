"""The embedded default: similarity of question and passage by a small encoder that comes with the program."""
