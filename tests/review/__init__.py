"""Tests of reading, judging and settling by people."""
