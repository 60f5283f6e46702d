"""Passages: the data of a single passage, the search among all passages, and gaps of the bank."""
