"""Tests of grading and drafting."""
