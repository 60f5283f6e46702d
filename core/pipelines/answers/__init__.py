"""Answers that models write from what was retrieved: generated, compared, and sorted where two sides part."""
