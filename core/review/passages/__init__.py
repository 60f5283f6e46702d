"""Passages: the view of one, the search among all, and gaps of the bank."""
