"""Disagreements of two sides: coefficients of agreement, the queue of cases, what to check next,
and resolutions.
"""
