"""Tests of the question bank."""
