"""Tests of answers that models write from what was retrieved."""
