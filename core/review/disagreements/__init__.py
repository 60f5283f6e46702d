"""Disagreements of two sides: coefficients of agreement, the queue of cases, proposals what to check, and
resolutions."""
